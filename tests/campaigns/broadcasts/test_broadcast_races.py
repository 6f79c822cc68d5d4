"""Broadcasts with concurrent workers: no portion is published twice, with a control, and other races."""

from datetime import timedelta
from threading import Barrier, BrokenBarrierError

import pytest
from django.utils import timezone

from campaigns.broadcasts import lifecycle, sending
from campaigns.segments import evaluate, uses
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from core.errors import Invalid
from events.models import Event
from jobs import runner
from jobs.models import Job
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Notification
from loyalty.models.programme.segments import Segment
from tests.support import factories
from tests.support.concurrency import locked_by_another_session, run_concurrently, run_concurrently_behind_lock

pytestmark = pytest.mark.django_db(transaction=True)
MEMBERS = 4


def run_job_twice_concurrently(brand, monkeypatch):
    """Let two workers run one job, as when the first seemed dead, and return the number of members of each portion.

    Before publishing, each worker waits briefly for the other, which a lock may block.
    """
    monkeypatch.setattr(sending, "PORTION_SIZE", 1)
    for _ in range(MEMBERS):
        factories.customer(brand)
    broadcast = factories.broadcast(brand)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    job = Job.objects.get()
    Job.objects.update(status="running")
    sending.start_broadcast(broadcast, check_cancelled=lambda: None)
    while sending.gather_portion(runner.Run(job)):
        pass
    barrier, portions, publish = Barrier(2), [], sending.publish

    def wait_and_publish(row, portion):
        try:
            barrier.wait(0.3)
        except BrokenBarrierError:
            barrier.reset()
        portions.append(len(portion))
        publish(row, portion)

    monkeypatch.setattr(sending, "publish", wait_and_publish)
    results = run_concurrently(lambda _: sending.run_sending(runner.Run(job)), range(2), threads=2)
    assert not [each for each in results if isinstance(each, Exception)]
    return portions


def test_two_workers_of_one_job_publish_each_portion_once(sender, box, work, monkeypatch):
    portions = run_job_twice_concurrently(sender, monkeypatch)

    broadcast = Broadcast.objects.get()
    assert sum(portions) == broadcast.published == broadcast.members == broadcast.counted == MEMBERS
    assert Notification.objects.count() == Event.objects.filter(detail_type="send-broadcast").count() == MEMBERS
    assert broadcast.state == "sent"
    work()
    assert len(set(box.recipients)) == len(box.recipients) == MEMBERS


def test_control_portions_are_published_twice_without_the_row_lock(sender, box, work, monkeypatch):
    """Each member still gets one message, because the notification and its event are stored only once."""
    locked = sending.unfinished_broadcast
    monkeypatch.setattr(sending, "unfinished_broadcast", lambda run, *, locked=False: run_without_lock(run))  # noqa: ARG005

    def run_without_lock(run):
        return locked(run)

    portions = run_job_twice_concurrently(sender, monkeypatch)

    assert sum(portions) > MEMBERS
    work()
    assert len(set(box.recipients)) == len(box.recipients) == MEMBERS


def test_concurrent_tasks_begin_a_planned_broadcast_once(sender):
    moment = timezone.now() + timedelta(minutes=1)
    broadcast = factories.broadcast(sender, send_at=moment)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())

    results = run_concurrently(lambda _: lifecycle.begin_planned(broadcast.pk, at=moment), range(4), threads=4)

    assert sorted(results) == [False, False, False, True]
    assert Job.objects.count() == 1


def test_concurrent_sends_start_one_job(sender):
    broadcast = factories.broadcast(sender)

    results = run_concurrently(
        lambda _: lifecycle.send(broadcast=broadcast, by=None, at=timezone.now()), range(3), threads=3
    )

    assert sum(isinstance(each, Invalid) for each in results) == 2
    assert Job.objects.count() == 1


def test_segment_is_either_deleted_or_used_by_a_broadcast(sender):
    segment = factories.segment(sender)
    draft = Broadcast(brand=sender, name="Spring", segment=segment, channels=["email"])

    def run_step(step):
        uses.delete(segment) if step == "delete" else lifecycle.save(draft)

    results = run_concurrently_behind_lock(
        LOCK_PAIR, [LockOfRow.SEGMENT_REFERENCES.value, sender.pk], run_step, ["delete", "save"]
    )

    assert sum(isinstance(each, Invalid) for each in results) == 1
    assert Segment.objects.exists() == Broadcast.objects.exists()


def test_sending_is_rejected_until_edited_conditions_are_evaluated(sender, monkeypatch):
    """Another process is evaluating the segment. As a control, the last evaluation counts if nothing was edited."""
    monkeypatch.setattr(sending, "PATIENCE_SECONDS", 0)
    segment = factories.segment(sender, name="Rich")
    evaluate.evaluate(segment.pk, at=timezone.now())
    unedited, edited = factories.broadcast(sender, segment), factories.broadcast(sender, segment, name="Later")

    with locked_by_another_session(LOCK_PAIR, [LockOfRow.SEGMENT_EVALUATION.value, segment.pk]):
        sending.start_broadcast(unedited, check_cancelled=lambda: None)
        Segment.objects.update(conditions={"all": [{"field": "balance", "operator": "at_least", "value": "99"}]})
        with pytest.raises(Invalid, match="new conditions"):
            sending.start_broadcast(edited, check_cancelled=lambda: None)

    assert Broadcast.objects.get(started_at=None) == edited
    sending.start_broadcast(edited, check_cancelled=lambda: None)
    assert not Broadcast.objects.filter(started_at=None).exists()


def test_concurrent_cancelling_and_sending_leave_nothing_pending(sender, box, work):
    """Whichever comes first, no message is sent and no job is left unfinished."""
    for _ in range(6):
        factories.customer(sender)
    broadcast = factories.broadcast(sender)
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now())
    job_id = Job.objects.get().pk

    def run_step(step):
        if step == "cancel":
            lifecycle.cancel(broadcast=broadcast, at=timezone.now())
        else:
            runner.run(job_id)

    results = run_concurrently(run_step, ["cancel", "run"], threads=2)
    assert not [each for each in results if isinstance(each, Exception)]
    work()

    assert box.recipients == []
    assert Broadcast.objects.get().state == "cancelled"
    assert not Job.objects.unfinished().exists()
