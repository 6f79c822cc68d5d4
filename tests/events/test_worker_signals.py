"""Workers are called once for many events, and an event is never left without a look."""

import time

import pytest
from django.utils import timezone

from core.redis import client as redis_client
from events import delivery, leases, messages, publishing, worker, worker_signals
from events.models import Event
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = "events"


@pytest.fixture
def redis():
    client = redis_client.client()  # which is the broker too
    client.delete(QUEUE, f"{worker_signals.CALL}:points", f"{worker_signals.HELP}:points")
    worker_signals._quiet_until.clear()
    yield client
    client.delete(QUEUE, f"{worker_signals.CALL}:points", f"{worker_signals.HELP}:points")


@pytest.fixture
def publish(redis):
    brand = factories.brand()
    factories.level(brand)
    customer = factories.customer(brand)

    def one():
        number = Event.objects.count()
        message = messages.NewEvent(
            kind="log-user-login",
            arguments={"brand_id": brand.pk, "user_id": customer.pk},
            payload={"type": "login", "number": number},
        )
        publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    return one


def calls(redis):
    return redis.llen(QUEUE)


def test_many_events_call_once(redis, publish):
    for _ in range(5):
        publish()

    assert calls(redis) == 1


def test_a_worker_at_work_is_not_called_and_delivers_what_comes_meanwhile(redis, publish, monkeypatch):
    publish()
    deliver, seen = delivery.deliver, []

    def slowly(delivery):
        if not seen:
            publish()
        seen.append(delivery)
        deliver(delivery)

    monkeypatch.setattr(delivery, "deliver", slowly)

    assert worker.drain() == 2
    assert calls(redis) == 1


def test_what_comes_between_the_last_look_and_its_end_is_delivered(redis, publish, monkeypatch):
    publish()
    done = worker_signals.done

    def late(**arguments):
        monkeypatch.setattr(worker_signals, "done", done)
        publish()
        done(**arguments)

    monkeypatch.setattr(worker_signals, "done", late)

    assert worker.drain() == 2
    assert not Event.objects.pending().exists()


def test_control_without_the_last_look_it_stays(redis, publish, monkeypatch):
    publish()
    claim = leases.claim
    monkeypatch.setattr(leases, "claim", lambda *, limit, lane: claim(limit=limit, lane=lane) if not wake_ended else [])
    wake_ended = []
    done = worker_signals.done

    def late(**arguments):
        publish()
        done(**arguments)
        wake_ended.append(True)

    monkeypatch.setattr(worker_signals, "done", late)

    worker.drain()

    assert Event.objects.pending().count() == 1
    assert calls(redis) == 1  # the first one's: nobody was called for it


def test_what_comes_within_its_patience_is_delivered_without_a_call(redis, publish, monkeypatch):
    publish()
    slept = []

    def nap(seconds):
        if not slept:
            publish()
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", nap)

    assert worker.drain(patience=0.03) == 2
    assert (calls(redis), slept) == (1, [0.03, 0.03])


@pytest.mark.parametrize(("found", "times"), [(1, 1), (4, 1), (6, 1.5), (13, 3)])
def test_patience_grows_with_what_it_found(redis, publish, monkeypatch, found, times):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for _number in range(found):
        publish()

    worker.drain(patience=0.02)

    assert slept == [pytest.approx(0.02 * times)]


def test_a_worker_that_ends_leaves_the_promise_of_another(redis, publish):
    worker_signals.promise_recheck(lane="points", worker="another")
    worker.drain()
    publish()

    assert calls(redis) == 0


def test_afterwards_a_new_event_calls_again(redis, publish):
    publish()
    worker.drain()
    publish()

    assert calls(redis) == 2


def test_who_has_called_just_now_does_not_even_ask(redis, publish, monkeypatch):
    monkeypatch.setattr(worker_signals, "QUIET_SECONDS", 60)
    publish()
    redis.delete(f"{worker_signals.CALL}:points")  # a worker that was at work has looked, and ends
    publish()

    assert calls(redis) == 1


def test_the_last_look_comes_when_nobody_counts_on_the_call_any_more(redis, publish, monkeypatch):
    """What is published in the moment after the call's end reaches nobody, but is seen."""
    monkeypatch.setattr(worker_signals, "QUIET_SECONDS", 0.2)
    publish()
    slept = []

    def moment(seconds):
        assert not redis.exists(f"{worker_signals.CALL}:points")
        if not slept:
            publish()
        slept.append(seconds)

    monkeypatch.setattr(worker_signals, "sleep", moment)

    assert worker.drain() == 2
    assert calls(redis) == 1
    assert slept == [0.2, 0.2]
    assert not Event.objects.pending().exists()


def test_a_full_portion_calls_for_help(redis, publish, settings):
    settings.EVENT_BATCH = 3
    for _ in range(5):
        publish()

    worker.drain()

    assert calls(redis) == 2


def test_a_worker_that_dies_at_work_keeps_others_waiting_for_a_moment_only(redis, publish):
    publish()
    worker_signals.promise_recheck(lane="points", worker="one")

    assert 0 < redis.pttl(f"{worker_signals.CALL}:points") <= worker_signals.CHECK_LASTS_MS
