"""One wake-up serves many events, and no event is left without a worker."""

import time

import pytest
from amqp.exceptions import AccessRefused
from django.utils import timezone

from core.redis import client as redis_client
from events import delivery, leases, messages, publishing, worker, worker_signals
from events.models import Event
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = "events"


@pytest.fixture
def redis():
    client = redis_client.client()  # also the broker
    client.delete(QUEUE, f"{worker_signals.CALL}:points", f"{worker_signals.HELP}:points")
    worker_signals._quiet_until.clear()
    yield client
    client.delete(QUEUE, f"{worker_signals.CALL}:points", f"{worker_signals.HELP}:points")


@pytest.fixture
def publish(redis):
    brand = factories.brand()
    factories.level(brand)
    customer = factories.customer(brand)

    def publish_one():
        number = Event.objects.count()
        message = messages.NewEvent(
            kind="log-user-login",
            arguments={"brand_id": brand.pk, "user_id": customer.pk},
            payload={"type": "login", "number": number},
        )
        publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    return publish_one


def queued_wake_ups(redis):
    return redis.llen(QUEUE)


def test_many_events_send_one_wake_up(redis, publish):
    for _ in range(5):
        publish()

    assert queued_wake_ups(redis) == 1


def test_event_is_published_although_the_broker_rejects_the_login(redis, publish, monkeypatch):
    def reject(*_arguments, **_options):
        raise AccessRefused("wrong password")

    monkeypatch.setattr("celery.current_app.send_task", reject)

    publish()

    assert Event.objects.pending().count() == 1


def test_busy_worker_delivers_new_events_without_another_wake_up(redis, publish, monkeypatch):
    publish()
    deliver, seen = delivery.deliver, []

    def publish_and_deliver(delivery):
        if not seen:
            publish()
        seen.append(delivery)
        deliver(delivery)

    monkeypatch.setattr(delivery, "deliver", publish_and_deliver)

    assert worker.drain() == 2
    assert queued_wake_ups(redis) == 1


def test_event_published_after_the_last_claim_is_delivered(redis, publish, monkeypatch):
    publish()
    done = worker_signals.done

    def publish_before_done(**arguments):
        monkeypatch.setattr(worker_signals, "done", done)
        publish()
        done(**arguments)

    monkeypatch.setattr(worker_signals, "done", publish_before_done)

    assert worker.drain() == 2
    assert not Event.objects.pending().exists()


def test_control_without_the_final_check_a_late_event_stays_pending(redis, publish, monkeypatch):
    publish()
    claim = leases.claim
    monkeypatch.setattr(leases, "claim", lambda *, limit, lane: claim(limit=limit, lane=lane) if not wake_ended else [])
    wake_ended = []
    done = worker_signals.done

    def publish_before_done(**arguments):
        publish()
        done(**arguments)
        wake_ended.append(True)

    monkeypatch.setattr(worker_signals, "done", publish_before_done)

    worker.drain()

    assert Event.objects.pending().count() == 1
    assert queued_wake_ups(redis) == 1  # for the first event; the late one sent no wake-up


def test_event_published_within_the_workers_patience_needs_no_wake_up(redis, publish, monkeypatch):
    publish()
    slept = []

    def publish_once(seconds):
        if not slept:
            publish()
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", publish_once)

    assert worker.drain(patience=0.03) == 2
    assert (queued_wake_ups(redis), slept) == (1, [0.03, 0.03])


@pytest.mark.parametrize(("event_count", "factor"), [(1, 1), (4, 1), (6, 1.5), (13, 3)])
def test_patience_grows_with_the_number_of_delivered_events(redis, publish, monkeypatch, event_count, factor):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for _number in range(event_count):
        publish()

    worker.drain(patience=0.02)

    assert slept == [pytest.approx(0.02 * factor)]


def test_ending_worker_leaves_the_promise_of_another_in_place(redis, publish):
    worker_signals.promise_recheck(lane="points", worker="another")
    worker.drain()
    publish()

    assert queued_wake_ups(redis) == 0


def test_new_event_after_a_drain_sends_another_wake_up(redis, publish):
    publish()
    worker.drain()
    publish()

    assert queued_wake_ups(redis) == 2


def test_process_that_has_just_sent_a_wake_up_sends_no_other(redis, publish, monkeypatch):
    monkeypatch.setattr(worker_signals, "QUIET_SECONDS", 60)
    publish()
    redis.delete(f"{worker_signals.CALL}:points")  # a busy worker has checked for events, and ends
    publish()

    assert queued_wake_ups(redis) == 1


def test_final_check_comes_when_no_process_relies_on_the_wake_up(redis, publish, monkeypatch):
    """An event published just after the wake-up has ended wakes no worker, but is delivered."""
    monkeypatch.setattr(worker_signals, "QUIET_SECONDS", 0.2)
    publish()
    slept = []

    def publish_once(seconds):
        assert not redis.exists(f"{worker_signals.CALL}:points")
        if not slept:
            publish()
        slept.append(seconds)

    monkeypatch.setattr(worker_signals, "sleep", publish_once)

    assert worker.drain() == 2
    assert queued_wake_ups(redis) == 1
    assert slept == [0.2, 0.2]
    assert not Event.objects.pending().exists()


def test_full_portion_wakes_another_worker(redis, publish, settings):
    settings.EVENT_BATCH = 3
    for _ in range(5):
        publish()

    worker.drain()

    assert queued_wake_ups(redis) == 2


def test_promise_of_a_crashed_worker_expires_quickly(redis, publish):
    publish()
    worker_signals.promise_recheck(lane="points", worker="one")

    assert 0 < redis.pttl(f"{worker_signals.CALL}:points") <= worker_signals.CHECK_LASTS_MS
