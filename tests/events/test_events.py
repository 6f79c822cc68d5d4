"""The event bus: stored with what caused it, delivered at least once, finished exactly once."""

import time
import uuid
from datetime import timedelta

import pytest
from django.conf import settings as project
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from core import json_values
from events import delivery, leases, messages, publishing, retention, worker
from events.models import Event
from loyalty.errors import NotEligible
from tests.support import factories

calls = []


def works(delivery):
    calls.append(delivery.event_id)
    leases.finish(delivery, outcome={"fine": True})


def fails(delivery):
    calls.append(delivery.event_id)
    raise RuntimeError("the moon is in the wrong phase")


def hangs_up(delivery):
    """Its statement ends the session that it runs in, as one does that takes all of the server's memory."""
    calls.append(delivery.event_id)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def refuses(delivery):
    raise NotEligible("Not today.")


@pytest.fixture(autouse=True)
def handlers(settings):
    calls.clear()
    own = {name: f"{__name__}.{name}" for name in ("works", "fails", "refuses", "hangs_up")}
    settings.EVENT_HANDLERS = {**project.EVENT_HANDLERS, **own}
    messages.handler_of.cache_clear()
    yield
    messages.handler_of.cache_clear()


def publish(brand, kind, **fields):
    message = messages.NewEvent(kind=kind, arguments={"brand_id": brand.pk}, payload={"n": 1}, **fields)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    return Event.objects.get(event_id=message.event_id)


def test_an_event_is_delivered_and_its_outcome_stored(brand):
    event = publish(brand, "works")

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome, event.attempts) == ("done", {"fine": True}, 1)
    assert event.finished_at is not None


def test_an_event_lives_and_dies_with_its_transaction(brand):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        publish(brand, "works")
        raise ZeroDivisionError

    assert not Event.objects.exists()


def test_a_kind_without_handler_is_ignored_and_never_delivered(brand):
    event = publish(brand, "something-new")

    assert (event.status, worker.drain()) == ("ignored", 0)


def test_an_event_is_stored_as_the_services_own(brand):
    event = publish(brand, "works")

    assert event.source == "service.customer-app"
    assert (event.detail_type, event.account, event.region) == ("works", "000000000000", "local")
    assert event.detail == {"arguments": {"brand_id": brand.pk}, "payload": {"n": 1}}
    assert json_values.iso(event.time)[-5] == "." and json_values.iso(event.time).endswith("Z")


def test_a_refusal_is_final_and_kept_word_for_word(brand):
    event = publish(brand, "refuses")

    worker.drain()

    event.refresh_from_db()
    assert event.status == "refused"
    assert event.outcome == {"error": "NOT_ELIGIBLE", "message": "Not today.", "details": {}}


def test_a_failure_is_tried_again_later(brand):
    event = publish(brand, "fails")

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.attempts) == ("pending", 1)
    assert event.last_error == "RuntimeError: the moon is in the wrong phase"
    assert timedelta(seconds=0.5) < event.due_at - timezone.now() < timedelta(seconds=1.6)


def test_pauses_grow_to_an_hour_and_are_jittered():
    middle = [messages.pause(attempt).total_seconds() for attempt in (1, 2, 3, 6, 13, 500)]

    for seconds, least in zip(middle, [1, 2, 4, 32, 3600, 3600], strict=True):
        assert least <= seconds <= least * 1.5
    assert len({messages.pause(5) for _ in range(5)}) == 5


def test_a_failure_past_the_window_is_death(brand):
    event = publish(brand, "fails")
    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1))

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.last_error[:12]) == ("dead", "RuntimeError")


def test_an_old_event_that_was_never_tried_still_gets_its_chance(brand):
    event = publish(brand, "works")
    Event.objects.update(give_up_at=timezone.now() - timedelta(days=3))

    retention.mark_dead()
    worker.drain()

    event.refresh_from_db()
    assert event.status == "done"


def test_an_event_that_kills_its_workers_is_buried(brand):
    event = publish(brand, "works")
    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1), attempts=retention.CRASHES_ALLOWED)

    assert retention.mark_dead() == 1

    event.refresh_from_db()
    assert event.status == "dead"


def test_a_dead_event_is_delivered_again_on_demand(brand):
    event = publish(brand, "works")
    Event.objects.update(status="dead", attempts=9)

    assert leases.redeliver(event=event, at=timezone.now()) is True
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.attempts) == ("done", 1)
    assert leases.redeliver(event=event, at=timezone.now()) is False


def test_what_one_worker_holds_another_does_not_get(brand):
    publish(brand, "works")

    assert len(leases.claim(limit=5)) == 1
    assert leases.claim(limit=5) == []


def test_a_lease_that_lapsed_gives_the_event_to_the_next_worker(brand):
    publish(brand, "works")
    [first] = leases.claim(limit=5)
    Event.objects.update(due_at=timezone.now() - timedelta(seconds=1))

    [second] = leases.claim(limit=5)

    assert (first.attempts, second.attempts) == (1, 2)
    delivery.deliver(second)
    with pytest.raises(messages.LeaseLostError):
        leases.finish(first, outcome={"late": True})
    assert Event.objects.get().outcome == {"fine": True}


def test_ids_of_following_events_are_the_same_at_each_attempt(brand):
    publish(brand, "works")
    [first] = leases.claim(limit=5)
    Event.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    [second] = leases.claim(limit=5)

    assert first.following_id("notify") == second.following_id("notify")
    assert first.following_id("notify") != first.following_id("balance-changed")


def test_the_same_id_at_another_brand_is_another_event(brand):
    event_id = uuid.uuid4()

    for each in (brand, factories.brand()):
        publish_as = messages.NewEvent(kind="works", arguments={}, payload={}, event_id=event_id)
        publishing.publish(messages=[publish_as], brand_id=each.pk, at=timezone.now())

    assert Event.objects.filter(event_id=event_id).count() == 2


def died_of(event):
    """What a killed process leaves behind: the event is held, begun, and due again when its lease is over."""
    [delivery] = leases.claim(limit=1)
    leases.begin(delivery)
    Event.objects.filter(pk=event.pk).update(due_at=timezone.now())


def test_an_event_of_which_five_processes_died_is_dead(brand):
    event = publish(brand, "works")
    for _ in range(5):
        died_of(event)

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.last_error) == (
        "dead",
        "Given up: 5 attempts ended their process or their connection to the database.",
    )
    assert leases.redeliver(event=event, at=timezone.now())
    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def test_four_deaths_are_forgiven(brand):
    event = publish(brand, "works")
    for _ in range(4):
        died_of(event)

    worker.drain()

    event.refresh_from_db()
    assert event.status == "done"


def test_an_attempt_that_fails_alive_ends_the_row_of_deaths(brand):
    event = publish(brand, "fails")
    for _ in range(3):
        died_of(event)
    worker.drain()
    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)

    for _ in range(4):
        Event.objects.update(due_at=timezone.now())
        died_of(event)
    Event.objects.update(due_at=timezone.now())
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def test_whoever_lost_the_event_to_another_is_not_dead(brand):
    event = publish(brand, "works")
    died_of(event)
    [slow] = leases.claim(limit=1)
    leases.begin(slow)
    Event.objects.update(due_at=timezone.now())
    leases.claim(limit=1)

    delivery.deliver(slow)  # it ends its work too late

    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def attempted_until_the_connection_ended():
    """Deliver what is due, and give back what was held when the connection ended."""
    with pytest.raises(OperationalError):
        worker.drain()
    connection.close()
    leases.keeper.check()


@pytest.mark.django_db(transaction=True)
class TestAHandlerThatEndsItsOwnConnection:
    def test_waits_before_it_is_tried_again(self, brand):
        event = publish(brand, "hangs_up")

        attempted_until_the_connection_ended()

        event.refresh_from_db()
        assert (event.status, event.attempts) == ("pending", 1)
        assert event.last_error == "The connection to the database ended during it."
        assert event.due_at >= event.created_at + timedelta(seconds=1)

    def test_is_dead_after_five_attempts(self, brand):
        event = publish(brand, "hangs_up")
        for _ in range(5):
            Event.objects.update(due_at=timezone.now())
            attempted_until_the_connection_ended()
        Event.objects.update(due_at=timezone.now())

        worker.drain()

        event.refresh_from_db()
        assert (event.status, len(calls)) == ("dead", 5)
        assert event.last_error == "Given up: 5 attempts ended their process or their connection to the database."

    def test_is_nobody_elses_fault(self, brand):
        """What was taken with it is due at once, and counts no crash."""
        culprit, others = publish(brand, "hangs_up"), [publish(brand, "works") for _ in range(3)]
        attempted_until_the_connection_ended()
        worker.drain()

        assert {Event.objects.get(pk=other.pk).status for other in others} == {"done"}
        culprit.refresh_from_db()
        assert (culprit.status, culprit.attempts) == ("pending", 1)


@pytest.mark.django_db(transaction=True)
class TestAHandlerThatNeverReturns:
    def held_and_looked_after(self, brand, settings):
        settings.EVENT_LEASE_SECONDS = 1
        publish(brand, "works")
        taken = leases.claim(limit=1)
        with leases.holding(taken):
            leases.keeper.check()
            time.sleep(1.1)
            return taken, leases.claim(limit=1)

    def test_loses_its_event_to_another_attempt(self, brand, settings, monkeypatch):
        monkeypatch.setattr(leases.keeper, "longest", 0)
        [held], taken_over = self.held_and_looked_after(brand, settings)

        assert [each.attempts for each in taken_over] == [2]
        with pytest.raises(messages.LeaseLostError):
            leases.finish(held)

    def test_control_below_the_bound_it_keeps_its_event(self, brand, settings, monkeypatch):
        monkeypatch.setattr(leases.keeper, "every", 0)
        monkeypatch.setattr(leases, "lease", lambda each: (each.id, each.attempts, 60))
        _held, taken_over = self.held_and_looked_after(brand, settings)

        assert taken_over == []

    def test_ten_minutes_are_the_bound(self):
        assert leases.keeper.longest == 600
