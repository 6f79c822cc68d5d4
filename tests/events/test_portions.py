"""A brand with thousands of due events delays other brands' events by one portion, not by all of them."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from events import leases, portions, publishing, worker
from events.messages import LeasedEvent, NewEvent, handler_of
from events.models import Event
from events.portions import Portions
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)
BATCH = 4
delivered: list[int] = []


def note(delivery: LeasedEvent) -> None:
    leases.finish(delivery)
    delivered.append(delivery.brand_id)


@pytest.fixture(autouse=True)
def kind(settings):
    settings.EVENT_HANDLERS = {"noted": f"{__name__}.note"}
    settings.EVENT_LANES = {}
    settings.EVENT_BATCH = BATCH
    handler_of.cache_clear()
    delivered.clear()
    yield
    handler_of.cache_clear()


@pytest.fixture
def other_brands(brand):
    return [factories.brand() for _number in range(2)]


def publish(brand, number):
    messages = [NewEvent(kind="noted", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


def test_events_of_other_brands_follow_one_portion_of_a_brand(brand, other_brands):
    publish(brand, 6 * BATCH)
    for other in other_brands:
        publish(other, 1)

    assert worker.drain() == 6 * BATCH + 2
    assert delivered == [brand.pk] * BATCH + [other.pk for other in other_brands] + [brand.pk] * 5 * BATCH


def test_two_busy_brands_alternate_and_do_not_delay_a_third(brand, other_brands):
    busy, other = other_brands
    for each in (brand, busy):
        publish(each, 3 * BATCH)
    publish(other, 1)

    worker.drain()

    turn = [brand.pk] * BATCH + [busy.pk] * BATCH
    assert delivered == turn + [other.pk] + turn * 2


def test_short_portion_is_followed_at_once_by_the_brand_it_skipped(brand, other_brands, monkeypatch):
    slept = []
    monkeypatch.setattr(worker.time, "sleep", slept.append)
    publish(brand, 2 * BATCH)
    publish(other_brands[0], 1)

    worker.drain(patience=9)

    assert delivered == [brand.pk] * BATCH + [other_brands[0].pk] + [brand.pk] * BATCH
    assert slept == []


def test_each_busy_brand_delays_a_new_brand_by_at_most_one_portion(brand):
    busy = [brand, *(factories.brand() for _number in range(4))]
    for _number in range(5 * BATCH):
        for each in busy:
            publish(each, 1)
    new = factories.brand()
    publish(new, 1)

    worker.drain()

    assert delivered.index(new.pk) < len(busy) * BATCH
    assert len(delivered) == 5 * BATCH * len(busy) + 1


def test_occasional_events_of_one_brand_do_not_hold_back_a_busy_one(brand, other_brands):
    publish(brand, 4 * BATCH)
    claimer = Portions(lane="points", limit=BATCH)
    portions_taken = 0

    while Event.objects.filter(brand=brand, attempts=0).exists():
        publish(other_brands[0], 1)
        claimer.claim()
        portions_taken += 1

    assert portions_taken <= 10


def test_control_without_fair_shares_other_brands_wait_for_all_events(brand, other_brands, settings):
    settings.FAIR_SHARES = False
    publish(brand, 6 * BATCH)
    publish(other_brands[0], 1)

    worker.drain()

    assert delivered == [brand.pk] * 6 * BATCH + [other_brands[0].pk]


def test_searches_for_other_brands_are_rare_when_only_one_has_events(brand, monkeypatch):
    """Unsuccessful searches take at most a fiftieth of the time, however many events they skip."""
    now, searches = [0.0], []

    def search(**_arguments):
        searches.append(now[0])
        now[0] += 0.01
        return []

    monkeypatch.setattr(portions, "CLOCK", lambda: now[0])
    monkeypatch.setattr(leases, "claim_of_other_brands", search)
    publish(brand, 40 * BATCH)
    claimer = Portions(lane="points", limit=BATCH)

    for _number in range(20):
        assert len(claimer.claim()) == BATCH
        now[0] += 0.1

    assert len(searches) == 4
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(searches))


def test_order_of_a_brands_events_is_preserved(brand, other_brands):
    publish(brand, 3 * BATCH)
    publish(other_brands[0], 2)
    for number, pk in enumerate(Event.objects.order_by("pk").values_list("pk", flat=True)):  # each at its own moment
        Event.objects.filter(pk=pk).update(due_at=timezone.now() - timedelta(minutes=1, microseconds=-number))
    order = []

    claimer = Portions(lane="points", limit=BATCH)
    while portion := claimer.claim():
        order += [each.id for each in portion if each.brand_id == brand.pk]

    assert order == sorted(Event.objects.filter(brand=brand).values_list("pk", flat=True))
