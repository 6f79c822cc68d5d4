"""Brands take turns in the slow lanes: one whose receivers are slow keeps no other waiting."""

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
seen: dict[int, list[float]] = {}
at_work: list[int] = []
most_at_work: list[int] = []


def write_letter(delivery: LeasedEvent) -> None:
    at_work.append(delivery.brand_id)
    most_at_work.append(at_work.count(delivery.brand_id))
    if delivery.brand_id in slow:
        time.sleep(SLOW_SECONDS)
    at_work.remove(delivery.brand_id)
    leases.finish(delivery)
    seen.setdefault(delivery.brand_id, []).append(time.monotonic())


@pytest.fixture(autouse=True)
def lane(settings):
    settings.EVENT_HANDLERS = {"letter": f"{__name__}.write_letter"}
    settings.EVENT_LANES = {"letter": LANE}
    handler_of.cache_clear()
    for kept in (slow, seen, at_work, most_at_work):
        kept.clear()
    reset_breakers()
    client.client().delete("outgoing", f"{worker_signals.CALL}:{LANE}")
    yield
    handler_of.cache_clear()


def publish(brand, number=1):
    messages = [NewEvent(kind="letter", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


class Senders:
    """Threads that come whenever they are called, as the sender's do."""

    def __init__(self, number=8):
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._serve) for _ in range(number)]

    def _serve(self):
        try:
            while not self.over.is_set():
                if client.client().lpop("outgoing"):
                    worker.drain_slow(lane=LANE)
                time.sleep(0.01)
        finally:
            connections.close_all()

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def seconds_of_the_other_beside_a_slow_one():
    slow_one, other = factories.brand(), factories.brand(slug="other")
    slow.add(slow_one.pk)
    publish(slow_one, 24)
    with Senders():
        time.sleep(0.3)
        began = time.monotonic()
        publish(other)
        while other.pk not in seen and time.monotonic() - began < 10:
            time.sleep(0.01)
    return time.monotonic() - began if other.pk not in seen else seen[other.pk][0] - began


def test_a_brand_with_slow_receivers_keeps_no_other_waiting():
    assert seconds_of_the_other_beside_a_slow_one() < SLOW_SECONDS
    assert max(most_at_work) == live.OUTGOING_WORKERS - 1


def test_control_without_turns_the_other_waits_for_all_that_came_before(settings):
    settings.FAIR_SHARES = False

    assert seconds_of_the_other_beside_a_slow_one() > 2 * SLOW_SECONDS


def test_a_brand_has_a_part_of_all_lanes_together(settings):
    settings.OUTGOING_PER_BRAND = 2
    brand = factories.brand()
    publish(brand)

    with ExitStack() as acquired:
        for number in range(2):
            acquired.enter_context(worker_signals.acquire_slot(lane=f"brand:{brand.pk}", count=2))
            with turns.turn(lane=LANE, workers=4) as found:
                assert bool(found) is (number == 0)


def test_whoever_keeps_fewest_busy_goes_first():
    first, second = factories.brand(), factories.brand(slug="second")
    for brand in (first, second):
        publish(brand)

    with turns.turn(lane=LANE, workers=4) as one, turns.turn(lane=LANE, workers=4) as other:
        assert {one.brand_id, other.brand_id} == {first.pk, second.pk}


def test_only_what_is_due_has_a_turn():
    brand = factories.brand()
    publish(brand)
    Event.objects.update(due_at=timezone.now() + timedelta(minutes=1))

    with turns.turn(lane=LANE, workers=4) as found:
        assert found is None


def test_a_long_turn_ends_early_and_gives_the_rest_back(monkeypatch):
    brand = factories.brand()
    publish(brand, 4)
    slow.add(brand.pk)
    monkeypatch.setattr(leases, "TURN_SECONDS", 0.1)
    taken = leases.claim_of(brand_id=brand.pk, limit=4, lane=LANE)

    assert delivery.deliver_turn(taken, renew_slots=lambda: None) == 1
    assert sorted(Event.objects.values_list("status", "attempts")) == [("done", 1), *[("pending", 0)] * 3]
    assert len(leases.claim_of(brand_id=brand.pk, limit=4, lane=LANE)) == 3


def test_what_another_took_over_is_not_put_back(monkeypatch):
    brand = factories.brand()
    publish(brand, 2)
    slow.add(brand.pk)
    monkeypatch.setattr(leases, "TURN_SECONDS", 0.1)
    taken = leases.claim_of(brand_id=brand.pk, limit=2, lane=LANE)
    Event.objects.update(attempts=2)

    delivery.deliver_turn(taken, renew_slots=lambda: None)

    assert list(Event.objects.values_list("attempts", flat=True)) == [2, 2]


def test_brands_with_due_events_are_found_along_the_index():
    publish(factories.brand(), 3)
    with transaction.atomic():
        with connection.cursor() as cursor:  # of a few rows statistics may say that any way is as good
            cursor.execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
            )
        statement = turns.FETCH_BRANDS_WITH_DUE.text.replace("%(lane)s", f"'{LANE}'")
        plan = " ".join(line for (line,) in sql.rows(f"EXPLAIN {statement}", {}))

    assert "event_due_of_brand" in plan
