"""From a scan to the notification, also if workers are killed in between."""

import time
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.scanning import consistency, scan
from authcodes.scanning.types import ScanContext
from events import messages, publishing
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import Notification, NotificationDelivery, NotificationSettings
from tests.support import factories
from tests.support.live_stack import Stack, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def scan_as(customer, code):
    scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))


def test_points_of_a_scan_are_notified(brand, customer, own, box, work):
    scan_as(customer, factories.code(brand))

    work()

    [notification] = Notification.objects.all()
    [entry] = LoyaltyTransaction.objects.all()
    scanned = Event.objects.get(detail_type="scan-auth")
    assert notification.covers[0]["transaction_id"] == str(entry.pk)
    assert notification.covers[0]["cause"] == str(scanned.event_id)
    assert "New points: 10" in box.mails[0].get_body(("plain",)).get_content()


def test_level_and_claimable_reward_are_notified(brand, customer, own, box, work):
    factories.level(brand, "Gold", 10)
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_name="A mug", auto_claim=False)
    factories.milestone(campaign, 1 + 1, reward_name="Not yet", auto_claim=False)
    scan_as(customer, factories.code(brand))

    work()

    subjects = sorted(mail["Subject"] for mail in box.mails)
    assert subjects == ["A reward is waiting for you: A mug", f"New points at {brand.name}: 10", "You are Gold now"]


def test_progress_without_points_is_not_notified_but_its_reward_is(brand, customer, own, box, work):
    factories.milestone(factories.campaign(brand, type="login"), 2, reward_name="A mug")
    for at in (timezone.now() - timedelta(days=1), timezone.now()):
        arguments = {"brand_id": brand.pk, "user_id": customer.pk}
        message = messages.NewEvent(kind="log-user-login", payload={"type": "login"}, arguments=arguments)
        publishing.publish(messages=[message], brand_id=brand.pk, at=at)

    work()

    assert [mail["Subject"] for mail in box.mails] == ["A reward is waiting for you: A mug"]
    notifications = Event.objects.filter(detail_type="notify").order_by("pk")
    assert list(notifications.values_list("status", flat=True)) == ["ignored", "done"]
    assert list(consistency.differences()) == []


def test_notify_event_is_ignored_without_settings(brand, customer, work):
    scan_as(customer, factories.code(brand))

    work()

    assert Event.objects.get(detail_type="notify").status == "ignored"
    assert not Notification.objects.exists()


@pytest.fixture
def stack(box, tmp_path, settings):
    new_stack = Stack(log=tmp_path / "log", redis_url=settings.REDIS_URL)
    new_stack.settings = {
        "EMAIL_URL": f"smtp://127.0.0.1:{box.port}",
        "OUTGOING_WORKERS": "50",  # a dead worker's slot is free again after minutes
    }
    new_stack.constants = {"EVENT_LEASE_SECONDS": 2, "EVENT_SWEEP_SECONDS": 1}
    yield new_stack
    new_stack.stop()


def test_killed_workers_lose_no_notification_and_reuse_the_message_id(brand, stack, box):
    """A mail that was sent but not recorded when a worker died is sent again with the same Message-ID."""
    NotificationSettings.objects.create(brand=brand, merge_seconds=0)
    customers = [factories.customer(brand) for _ in range(120)]
    for customer, code in zip(customers, factories.batch(brand, quantity=len(customers)).codes.all(), strict=True):
        scan_as(customer, code)

    for kills, pause in enumerate((0.3, 0.6, 0.2, 0.4, *(tenths / 10 for tenths in range(1, 13))), 1):
        worker = stack.start_worker(concurrency=3)
        time.sleep(pause)
        stack.kill(worker)
        if kills >= 4 and Event.objects.pending().filter(attempts__gt=0).exists():
            break
    assert Event.objects.pending().exists(), "the workers were too fast to be interrupted"
    # Events of killed workers become due when their leases end; the test does not wait for that.
    Event.objects.pending().filter(attempts__gt=0).update(due_at=timezone.now())
    stack.start_worker(concurrency=3)
    wait_until(lambda: not Event.objects.pending().exists(), seconds=90)

    sent = Counter(mail["Message-ID"] for mail in box.mails)
    assert Event.objects.filter(attempts__gt=1).exists(), "no attempt was interrupted"
    assert set(sent) == set(NotificationDelivery.objects.values_list("provider_id", flat=True))
    assert len(sent) == len(customers) == Notification.objects.count()
    assert set(box.recipients) == {customer.email for customer in customers}
    assert set(NotificationDelivery.objects.values_list("status", flat=True)) == {"sent"}
    covered = [
        accrual["transaction_id"] for notification in Notification.objects.all() for accrual in notification.covers
    ]
    assert sorted(covered) == sorted(str(pk) for pk in LoyaltyTransaction.objects.values_list("pk", flat=True))
