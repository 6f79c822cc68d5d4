"""Notifications of points: sent once, by the customer's preferences, and summed up if close in time."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.tenants import quotas
from core.redis import client
from events import messages, worker
from events.models import Event
from loyalty.models.notifications import (
    Notification,
    NotificationDelivery,
    NotificationSettings,
    Template,
)
from tests.loyalty.notifications.conftest import change_preferences, delivery_log
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


# --- E-mail ----------------------------------------------------------------------------------------------------------


def test_points_are_notified_by_email(brand, customer, own, box, notify, work):
    notify(customer, points_earned=1250, new_balance=4800)

    work()

    [mail] = box.mails
    assert box.recipients == [customer.email]
    assert mail["Subject"] == f"New points at {brand.name}: 1,250"
    assert mail["From"] == f"{own.sender_name} <{own.sender_address}>"
    assert mail["Reply-To"] == brand.support_email
    assert mail.get_content_type() == "multipart/alternative"
    text, html = mail.iter_parts()
    assert (text.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    assert "Your balance: 4,800" in text.get_content()
    row = NotificationDelivery.objects.get()
    assert (row.status, row.attempts, row.provider_id, row.address) == ("sent", 1, mail["Message-ID"], "")
    assert row.masked_address == f"{customer.email[0]}•••@example.com"
    assert mail["Message-ID"] == f"<{row.delivery_id}@{brand.slug}.example.com>"


def test_mails_above_the_quota_wait_until_tomorrow_except_password_resets(brand, customer, own, box, notify, settings):
    settings.QUOTAS = {**settings.QUOTAS, "mails": 1}
    for key in client.client().scan_iter("quota:mails:*"):  # left by other runs, whose brands had the same ids
        client.client().delete(key)

    def deliver():
        for lane in [messages.POINTS, *messages.slow_lanes()] * 2:
            worker.drain(lane=lane)

    notify(customer)
    deliver()
    notify(customer)
    deliver()

    assert delivery_log() == [("email", "sent"), ("email", "queued")]
    due = Event.objects.get(detail_type="send-email", status="pending").due_at
    assert abs(due - quotas.begin_of_day(timezone.now()) - timedelta(days=1)) < timedelta(seconds=5)
    NotificationDelivery.objects.filter(status="queued").update(template=Template.PASSWORD_RESET)
    Event.objects.pending().update(due_at=timezone.now())
    deliver()
    assert NotificationDelivery.objects.get(template=Template.PASSWORD_RESET).attempts == 1


def test_notify_event_is_ignored_without_active_settings(brand, customer, box, notify, work):
    notify(customer)
    work()
    NotificationSettings.objects.create(brand=brand, is_active=False)
    notify(customer)
    work()

    assert (box.mails, delivery_log()) == ([], [])
    assert set(Event.objects.values_list("status", flat=True)) == {"ignored"}


def test_points_close_in_time_become_one_notification_with_their_sum(brand, customer, own, box, notify, work):
    notify(customer, points_earned=10, new_balance=10)
    notify(customer, points_earned=5, new_balance=15)
    notify(customer, points_earned=0.5, new_balance=15.5)

    work()

    [mail] = box.mails
    assert "15.50" in mail["Subject"]
    assert "Your balance: 15.50" in mail.get_body(("plain",)).get_content()
    notification = Notification.objects.get()
    notify_events = Event.objects.filter(detail_type="notify").order_by("id")
    assert [covered["event"] for covered in notification.covers] == [str(event.event_id) for event in notify_events]
    assert [covered["points_earned"] for covered in notification.covers] == [10, 5, 0.5]


def test_balance_is_of_the_newest_transaction_in_any_order_of_events(brand, customer, own, box, notify, work):
    notify(customer, points_earned=5, new_balance=15, transaction_id="200")
    notify(customer, points_earned=10, new_balance=10, transaction_id="100")

    work()

    assert "Your balance: 15\r\n" in box.mails[0].get_body(("plain",)).get_content()


def test_points_earned_after_a_notification_are_in_the_next_one(brand, customer, own, box, notify, work):
    notify(customer)
    work()
    notify(customer)
    work()

    assert len(box.mails) == 2
    assert len({mail["Message-ID"] for mail in box.mails}) == 2


def test_notification_waits_for_more_points(brand, customer, own, box, notify):
    NotificationSettings.objects.filter(pk=own.pk).update(merge_seconds=60)
    notify(customer)

    from events import worker

    worker.drain(lane="notices")

    waiting = Event.objects.get(detail_type="send-notice")
    assert waiting.status == "pending"
    assert 58 < (waiting.due_at - timezone.now()).total_seconds() <= 60


def test_each_customer_gets_a_notification_of_their_own(brand, customer, own, box, notify, work):
    notify(customer)
    notify(factories.customer(brand))

    work()

    assert len(box.mails) == 2


def test_mail_has_a_link_to_unsubscribe_with_one_click(brand, customer, own, box, notify, work):
    notify(customer)
    work()

    [mail] = box.mails
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Unsubscribe"].strip().startswith(f"<http://{brand.hostnames.get()}/notices/opt-out/")


def test_customer_who_opted_out_gets_no_mail_and_the_log_shows_why(brand, customer, own, box, notify, work):
    change_preferences(customer, brand, switches={"points": {"email": False}})
    notify(customer)

    work()

    assert (box.mails, delivery_log()) == ([], [("email", "suppressed")])
    assert "has opted out" in NotificationDelivery.objects.get().last_error


def test_opt_out_between_two_attempts_stops_the_mail(brand, customer, own, box, notify, work):
    box.answers.append("451 later")
    notify(customer)
    from events import worker

    for lane in ("notices", "notices", "email"):
        Event.objects.pending().update(due_at=timezone.now())
        worker.drain(lane=lane)
    change_preferences(customer, brand, switches={"points": {"email": False}})

    work()

    assert (box.mails, delivery_log()) == ([], [("email", "failed")])


# --- Other notifications, and invalid events -------------------------------------------------------------------------


def test_new_level_and_reward_are_notified_besides_the_points(brand, customer, own, box, notify, work):
    reward = {"milestone_id": 5, "reward_name": "A mug", "campaign_name": "Scan and win"}
    notify(customer, level_updated=True, current_level="Gold", rewards=[reward])
    notify(customer, rewards=[reward])

    work()

    subjects = sorted(mail["Subject"] for mail in box.mails)
    assert subjects == ["A reward is waiting for you: A mug", f"New points at {brand.name}: 20", "You are Gold now"]


def test_expiring_points_are_notified(brand, customer, own, box, notify, work):
    change_preferences(customer, brand, language="de")
    notify(customer, template="NOTIFY_POINTS_EXPIRING", points=320, expires_on="2027-01-31")

    work()

    assert box.mails[0]["Subject"] == "Punkte verfallen am 31. Januar 2027"


@pytest.mark.parametrize("payload", [{"template": "NOTIFY_X"}, {"template": None}, {"template": "NOTIFY_RECALL"}])
def test_invalid_notify_event_is_rejected(brand, customer, own, notify, work, payload):
    notify(customer, **payload)

    work()

    assert Event.objects.get().status == "refused"


def test_inactive_customer_gets_no_mail(brand, customer, own, box, notify, work):
    type(customer).objects.filter(pk=customer.pk).update(is_active=False)
    notify(customer)

    work()

    assert (box.mails, delivery_log()) == ([], [("email", "suppressed")])


def test_concurrent_accruals_lose_no_points(brand, customer, own, box, notify, work):
    from django.db import connection

    from events import worker

    for _ in range(40):
        notify(customer, points_earned=1)

    def drain():
        try:
            worker.drain(lane="notices")
        finally:
            connection.close()

    threads = [threading.Thread(target=drain) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work()

    covered = [accrual for notification in Notification.objects.all() for accrual in notification.covers]
    assert len({accrual["event"] for accrual in covered}) == len(covered) == 40
    assert sum(notification.payload["points_earned"] for notification in Notification.objects.all()) == 40
