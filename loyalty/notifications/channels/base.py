"""Shared by e-mail, SMS and push: their input, and the ways in which sending can fail."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_noop

from core.http.client import Answer
from events.messages import RetryLater
from loyalty.models.notifications import NotificationDelivery, NotificationSettings
from loyalty.notifications.rendering import Composed

MAX_WAIT = timedelta(hours=1)
SANDBOX = gettext_noop("Not sent: sandbox.")


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A delivery with its texts and the address to send it to."""

    delivery: NotificationDelivery
    settings: NotificationSettings
    composed: Composed
    address: str


class Failed(Exception):
    """The message can never be sent. The exception's text says why, in English, as it is stored."""


class AddressBouncedError(Failed):
    """Nothing will ever reach this address, so it is suppressed."""


class NotSent(Exception):
    """It was not sent this time."""


def check_may_send(message: OutboundMessage) -> None:
    """Called by each channel before sending. Raises Failed for a sandbox brand, which sends nothing to customers."""
    if message.delivery.brand.is_sandbox:
        raise Failed(SANDBOX)


def busy(answer: Answer, error: str) -> RetryLater | NotSent:
    """Retry when the server asked for it, if it did."""
    wait = answer.retry_after(at=timezone.now(), at_most=MAX_WAIT)
    return RetryLater(error, after=wait) if wait else NotSent(error)


def number(value: Any) -> int:
    """An error code from a server's JSON, or 0 if it is not a number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
