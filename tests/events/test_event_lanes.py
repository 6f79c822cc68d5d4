"""Slow kinds wait in lanes of their own: they hold up no points, and no lane takes every worker."""

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
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db(transaction=True)

delivered: list[str] = []


def note(delivery: messages.LeasedEvent) -> None:
    delivered.append(delivery.kind)
    leases.finish(delivery)


def ask_for_patience(delivery: messages.LeasedEvent) -> None:
    message = "429, Retry-After: 90"
    raise messages.RetryLater(message, after=timedelta(seconds=90))


@pytest.fixture(autouse=True)
def lanes(settings):
    own = {"letter": note, "scan-like": note, "busy": ask_for_patience}
    settings.EVENT_HANDLERS = {kind: f"{handler.__module__}.{handler.__name__}" for kind, handler in own.items()}
    settings.EVENT_LANES = {"letter": "letters", "busy": "letters"}
    messages.handler_of.cache_clear()
    delivered.clear()
    keys = [f"{worker_signals.CALL}:{lane}" for lane in ("letters", "points")]
    client.client().delete("outgoing", "events", *keys)
    yield
    messages.handler_of.cache_clear()


def publish(kind, **how):
    message = messages.NewEvent(kind=kind, arguments={}, payload={}, **how)
    return publishing.publish(messages=[message], brand_id=factories.brand().pk, at=timezone.now())


def test_a_lane_delivers_its_own_kinds_only():
    publish("letter")
    publish("scan-like")

    assert (worker.drain(), delivered) == (1, ["scan-like"])
    assert (worker.drain(lane="letters"), delivered) == (1, ["scan-like", "letter"])


def test_a_slow_lane_is_called_through_the_queue_of_its_own_workers():
    publish("letter")

    assert (client.client().llen("outgoing"), client.client().llen("events")) == (1, 0)


def test_what_nobody_waits_for_is_kept_as_ignored():
    publish("letter", has_consumer=False)

    assert Event.objects.get().status == "ignored"
    assert client.client().llen("outgoing") == 0


def test_what_shall_wait_is_delivered_when_it_is_due_and_calls_nobody_before():
    publish("letter", wait_seconds=60)

    assert client.client().llen("outgoing") == 0
    assert worker.drain(lane="letters") == 0

    Event.objects.update(due_at=timezone.now())
    tasks.sweep()

    assert client.client().llen("outgoing") == 1
    assert worker.drain(lane="letters") == 1


def test_an_event_may_be_tried_for_longer_than_others():
    at = timezone.now()
    publish("letter", retry_hours=72)

    kept = Event.objects.get().give_up_at - at
    assert timedelta(hours=71, minutes=59) < kept < timedelta(hours=72, minutes=1)


def test_once_published_an_id_is_left_alone():
    brand = factories.brand()
    message = messages.NewEvent(kind="letter", arguments={}, payload={})

    stored = [publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now(), once=True) for _ in range(2)]

    assert (stored, Event.objects.count()) == ([1, 0], 1)


def test_a_handler_may_ask_for_its_next_attempt():
    publish("busy")
    at = timezone.now()

    worker.drain(lane="letters")

    event = Event.objects.get()
    assert (event.status, event.last_error) == ("pending", "RetryLater: 429, Retry-After: 90")
    assert timedelta(seconds=85) < event.due_at - at < timedelta(seconds=95)


def test_only_so_many_deliver_a_slow_lane_at_once():
    publish("letter")

    everybody = Barrier(8)

    def sit(_number):
        with worker_signals.acquire_slot(lane="letters", count=3) as slot:
            everybody.wait(timeout=10)
            return bool(slot)

    assert sorted(at_once(sit, range(8), threads=8)) == [False] * 5 + [True] * 3
    assert worker.drain_slow(lane="letters") == 1


def test_with_no_seat_left_those_who_sit_there_do_the_work():
    publish("letter")

    with ExitStack() as sitting:
        for _ in range(4):
            sitting.enter_context(worker_signals.acquire_slot(lane="letters", count=4))
        assert tasks.deliver_due(lane="letters") == 0

    assert tasks.deliver_due(lane="letters") == 1


def test_a_slot_outlives_its_worker_by_seconds_and_is_kept_while_at_work():
    redis, name = client.client(), f"{worker_signals.SLOT}:letters:0"

    with worker_signals.acquire_slot(lane="letters", count=1) as slot:
        given = redis.pttl(name)
        redis.pexpire(name, 1_000)
        slot.renew()

        assert given <= 8_000 < redis.pttl(name) + 2_000
    assert not redis.exists(name)


left: list[int] = []


def take_long(delivery: messages.LeasedEvent) -> None:
    name = f"{worker_signals.SLOT}:letters:0"
    left.append(client.client().pttl(name))
    client.client().pexpire(name, 1_000)
    leases.finish(delivery)


def test_each_delivery_of_a_slow_lane_renews_the_slot(settings):
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.take_long"}
    left.clear()
    for _ in range(3):
        publish("letter")

    assert worker.drain_slow(lane="letters") == 3
    assert (len(left), min(left) > 6_000) == (3, True)


def test_who_lost_a_slot_leaves_it_to_its_new_worker():
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
    """Of the first, it takes so long that the leases of those that wait behind it end, and another worker comes."""
    sent.append(delivery.id)
    leases.finish(delivery)
    if len(sent) == 1:
        time.sleep(0.03)
        at_once(lambda _number: worker.drain(lane="letters"), [0])


@pytest.fixture
def four_letters(settings):
    settings.OUTGOING_BATCH, settings.OUTGOING_LEASE_SECONDS = 4, 0.01
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.deliver_while_leases_end"}
    sent.clear()
    for _ in range(4):
        publish("letter")


@pytest.mark.usefixtures("four_letters")
def test_what_another_worker_took_over_meanwhile_is_sent_once():
    worker.drain(lane="letters")

    assert sorted(sent) == sorted(Event.objects.values_list("id", flat=True))
    assert not Event.objects.exclude(status="done").exists()


@pytest.mark.usefixtures("four_letters")
def test_control_with_leases_that_are_never_looked_at_again_letters_are_sent_twice(monkeypatch):
    monkeypatch.setattr(leases, "renew", lambda _delivery: None)

    worker.drain(lane="letters")

    assert (len(sent), len(set(sent))) == (7, 4)


@pytest.mark.usefixtures("four_letters")
def test_who_keeps_an_event_has_it_for_a_whole_lease_more(settings):
    [delivery, *_others] = leases.claim(limit=4, lane="letters")
    settings.OUTGOING_LEASE_SECONDS = 60
    leases.renew(delivery)
    time.sleep(0.02)

    assert delivery.id not in {each.id for each in leases.claim(limit=4, lane="letters")}


class Killed(BaseException):
    """What a worker that is killed does: nothing more."""


def kill(delivery: messages.LeasedEvent) -> None:
    raise Killed


def come_back():
    Event.objects.pending().update(due_at=timezone.now())


def test_an_event_that_kills_its_workers_does_not_take_its_neighbours_along(settings):
    settings.EVENT_HANDLERS |= {"a-killer": f"{__name__}.kill"}
    publish("a-killer")
    for _ in range(5):
        publish("scan-like")

    for _ in range(60):
        come_back()
        with suppress(Killed):
            worker.drain()
        if len(delivered) == 5:
            break

    assert len(delivered) == 5
    assert Event.objects.exclude(status="done").get().detail_type == "a-killer"


def fail_with_any_words(delivery: messages.LeasedEvent) -> None:
    message = "they said \x00 and \ud800"
    raise RuntimeError(message)


def test_words_that_postgresql_does_not_take_stop_no_worker(settings):
    settings.EVENT_HANDLERS |= {"a-mess": f"{__name__}.fail_with_any_words"}
    publish("a-mess")
    publish("scan-like")

    assert worker.drain() == 2

    assert delivered == ["scan-like"]
    assert Event.objects.pending().get().last_error == "RuntimeError: they said \N{REPLACEMENT CHARACTER} and ?"
