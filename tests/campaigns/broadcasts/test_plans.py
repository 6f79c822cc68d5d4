"""Broadcasts that are planned, cancelled or rejected, and their daily quotas."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.broadcasts import lifecycle, sending
from campaigns.broadcasts.figures import Figures
from core.errors import Invalid, QuotaReached
from events import worker
from events.models import Event
from jobs import queue
from jobs.models import Job
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import (
    Notification,
    NotificationSettings,
)
from tests.campaigns.broadcasts.conftest import figures_of, run_job, send
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_cancelling_stops_messages_not_yet_passed_to_a_channel(sender, box, work):
    customers = [factories.customer(sender) for _ in range(3)]
    broadcast = send(factories.broadcast(sender))
    first = Notification.objects.earliest("id")
    Event.objects.exclude(detail__payload__notice_id=first.pk).update(due_at=timezone.now() + timedelta(hours=1))
    assert worker.drain(lane="broadcasts") == 2  # its notification and its e-mail

    assert lifecycle.cancel(broadcast=broadcast, at=timezone.now()) == 2
    work()

    assert box.recipients == [customers[0].email]
    assert figures_of(broadcast) == Figures(members=3, reached=1, waiting=0, failed=0, stopped=2, opted_out=0)


def test_cancelling_stops_an_email_waiting_for_its_next_attempt(sender, customer, box, work):
    box.rejections[customer.email] = "450 later"
    broadcast = send(factories.broadcast(sender))
    worker.drain(lane="broadcasts")
    assert figures_of(broadcast).waiting == 1
    box.rejections.clear()

    assert lifecycle.cancel(broadcast=broadcast, at=timezone.now()) == 1
    work()

    assert box.recipients == []
    assert figures_of(broadcast).stopped == 1
    assert not Event.objects.pending().exists()


def test_cancelling_stops_the_job_between_two_portions(sender, box, work, monkeypatch):
    monkeypatch.setattr(sending, "PORTION_SIZE", 1)
    for _ in range(3):
        factories.customer(sender)
    broadcast = factories.broadcast(sender)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    publish = sending.publish

    def publish_and_cancel_next(row, portion):
        publish(row, portion)
        monkeypatch.setattr(sending, "publish_portion", cancel_first)

    portion = sending.publish_portion

    def cancel_first(run):
        lifecycle.cancel(broadcast=broadcast, at=timezone.now())
        return portion(run)

    monkeypatch.setattr(sending, "publish", publish_and_cancel_next)
    result = run_job(broadcast)
    work()

    assert (result.state, result.published) == ("cancelled", 1)
    assert box.recipients == []
    assert Job.objects.get().status == "cancelled"
    assert figures_of(broadcast).stopped == 3


def test_cancelling_its_job_cancels_the_broadcast(sender, customer):
    broadcast = factories.broadcast(sender)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())

    queue.cancel(job=Job.objects.get())

    broadcast.refresh_from_db()
    assert broadcast.state == "cancelled"


def test_planned_broadcast_begins_at_its_moment(sender, customer, box, work):
    now = timezone.now()
    moment = now + timedelta(hours=2)
    broadcast = factories.broadcast(sender, send_at=moment)

    assert lifecycle.send(broadcast=broadcast, by=None, at=now).state == "planned"
    assert lifecycle.begin_due(at=moment - timedelta(seconds=1)) == 0
    assert not Job.objects.exists()
    assert lifecycle.begin_due(at=moment) == 1
    assert lifecycle.begin_due(at=moment) == 0
    run_job(broadcast)
    work()

    assert box.recipients == [customer.email]


def test_planned_broadcast_can_be_moved_back_to_draft(sender, customer):
    moment = timezone.now() + timedelta(hours=2)
    broadcast = factories.broadcast(sender, send_at=moment)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())

    lifecycle.back_to_draft(broadcast=broadcast)

    broadcast.refresh_from_db()
    assert (broadcast.state, broadcast.next_at) == ("draft", None)
    assert lifecycle.begin_due(at=moment) == 0


def test_planned_broadcast_that_cannot_be_sent_fails_with_a_reason(sender, own, customer):
    moment = timezone.now() + timedelta(hours=2)
    broadcast = factories.broadcast(sender, send_at=moment)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    NotificationSettings.objects.update(email_on=False)

    assert lifecycle.begin_due(at=moment) == 0
    broadcast.refresh_from_db()
    assert broadcast.state == "failed"
    assert broadcast.problem == "E-mail is not set up: see the notification settings, or choose other channels."

    NotificationSettings.objects.update(email_on=True)
    assert send(broadcast).state == "sent"


PROBLEMS = {
    "moment": ({"send_at": timezone.now() - timedelta(minutes=1)}, "This date and time is in the past."),
    "no channel": ({"channels": []}, "Choose at least one channel."),
    "no sms": ({"channels": ["sms"]}, "SMS is not set up"),
    "no text": ({"texts": {}}, "English, Subject: Enter a text."),
    "unknown name": (
        {"texts": {"en": {"subject": "A", "body": "{points}"}}},
        "English, Text of the e-mail: {points} is not available here.",
    ),
    "deleted segment": ({"segment_name": "Gone"}, "The segment “Gone” was deleted."),
    "cancelled": ({"state": "cancelled"}, "This broadcast was cancelled."),
}


@pytest.mark.parametrize(("fields", "message"), PROBLEMS.values(), ids=list(PROBLEMS))
def test_broadcast_that_cannot_be_sent_is_rejected(sender, customer, fields, message):
    broadcast = factories.broadcast(sender, **fields)

    with pytest.raises(Invalid, match=message.replace("{", r"\{")):
        lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())

    assert not Job.objects.exists()


def test_text_missing_in_the_brands_new_language_is_named(sender, customer):
    broadcast = factories.broadcast(sender)
    NotificationSettings.objects.update(language="de")

    with pytest.raises(Invalid, match=r"^German, Subject: Enter a text"):
        lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())


def test_every_state_has_a_message():
    assert lifecycle.STATE_MESSAGES.keys() == set(Broadcast.State)


def test_brand_with_notifications_switched_off_cannot_send(brand, customer):
    with pytest.raises(Invalid, match="Notifications are switched off"):
        lifecycle.send(broadcast=factories.broadcast(brand), by=None, at=timezone.now())


def test_broadcast_above_the_daily_quota_continues_the_next_day(sender, box, work, settings):
    settings.QUOTAS = {**settings.QUOTAS, "broadcasts": 2}
    customers = [factories.customer(sender) for _ in range(3)]

    broadcast = send(factories.broadcast(sender))
    work()
    assert (broadcast.state, broadcast.published, len(box.recipients)) == ("sending", 2, 2)
    assert broadcast.next_at is not None
    assert lifecycle.begin_due(at=timezone.now()) == 0
    other = send(factories.broadcast(sender, name="Second"))
    assert (other.state, other.published) == ("sending", 0)

    Broadcast.objects.update(counted_on=timezone.now().date() - timedelta(days=1))  # the next day
    assert [lifecycle.begin_due(at=broadcast.next_at) for _turn in range(3)] == [1, 1, 0]
    result = run_job(broadcast)
    work()

    assert (result.state, result.published) == ("sent", 3)
    assert sorted(box.recipients) == sorted(each.email for each in customers)


def test_broadcast_that_just_fits_the_daily_quota_is_sent(sender, customer, settings):
    settings.QUOTAS = {**settings.QUOTAS, "broadcasts": 1}

    broadcast = send(factories.broadcast(sender))

    assert (broadcast.state, broadcast.published, broadcast.next_at) == ("sent", 1, None)
    assert "limit" not in broadcast.job.log


def test_daily_quota_of_jobs_limits_broadcasts(sender, customer, settings):
    settings.QUOTAS = {**settings.QUOTAS, "jobs": 1}
    send(factories.broadcast(sender))

    with pytest.raises(QuotaReached):
        send(factories.broadcast(sender, name="Second"))
