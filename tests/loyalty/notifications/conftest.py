"""A brand that notifies its customers, and fake services that receive its messages."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from events import messages, publishing, worker
from events.models import Event
from loyalty.models.messages.addresses import SenderDomain
from loyalty.models.notifications import (
    NotificationDelivery,
    NotificationSettings,
)
from loyalty.notifications import preferences
from tests.support import factories
from tests.support.fakes.fake_providers import SID, SMS_KEY, Mailbox, Push, Sms, mailbox, serving


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with mailbox() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        yield running


@pytest.fixture
def sms(settings: Any) -> Iterator[Sms]:
    with serving(Sms) as running:
        settings.TWILIO_URL = running.url
        settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
        yield running


@pytest.fixture
def push(settings: Any) -> Iterator[Push]:
    with serving(Push) as running:
        settings.FCM_URL, settings.GOOGLE_TOKEN_URL = running.url, f"{running.url}/token"
        settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
        yield running


@pytest.fixture
def own(brand: Brand) -> NotificationSettings:
    domain = f"{brand.slug}.example.com"
    SenderDomain.objects.create(brand=brand, domain=domain, token="0" * 32, verified_at=timezone.now())
    return NotificationSettings.objects.create(
        brand=brand, merge_seconds=0, sender_address=f"hello@{domain}", sender_name=f"{brand.name} Club"
    )


@pytest.fixture
def with_sms(own: NotificationSettings, sms: Sms) -> Sms:
    NotificationSettings.objects.filter(pk=own.pk).update(
        sms_on=True, twilio_account_sid=SID, twilio_auth_token=SMS_KEY, sms_sender="+15005550006"
    )
    return sms


@pytest.fixture
def with_push(own: NotificationSettings, push: Push) -> Push:
    NotificationSettings.objects.filter(pk=own.pk).update(push_on=True, fcm_service_account=push.service_account)
    return push


@pytest.fixture
def work() -> Callable[[], int]:
    """Runs the workers of all lanes until nothing is due; events waiting for another attempt are due at once."""

    def run() -> int:
        Event.objects.pending().update(due_at=timezone.now())
        total = 0
        while handled := sum(worker.drain(lane=lane) for lane in [messages.POINTS, *messages.slow_lanes()]):
            total += handled
        return total

    return run


@pytest.fixture
def notify(brand: Brand) -> Callable[..., None]:
    """Publishes a `notify` event as an accrual does."""

    def publish(user: User, **payload: Any) -> None:
        number = next(factories._number)
        defaults = {"template": "NOTIFY_CAMPAIGN_SUCCESS", "points_earned": 10, "new_balance": 10 * number}
        message = messages.NewEvent(
            kind="notify",
            payload={**defaults, "transaction_id": str(number), "note": "Scan", **payload},
            arguments={"brand_id": brand.pk, "user_id": user.pk},
        )
        publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    return publish


SMS_NUMBER = "+4930123456"


def change_preferences(customer, brand, **changes):
    preferences.change(customer.pk, brand.pk, at=timezone.now(), **changes)


def delivery_log():
    return list(NotificationDelivery.objects.order_by("id").values_list("channel", "status"))


def run_until_done(work):
    for _ in range(8):
        work()
        if not Event.objects.pending().exists():
            return
    raise AssertionError("events are still pending")
