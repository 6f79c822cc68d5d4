"""Slow kinds of events have lanes of their own, so they delay no points and no lane takes every worker."""

import time
from contextlib import ExitStack, suppress
from datetime import timedelta
from threading import Barrier

import pytest
from django.utils import timezone

from core.redis import client
from events import leases, messages, publishing, tasks, worker, worker_signals
from events.models import Event
from tests.support import factories
from tests.support.concurrency import run_concurrently

pytestmark = pytest.mark.django_db(transaction=True)

delivered: list[str] = []


def finish_and_record(delivery: messages.LeasedEvent) -> None:
    delivered.append(delivery.kind)
    leases.finish(delivery)


def retry_in_90_seconds(delivery: messages.LeasedEvent) -> None:
    message = "429, Retry-After: 90"
    raise messages.RetryLater(message, after=timedelta(seconds=90))


def wait_for_four_days(delivery: messages.LeasedEvent) -> None:
    message = "not yet"
    raise messages.RetryLater(message, after=timedelta(minutes=5), retry_hours=96)


@pytest.fixture(autouse=True)
def lanes(settings):
    handlers = {"letter": finish_and_record, "scan-like": finish_and_record, "busy": retry_in_90_seconds}
    handlers["patient"] = wait_for_four_days
    settings.EVENT_HANDLERS = {kind: f"{handler.__module__}.{handler.__name__}" for kind, handler in handlers.items()}
    settings.EVENT_LANES = {"letter": "letters", "busy": "letters"}
    messages.handler_of.cache_clear()
    delivered.clear()
    keys = [f"{worker_signals.CALL}:{lane}" for lane in ("letters", "points")]
    client.client().delete("outgoing", "events", *keys)
    yield
    messages.handler_of.cache_clear()


def publish(kind, **fields):
    message = messages.NewEvent(kind=kind, arguments={}, payload={}, **fields)
    return publishing.publish(messages=[message], brand_id=factories.brand().pk, at=timezone.now())


def test_lane_delivers_only_its_own_kinds():
    publish("letter")
    publish("scan-like")

    assert (worker.drain(), delivered) == (1, ["scan-like"])
    assert (worker.drain(lane="letters"), delivered) == (1, ["scan-like", "letter"])


def test_slow_lane_wakes_its_workers_through_their_own_queue():
    publish("letter")

    assert (client.client().llen("outgoing"), client.client().llen("events")) == (1, 0)


def test_event_without_consumer_is_stored_as_ignored():
    publish("letter", has_consumer=False)

    assert Event.objects.get().status == "ignored"
    assert client.client().llen("outgoing") == 0


def test_postponed_event_wakes_no_worker_until_it_is_due():
    publish("letter", wait_seconds=60)

    assert client.client().llen("outgoing") == 0
    assert worker.drain(lane="letters") == 0

    Event.objects.update(due_at=timezone.now())
    tasks.sweep()

    assert client.client().llen("outgoing") == 1
    assert worker.drain(lane="letters") == 1


def test_retry_hours_set_how_long_an_event_is_retried():
    at = timezone.now()
    publish("letter", retry_hours=72)

    retry_period = Event.objects.get().give_up_at - at
    assert timedelta(hours=71, minutes=59) < retry_period < timedelta(hours=72, minutes=1)


@pytest.mark.parametrize(("hours_ago", "status"), [(25, "pending"), (97, "dead")])
def test_handler_may_ask_for_a_longer_retry_period_after_an_outage(hours_ago, status):
    publish("patient")
    stored_at = timezone.now() - timedelta(hours=hours_ago)
    Event.objects.update(created_at=stored_at, give_up_at=stored_at + timedelta(hours=24))

    worker.drain()

    assert Event.objects.get().status == status


def test_publishing_once_ignores_an_id_that_is_already_stored():
    brand = factories.brand()
    message = messages.NewEvent(kind="letter", arguments={}, payload={})

    stored = [publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now(), once=True) for _ in range(2)]

    assert (stored, Event.objects.count()) == ([1, 0], 1)


def test_handler_can_set_the_time_of_its_next_attempt():
    publish("busy")
    at = timezone.now()

    worker.drain(lane="letters")

    event = Event.objects.get()
    assert (event.status, event.last_error) == ("pending", "RetryLater: 429, Retry-After: 90")
    assert timedelta(seconds=85) < event.due_at - at < timedelta(seconds=95)


def test_slow_lane_has_a_limited_number_of_concurrency_slots():
    publish("letter")

    barrier = Barrier(8)

    def acquire(_number):
        with worker_signals.acquire_slot(lane="letters", count=3) as slot:
            barrier.wait(timeout=10)
            return bool(slot)

    assert sorted(run_concurrently(acquire, range(8), threads=8)) == [False] * 5 + [True] * 3
    assert worker.drain_slow(lane="letters") == 1


def test_worker_without_a_free_slot_delivers_nothing():
    publish("letter")

    with ExitStack() as slots:
        for _ in range(4):
            slots.enter_context(worker_signals.acquire_slot(lane="letters", count=4))
        assert tasks.deliver_due(lane="letters") == 0

    assert tasks.deliver_due(lane="letters") == 1


def test_slot_expires_within_seconds_unless_its_worker_renews_it():
    redis, name = client.client(), f"{worker_signals.SLOT}:letters:0"

    with worker_signals.acquire_slot(lane="letters", count=1) as slot:
        initial_ttl = redis.pttl(name)
        redis.pexpire(name, 1_000)
        slot.renew()

        assert initial_ttl <= 8_000 < redis.pttl(name) + 2_000
    assert not redis.exists(name)


slot_ttls: list[int] = []


def take_long(delivery: messages.LeasedEvent) -> None:
    name = f"{worker_signals.SLOT}:letters:0"
    slot_ttls.append(client.client().pttl(name))
    client.client().pexpire(name, 1_000)
    leases.finish(delivery)


def test_each_delivery_of_a_slow_lane_renews_the_slot(settings):
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.take_long"}
    slot_ttls.clear()
    for _ in range(3):
        publish("letter")

    assert worker.drain_slow(lane="letters") == 3
    assert (len(slot_ttls), min(slot_ttls) > 6_000) == (3, True)


def test_worker_that_lost_its_slot_does_not_touch_the_new_owners_slot():
    redis, name = client.client(), f"{worker_signals.SLOT}:letters:0"

    with worker_signals.acquire_slot(lane="letters", count=1) as slow:
        redis.delete(name)
        with worker_signals.acquire_slot(lane="letters", count=1):
            new_owner = redis.get(name)
            slow.renew()
            slow.release()

            assert redis.get(name) == new_owner


sent: list[int] = []


def deliver_while_leases_end(delivery: messages.LeasedEvent) -> None:
    """Take so long over the first event that the leases of those behind it end and another worker takes them."""
    sent.append(delivery.id)
    leases.finish(delivery)
    if len(sent) == 1:
        time.sleep(0.03)
        run_concurrently(lambda _number: worker.drain(lane="letters"), [0])


@pytest.fixture
def four_letters(settings):
    settings.OUTGOING_BATCH, settings.OUTGOING_LEASE_SECONDS = 4, 0.01
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.deliver_while_leases_end"}
    sent.clear()
    for _ in range(4):
        publish("letter")


@pytest.mark.usefixtures("four_letters")
def test_events_taken_over_by_another_worker_are_sent_once():
    worker.drain(lane="letters")

    assert sorted(sent) == sorted(Event.objects.values_list("id", flat=True))
    assert not Event.objects.exclude(status="done").exists()


@pytest.mark.usefixtures("four_letters")
def test_control_without_renewal_of_leases_letters_are_sent_twice(monkeypatch):
    monkeypatch.setattr(leases, "renew", lambda _delivery: None)

    worker.drain(lane="letters")

    assert (len(sent), len(set(sent))) == (7, 4)


@pytest.mark.usefixtures("four_letters")
def test_renewed_lease_lasts_for_another_full_period(settings):
    [delivery, *_more] = leases.claim(limit=4, lane="letters")
    settings.OUTGOING_LEASE_SECONDS = 60
    leases.renew(delivery)
    time.sleep(0.02)

    assert delivery.id not in {each.id for each in leases.claim(limit=4, lane="letters")}


class Killed(BaseException):
    """Stands for a worker process that is killed."""


def kill(delivery: messages.LeasedEvent) -> None:
    raise Killed


def make_pending_events_due():
    Event.objects.pending().update(due_at=timezone.now())


def test_event_that_kills_its_workers_does_not_block_other_events(settings):
    settings.EVENT_HANDLERS |= {"a-killer": f"{__name__}.kill"}
    publish("a-killer")
    for _ in range(5):
        publish("scan-like")

    for _ in range(60):
        make_pending_events_due()
        with suppress(Killed):
            worker.drain()
        if len(delivered) == 5:
            break

    assert len(delivered) == 5
    assert Event.objects.exclude(status="done").get().detail_type == "a-killer"


def fail_with_unstorable_text(delivery: messages.LeasedEvent) -> None:
    message = "they said \x00 and \ud800"
    raise RuntimeError(message)


def test_error_text_that_postgresql_rejects_does_not_stop_the_worker(settings):
    settings.EVENT_HANDLERS |= {"a-mess": f"{__name__}.fail_with_unstorable_text"}
    publish("a-mess")
    publish("scan-like")

    assert worker.drain() == 2

    assert delivered == ["scan-like"]
    assert Event.objects.pending().get().last_error == "RuntimeError: they said \N{REPLACEMENT CHARACTER} and ?"
