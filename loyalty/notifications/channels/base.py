"""What e-mail, SMS and push have in common: what each is given, and the ways in which sending can end."""

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
    """A delivery with its words and the address that it goes to."""

    delivery: NotificationDelivery
    settings: NotificationSettings
    composed: Composed
    address: str


class Failed(Exception):
    """This message will never go out; the message says why, in English, as it is stored."""


class AddressBouncedError(Failed):
    """Nothing will ever reach this address: it is stopped."""


class NotSent(Exception):
    """It did not go out this time."""


def check_may_send(message: OutboundMessage) -> None:
    """Each channel calls it before anything leaves. Raises Failed: a sandbox brand reaches no customers."""
    if message.delivery.brand.is_sandbox:
        raise Failed(SANDBOX)


def busy(answer: Answer, error: str) -> RetryLater | NotSent:
    """The next attempt comes when the server asked for it, where it did."""
    wait = answer.retry_after(at=timezone.now(), at_most=MAX_WAIT)
    return RetryLater(error, after=wait) if wait else NotSent(error)


def number(value: Any) -> int:
    """Of an error code as a server's JSON has it; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
