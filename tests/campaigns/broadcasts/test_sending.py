"""A broadcast reaches each member of a segment once, through the channels they want and in their language."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.broadcasts import audience, figures, lifecycle, sending
from campaigns.broadcasts.figures import Figures
from campaigns.segments import evaluate, uses
from core.errors import Invalid
from events import delivery as bus
from events import leases, turns, worker
from events.models import Event
from jobs.models import Job
from loyalty.members import blocking, passwords
from loyalty.models.accounts import UserPoints
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import (
    Device,
    Notification,
    NotificationDelivery,
    NotificationPreference,
    NotificationSettings,
)
from loyalty.models.programme.segments import Segment, SegmentMember
from loyalty.notifications import batching, delivery, preferences, suppression
from loyalty.notifications.batching import NotificationRequest
from tests.campaigns.broadcasts.conftest import figures_of, run_job, send
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


RICH = ("balance", "at_least", 50)


def rich_customer(brand, **fields):
    customer = factories.customer(brand, **fields)
    factories.points(customer, brand, 100)
    return customer


def plain_text(mail):
    return mail.get_body(("plain",)).get_content()


def test_broadcast_goes_to_the_segment_members_when_sending_begins(sender, box, work):
    segment = factories.segment(sender, RICH)
    evaluate.evaluate(segment.pk, at=timezone.now())
    customer, _poor = rich_customer(sender, first_name="Ada"), factories.customer(sender)
    rich_customer(factories.brand())

    broadcast = send(factories.broadcast(sender, segment, body="Hello {customer_name}, you have {new_balance}."))
    assert (broadcast.state, broadcast.members, broadcast.published) == ("sent", 1, 1)
    assert broadcast.evaluated_at == Segment.objects.get().evaluated_at
    work()

    assert box.recipients == [customer.email]
    [mail] = box.mails
    assert mail["Subject"] == "News"
    assert "Hello Ada, you have 100." in plain_text(mail)
    assert "/notices/opt-out/" in mail["List-Unsubscribe"]
    assert figures_of(broadcast) == Figures(members=1, reached=1, waiting=0, failed=0, stopped=0, opted_out=0)


def test_broadcast_without_a_segment_goes_to_all_members(sender, box, work):
    customers = [factories.customer(sender) for _ in range(3)]
    factories.customer(sender, enrolled=False)

    send(factories.broadcast(sender))
    work()

    assert sorted(box.recipients) == sorted(each.email for each in customers)


def test_every_member_gets_one_message_with_small_portions(sender, box, work, monkeypatch):
    monkeypatch.setattr(sending, "PORTION_SIZE", 2)
    customers = [rich_customer(sender) for _ in range(5)]
    segment = factories.segment(sender, RICH)

    broadcast = send(factories.broadcast(sender, segment))
    work()

    assert sorted(box.recipients) == sorted(each.email for each in customers)
    assert (broadcast.members, broadcast.published, broadcast.counted) == (5, 5, 5)


def test_member_who_joins_after_the_start_gets_nothing(sender, box, work):
    first = rich_customer(sender)
    segment = factories.segment(sender, RICH)
    broadcast = factories.broadcast(sender, segment)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    broadcast.refresh_from_db()
    sending.start_broadcast(broadcast, check_cancelled=lambda: None)
    late = rich_customer(sender)
    evaluate.evaluate(segment.pk, at=timezone.now())
    assert SegmentMember.objects.count() == 2

    run_job(broadcast)
    work()

    assert box.recipients == [first.email] != [late.email]


def test_opted_out_bounced_and_blocked_members_get_nothing(sender, box, work):
    reader, opted_out, bounced, blocked, inactive = (factories.customer(sender) for _ in range(5))
    preferences.opt_out(opted_out.pk, sender.pk, channel="email", topics=["offers"], at=timezone.now())
    suppression.suppress(
        brand_id=sender.pk, channel="email", address=bounced.email, masked="b", reason="550", at=timezone.now()
    )
    blocking.set_status(accounts=[factories.account(blocked, sender)], status="blocked", at=timezone.now())
    inactive.is_active = False
    inactive.save()

    broadcast = send(factories.broadcast(sender))
    work()

    assert box.recipients == [reader.email]
    result = figures_of(broadcast)
    assert (result.members, result.reached, result.opted_out, result.unreachable) == (4, 1, 1, 2)


@pytest.mark.parametrize("step", ["before the worker", "before the channel"])
def test_member_blocked_during_sending_gets_nothing(sender, customer, box, work, step):
    send(factories.broadcast(sender))
    if step == "before the channel":
        [event] = Event.objects.pending()
        Event.objects.filter(pk=event.pk).update(due_at=timezone.now())
        deliver_next_event()
    blocking.set_status(accounts=[factories.account(customer, sender)], status="blocked", at=timezone.now())
    work()

    assert box.recipients == []
    assert NotificationDelivery.objects.get().last_error == "The member is blocked."


def deliver_next_event():
    """Deliver the notification and leave its e-mail waiting."""
    leased = leases.claim(limit=1, lane="broadcasts")
    bus.deliver_events(leased)


def test_members_get_it_in_their_language_or_the_brands(sender, box, work):
    german, arabic = factories.customer(sender), factories.customer(sender)
    preferences.change(german.pk, sender.pk, at=timezone.now(), language="de")
    preferences.change(arabic.pk, sender.pk, at=timezone.now(), language="ar")
    texts = {
        "en": {"subject": "News", "body": "{greeting}", "short_text": ""},
        "de": {"subject": "Neues", "body": "{greeting}", "short_text": ""},
    }

    send(factories.broadcast(sender, texts=texts))
    work()

    subjects = {mail["To"]: (mail["Subject"], mail["Content-Language"]) for mail in box.mails}
    assert subjects == {german.email: ("Neues", "de"), arabic.email: ("News", "en")}


def test_broadcast_uses_only_the_chosen_channels(sender, with_sms, with_push, box, work):
    customer = factories.customer(sender)
    preferences.change(customer.pk, sender.pk, at=timezone.now(), phone="+4930123456")
    Device.objects.create(brand=sender, user=customer, token="phone", platform="ios")

    send(factories.broadcast(sender, channels=["sms", "push"]))
    work()

    assert box.recipients == []
    channels = NotificationDelivery.objects.values_list("channel", "status")
    assert sorted(channels) == [("push", "sent"), ("sms", "sent")]


def test_job_run_again_sends_nothing_twice(sender, box, work):
    factories.customer(sender)
    broadcast = send(factories.broadcast(sender))
    work()
    # As after a crash before the last commit: the portion is published again, with the same ids.
    Broadcast.objects.filter(pk=broadcast.pk).update(state="sending", published_to=0, gathered_to=0, is_gathered=False)
    Job.objects.update(status="queued")

    run_job(broadcast)
    work()

    assert len(box.recipients) == 1
    assert Notification.objects.count() == NotificationDelivery.objects.count() == 1


def test_job_continues_after_a_worker_died_between_portions(sender, box, work, monkeypatch):
    monkeypatch.setattr(sending, "PORTION_SIZE", 1)
    customers = [factories.customer(sender) for _ in range(3)]
    broadcast = factories.broadcast(sender)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    publish, published_portions = sending.publish, []

    def publish_or_die(row, portion):
        publish(row, portion)
        published_portions.append(portion)
        if len(published_portions) == 2:
            raise SystemExit

    monkeypatch.setattr(sending, "publish", publish_or_die)
    with pytest.raises(SystemExit):
        run_job(broadcast)
    monkeypatch.setattr(sending, "publish", publish)
    Job.objects.update(status="queued")
    result = run_job(broadcast)
    work()

    assert sorted(box.recipients) == sorted(each.email for each in customers)
    assert (result.state, result.published) == ("sent", 3)


def test_segment_used_by_a_broadcast_cannot_be_deleted(sender):
    segment = factories.segment(sender, name="Rich")
    broadcast = factories.broadcast(sender, segment)

    with pytest.raises(Invalid, match="broadcast “Spring”"):
        uses.delete(segment)
    Broadcast.objects.filter(pk=broadcast.pk).update(state="sent")
    uses.delete(segment)

    broadcast.refresh_from_db()
    assert (broadcast.segment_id, broadcast.segment_name) == (None, "Rich")


def test_recall_and_password_mails_do_not_wait_for_a_broadcast(sender, customer, box):
    """They are in other lanes, which other workers process while the broadcast waits."""
    for _ in range(3):
        factories.customer(sender)
    send(factories.broadcast(sender))
    recall = NotificationRequest("NOTIFY_RECALL", "recall:1", {"message": "Stop", "recall_id": "R-1"})
    batching.notify_many(brand_id=sender.pk, user_ids=[customer.pk], notification=recall, at=timezone.now())
    passwords.send_reset_link(email=customer.email, brand=sender, at=timezone.now())
    lanes = set(Event.objects.pending().values_list("lane", flat=True))
    assert worker.drain(lane="notices")
    assert worker.drain(lane="email") == 2

    assert lanes == {"broadcasts", "notices"}
    password_subject, recall_subject = sorted(mail["Subject"] for mail in box.mails)
    assert password_subject.startswith("A new password")
    assert recall_subject.startswith("Product recall")
    assert Event.objects.pending().filter(lane="broadcasts").count() == 4


def test_workers_alternate_between_brands_in_the_broadcast_lane(sender):
    """The second brand's message does not wait for all messages of the first."""
    other = factories.brand()
    NotificationSettings.objects.create(brand=other)
    for _ in range(12):
        factories.customer(sender)
    factories.customer(other)
    send(factories.broadcast(sender))
    send(factories.broadcast(other))

    assert {next_brand_id() for _ in range(30)} == {sender.pk, other.pk}


def next_brand_id():
    with turns.turn(lane="broadcasts", workers=4) as turn:
        return turn.brand_id


def test_sandbox_brand_sends_nothing(box, work):
    sandbox = factories.brand(is_sandbox=True)
    NotificationSettings.objects.create(brand=sandbox)
    factories.customer(sandbox)

    send(factories.broadcast(sandbox))
    work()

    assert box.recipients == []
    assert NotificationDelivery.objects.get().status == "suppressed"


def test_figures_are_stored_once_nothing_is_pending(sender, customer, box, work):
    broadcast = send(factories.broadcast(sender))
    later = timezone.now() + timedelta(hours=1)
    assert figures.store_final(at=later) == 0
    work()

    assert figures.store_final(at=later) == 1
    broadcast.refresh_from_db()
    assert broadcast.figures["reached"] == 1
    NotificationDelivery.objects.all().delete()
    assert figures_of(broadcast).reached == 1


def test_the_audience_is_counted_by_channel(sender, with_sms, with_push):
    """The count in SQL equals what sending delivers."""
    members = [factories.customer(sender) for _ in range(6)]
    at = timezone.now()
    for number, member in enumerate(members):
        if number % 2:
            preferences.change(member.pk, sender.pk, at=at, phone=f"+493012345{number}")
        if number > 2:
            Device.objects.create(brand=sender, user=member, token=f"t{number}", platform="ios")
    preferences.opt_out(members[0].pk, sender.pk, channel="email", topics=["offers"], at=at)
    preferences.opt_out(members[1].pk, sender.pk, channel="sms", topics=["offers"], at=at)
    preferences.opt_out(members[2].pk, sender.pk, channel="email", topics=["points"], at=at)
    Device.objects.filter(token="t4").update(died_at=at)
    suppression.suppress(brand_id=sender.pk, channel="sms", address="+4930123453", masked="s", reason="no", at=at)
    suppression.suppress(brand_id=sender.pk, channel="email", address=members[5].email, masked="s", reason="no", at=at)
    UserPoints.objects.filter(user=members[4]).update(status="blocked")

    counted_members = audience.count(brand=sender, segment=None, channels=["email", "sms", "push"])
    broadcast = send(factories.broadcast(sender, channels=["email", "sms", "push"]))
    while worker.drain(lane="broadcasts"):
        Event.objects.pending().filter(detail_type="send-broadcast").update(due_at=timezone.now())

    rows = NotificationDelivery.objects.exclude(status="suppressed")
    delivered_counts = {
        channel: rows.filter(channel=channel).values("user").distinct().count() for channel in delivery.CHANNELS
    }
    assert (counted_members.email, counted_members.sms, counted_members.push) == tuple(
        delivered_counts[channel] for channel in ("email", "sms", "push")
    )
    assert counted_members.members == broadcast.members == 5
    assert counted_members.reachable == rows.values("user").distinct().count()
    assert (counted_members.email, counted_members.sms, counted_members.push, counted_members.reachable) == (3, 1, 2, 4)
    assert SuppressedAddress.objects.count() == 2
    assert NotificationPreference.objects.count() == 5


def test_one_broadcast_of_each_brand_begins_at_a_time(sender, customer):
    moment = timezone.now() + timedelta(hours=2)
    other = factories.brand()
    NotificationSettings.objects.update_or_create(brand=other, defaults={"is_active": True})
    planned = [factories.broadcast(brand, send_at=moment) for brand in (sender, sender, sender, other)]
    for each in planned:
        lifecycle.send(broadcast=each, by=None, at=timezone.now())

    begun = []
    for _turn in range(3):
        lifecycle.begin_due(at=moment)
        begun.append(set(Broadcast.objects.exclude(state="planned").values_list("pk", flat=True)))

    assert begun[0] == {planned[0].pk, planned[3].pk}
    assert [len(each) for each in begun] == [2, 3, 4]
