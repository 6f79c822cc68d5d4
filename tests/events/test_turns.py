"""Brands alternate in the slow lanes: a brand with slow receivers does not delay the others."""

import threading
import time
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.conf import settings as live
from django.db import connection, connections, transaction
from django.utils import timezone

from core.db import sql
from core.redis import client
from events import delivery, leases, publishing, turns, worker, worker_signals
from events.messages import LeasedEvent, NewEvent, handler_of
from events.models import Event
from tests.support import factories
from tests.support.fakes.fake_http import reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)

SLOW_SECONDS = 0.4
LANE = "letters"
slow: set[int] = set()
delivered_at: dict[int, list[float]] = {}
running: list[int] = []
concurrent_counts: list[int] = []


def write_letter(delivery: LeasedEvent) -> None:
    running.append(delivery.brand_id)
    concurrent_counts.append(running.count(delivery.brand_id))
    if delivery.brand_id in slow:
        time.sleep(SLOW_SECONDS)
    running.remove(delivery.brand_id)
    leases.finish(delivery)
    delivered_at.setdefault(delivery.brand_id, []).append(time.monotonic())


@pytest.fixture(autouse=True)
def lane(settings):
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.write_letter"}
    settings.EVENT_LANES = {"letter": LANE}
    handler_of.cache_clear()
    for collection in (slow, delivered_at, running, concurrent_counts):
        collection.clear()
    reset_breakers()
    client.client().delete("outgoing", f"{worker_signals.CALL}:{LANE}")
    yield
    handler_of.cache_clear()


def publish(brand, number=1):
    messages = [NewEvent(kind="letter", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


class Senders:
    """Threads that deliver whenever they are woken, as the workers of slow lanes do."""

    def __init__(self, number=8):
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._serve) for _ in range(number)]

    def _serve(self):
        try:
            while not self.stopping.is_set():
                if client.client().lpop("outgoing"):
                    worker.drain_slow(lane=LANE)
                time.sleep(0.01)
        finally:
            connections.close_all()

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def delay_of_another_brand():
    slow_brand, other = factories.brand(), factories.brand(slug="other")
    slow.add(slow_brand.pk)
    publish(slow_brand, 24)
    with Senders():
        time.sleep(0.3)
        published_at = time.monotonic()
        publish(other)
        while other.pk not in delivered_at and time.monotonic() - published_at < 10:
            time.sleep(0.01)
    return time.monotonic() - published_at if other.pk not in delivered_at else delivered_at[other.pk][0] - published_at


def test_brand_with_slow_receivers_does_not_delay_another():
    assert delay_of_another_brand() < SLOW_SECONDS
    assert max(concurrent_counts) == live.OUTGOING_WORKERS - 1


def test_control_without_turns_another_brand_waits_for_all_earlier_events(settings):
    settings.FAIR_SHARES = False

    assert delay_of_another_brand() > 2 * SLOW_SECONDS


def test_brand_has_a_limited_number_of_slots_across_all_lanes(settings):
    settings.OUTGOING_PER_BRAND = 2
    brand = factories.brand()
    publish(brand)

    with ExitStack() as acquired:
        for number in range(2):
            acquired.enter_context(worker_signals.acquire_slot(lane=f"brand:{brand.pk}", count=2))
            with turns.turn(lane=LANE, workers=4) as turn:
                assert bool(turn) is (number == 0)


def test_brand_with_the_fewest_busy_workers_comes_first():
    first, second = factories.brand(), factories.brand(slug="second")
    for brand in (first, second):
        publish(brand)

    with turns.turn(lane=LANE, workers=4) as turn, turns.turn(lane=LANE, workers=4) as next_turn:
        assert {turn.brand_id, next_turn.brand_id} == {first.pk, second.pk}


def test_brand_without_due_events_gets_no_turn():
    brand = factories.brand()
    publish(brand)
    Event.objects.update(due_at=timezone.now() + timedelta(minutes=1))

    with turns.turn(lane=LANE, workers=4) as turn:
        assert turn is None


def test_long_turn_ends_early_and_releases_its_remaining_events(monkeypatch):
    brand = factories.brand()
    publish(brand, 4)
    slow.add(brand.pk)
    monkeypatch.setattr(leases, "TURN_SECONDS", 0.1)
    leased = leases.claim_of(brand_id=brand.pk, limit=4, lane=LANE)

    assert delivery.deliver_turn(leased, renew_slots=lambda: None) == 1
    assert sorted(Event.objects.values_list("status", "attempts")) == [("done", 1), *[("pending", 0)] * 3]
    assert len(leases.claim_of(brand_id=brand.pk, limit=4, lane=LANE)) == 3


def test_events_taken_over_by_another_worker_are_not_released(monkeypatch):
    brand = factories.brand()
    publish(brand, 2)
    slow.add(brand.pk)
    monkeypatch.setattr(leases, "TURN_SECONDS", 0.1)
    leased = leases.claim_of(brand_id=brand.pk, limit=2, lane=LANE)
    Event.objects.update(attempts=2)

    delivery.deliver_turn(leased, renew_slots=lambda: None)

    assert list(Event.objects.values_list("attempts", flat=True)) == [2, 2]


def test_brands_with_due_events_are_read_from_an_index():
    publish(factories.brand(), 3)
    with transaction.atomic():
        with connection.cursor() as cursor:  # with so few rows the planner may prefer any other plan
            cursor.execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
            )
        statement = turns.FETCH_BRANDS_WITH_DUE.text.replace("%(lane)s", f"'{LANE}'")
        plan = " ".join(line for (line,) in sql.rows(f"EXPLAIN {statement}", {}))

    assert "event_due_of_brand" in plan
