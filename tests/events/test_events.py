"""The event bus: events are stored with their cause, delivered at least once and finished exactly once."""

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
    """Run a statement that ends its own database session, like one that exhausts the server's memory."""
    calls.append(delivery.event_id)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def rejects(delivery):
    raise NotEligible("Not today.")


@pytest.fixture(autouse=True)
def handlers(settings):
    calls.clear()
    paths = {name: f"{__name__}.{name}" for name in ("works", "fails", "rejects", "hangs_up")}
    settings.EVENT_HANDLERS = {**project.EVENT_HANDLERS, **paths}
    messages.handler_of.cache_clear()
    yield
    messages.handler_of.cache_clear()


def publish(brand, kind, **fields):
    message = messages.NewEvent(kind=kind, arguments={"brand_id": brand.pk}, payload={"n": 1}, **fields)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    return Event.objects.get(event_id=message.event_id)


def test_event_is_delivered_and_its_outcome_stored(brand):
    event = publish(brand, "works")

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.outcome, event.attempts) == ("done", {"fine": True}, 1)
    assert event.finished_at is not None


def test_event_is_rolled_back_with_its_transaction(brand):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        publish(brand, "works")
        raise ZeroDivisionError

    assert not Event.objects.exists()


def test_kind_without_handler_is_ignored_and_never_delivered(brand):
    event = publish(brand, "something-new")

    assert (event.status, worker.drain()) == ("ignored", 0)


def test_published_event_has_the_envelope_of_the_service(brand):
    event = publish(brand, "works")

    assert event.source == "service.customer-app"
    assert (event.detail_type, event.account, event.region) == ("works", "000000000000", "local")
    assert event.detail == {"arguments": {"brand_id": brand.pk}, "payload": {"n": 1}}
    assert json_values.iso(event.time)[-5] == "." and json_values.iso(event.time).endswith("Z")


def test_domain_error_is_final_and_stored_as_the_outcome(brand):
    event = publish(brand, "rejects")

    worker.drain()

    event.refresh_from_db()
    assert event.status == "refused"
    assert event.outcome == {"error": "NOT_ELIGIBLE", "message": "Not today.", "details": {}}


def test_failed_event_is_retried_later(brand):
    event = publish(brand, "fails")

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.attempts) == ("pending", 1)
    assert event.last_error == "RuntimeError: the moon is in the wrong phase"
    assert timedelta(seconds=0.5) < event.due_at - timezone.now() < timedelta(seconds=1.6)


def test_retry_pauses_grow_to_an_hour_with_jitter():
    pauses = [messages.pause(attempt).total_seconds() for attempt in (1, 2, 3, 6, 13, 500)]

    for seconds, minimum in zip(pauses, [1, 2, 4, 32, 3600, 3600], strict=True):
        assert minimum <= seconds <= minimum * 1.5
    assert len({messages.pause(5) for _ in range(5)}) == 5


def test_event_that_fails_after_its_retry_period_is_dead(brand):
    event = publish(brand, "fails")
    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1))

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.last_error[:12]) == ("dead", "RuntimeError")


def test_old_event_without_an_attempt_is_still_delivered(brand):
    event = publish(brand, "works")
    Event.objects.update(give_up_at=timezone.now() - timedelta(days=3))

    retention.mark_dead()
    worker.drain()

    event.refresh_from_db()
    assert event.status == "done"


def test_overdue_event_with_too_many_attempts_is_marked_dead(brand):
    event = publish(brand, "works")
    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1), attempts=retention.CRASHES_ALLOWED)

    assert retention.mark_dead() == 1

    event.refresh_from_db()
    assert event.status == "dead"


def test_dead_event_can_be_redelivered(brand):
    event = publish(brand, "works")
    Event.objects.update(status="dead", attempts=9)

    assert leases.redeliver(event=event, at=timezone.now()) is True
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.attempts) == ("done", 1)
    assert leases.redeliver(event=event, at=timezone.now()) is False


def test_leased_event_is_not_claimed_by_another_worker(brand):
    publish(brand, "works")

    assert len(leases.claim(limit=5)) == 1
    assert leases.claim(limit=5) == []


def test_event_with_an_expired_lease_goes_to_the_next_worker(brand):
    publish(brand, "works")
    [first] = leases.claim(limit=5)
    Event.objects.update(due_at=timezone.now() - timedelta(seconds=1))

    [second] = leases.claim(limit=5)

    assert (first.attempts, second.attempts) == (1, 2)
    delivery.deliver(second)
    with pytest.raises(messages.LeaseLostError):
        leases.finish(first, outcome={"late": True})
    assert Event.objects.get().outcome == {"fine": True}


def test_following_events_have_the_same_ids_at_each_attempt(brand):
    publish(brand, "works")
    [first] = leases.claim(limit=5)
    Event.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    [second] = leases.claim(limit=5)

    assert first.following_id("notify") == second.following_id("notify")
    assert first.following_id("notify") != first.following_id("balance-changed")


def test_same_event_id_at_another_brand_is_another_event(brand):
    event_id = uuid.uuid4()

    for each in (brand, factories.brand()):
        message = messages.NewEvent(kind="works", arguments={}, payload={}, event_id=event_id)
        publishing.publish(messages=[message], brand_id=each.pk, at=timezone.now())

    assert Event.objects.filter(event_id=event_id).count() == 2


def crash_during(event):
    """Leave the event as a killed process does: leased, begun, and due again once its lease has ended."""
    [delivery] = leases.claim(limit=1)
    leases.begin(delivery)
    Event.objects.filter(pk=event.pk).update(due_at=timezone.now())


def test_event_is_dead_after_five_crashes(brand):
    event = publish(brand, "works")
    for _ in range(5):
        crash_during(event)

    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.last_error) == (
        "dead",
        "Given up: 5 attempts ended their process or their connection to the database.",
    )
    assert leases.redeliver(event=event, at=timezone.now())
    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def test_event_is_still_delivered_after_four_crashes(brand):
    event = publish(brand, "works")
    for _ in range(4):
        crash_during(event)

    worker.drain()

    event.refresh_from_db()
    assert event.status == "done"


def test_attempt_that_fails_without_crashing_resets_the_crash_count(brand):
    event = publish(brand, "fails")
    for _ in range(3):
        crash_during(event)
    worker.drain()
    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)

    for _ in range(4):
        Event.objects.update(due_at=timezone.now())
        crash_during(event)
    Event.objects.update(due_at=timezone.now())
    worker.drain()

    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def test_attempt_that_lost_its_lease_counts_no_crash(brand):
    event = publish(brand, "works")
    crash_during(event)
    [slow] = leases.claim(limit=1)
    leases.begin(slow)
    Event.objects.update(due_at=timezone.now())
    leases.claim(limit=1)

    delivery.deliver(slow)  # its work ends too late

    event.refresh_from_db()
    assert (event.status, event.crashes) == ("pending", 0)


def drain_until_connection_ends():
    """Deliver the due events, and return those still leased when the connection ends."""
    with pytest.raises(OperationalError):
        worker.drain()
    connection.close()
    leases.keeper.check()


@pytest.mark.django_db(transaction=True)
class TestHandlerThatEndsItsDatabaseConnection:
    def test_event_waits_before_its_next_attempt(self, brand):
        event = publish(brand, "hangs_up")

        drain_until_connection_ends()

        event.refresh_from_db()
        assert (event.status, event.attempts) == ("pending", 1)
        assert event.last_error == "The connection to the database ended during it."
        assert event.due_at >= event.created_at + timedelta(seconds=1)

    def test_event_is_dead_after_five_attempts(self, brand):
        event = publish(brand, "hangs_up")
        for _ in range(5):
            Event.objects.update(due_at=timezone.now())
            drain_until_connection_ends()
        Event.objects.update(due_at=timezone.now())

        worker.drain()

        event.refresh_from_db()
        assert (event.status, len(calls)) == ("dead", 5)
        assert event.last_error == "Given up: 5 attempts ended their process or their connection to the database."

    def test_events_of_the_same_portion_are_delivered(self, brand):
        """Events leased together with it are due at once and count no crash."""
        culprit, innocent = publish(brand, "hangs_up"), [publish(brand, "works") for _ in range(3)]
        drain_until_connection_ends()
        worker.drain()

        assert {Event.objects.get(pk=each.pk).status for each in innocent} == {"done"}
        culprit.refresh_from_db()
        assert (culprit.status, culprit.attempts) == ("pending", 1)


@pytest.mark.django_db(transaction=True)
class TestHandlerThatNeverReturns:
    def claim_during_a_long_attempt(self, brand, settings):
        settings.EVENT_LEASE_SECONDS = 1
        publish(brand, "works")
        leased = leases.claim(limit=1)
        with leases.holding(leased):
            leases.keeper.check()
            time.sleep(1.1)
            return leased, leases.claim(limit=1)

    def test_loses_its_lease_to_another_attempt(self, brand, settings, monkeypatch):
        monkeypatch.setattr(leases.keeper, "longest", 0)
        [stuck], taken_over = self.claim_during_a_long_attempt(brand, settings)

        assert [each.attempts for each in taken_over] == [2]
        with pytest.raises(messages.LeaseLostError):
            leases.finish(stuck)

    def test_control_below_the_time_limit_its_lease_is_renewed(self, brand, settings, monkeypatch):
        monkeypatch.setattr(leases.keeper, "every", 0)
        monkeypatch.setattr(leases, "lease", lambda each: (each.id, each.attempts, 60))
        _stuck, taken_over = self.claim_during_a_long_attempt(brand, settings)

        assert taken_over == []

    def test_time_limit_is_ten_minutes(self):
        assert leases.keeper.longest == 600
