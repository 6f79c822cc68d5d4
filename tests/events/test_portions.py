"""A brand with thousands of events that are due delays those of others by a portion of its own, not by all of them."""

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
def others(brand):
    return [factories.brand() for _number in range(2)]


def publish(brand, number):
    messages = [NewEvent(kind="noted", arguments={}, payload={}) for _ in range(number)]
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())


def test_after_a_portion_of_one_brand_those_of_others_come_next(brand, others):
    publish(brand, 6 * BATCH)
    for other in others:
        publish(other, 1)

    assert worker.drain() == 6 * BATCH + 2
    assert delivered == [brand.pk] * BATCH + [other.pk for other in others] + [brand.pk] * 5 * BATCH


def test_two_brands_with_much_take_turns_and_keep_no_third_waiting(brand, others):
    busy, other = others
    for each in (brand, busy):
        publish(each, 3 * BATCH)
    publish(other, 1)

    worker.drain()

    assert delivered[: 2 * BATCH + 1] == [brand.pk] * BATCH + [busy.pk] * BATCH + [other.pk]
    assert delivered.count(busy.pk) == delivered.count(brand.pk) == 3 * BATCH


def test_control_without_shares_the_others_wait_for_all_of_it(brand, others, settings):
    settings.FAIR_SHARES = False
    publish(brand, 6 * BATCH)
    publish(others[0], 1)

    worker.drain()

    assert delivered == [brand.pk] * 6 * BATCH + [others[0].pk]


def test_a_brand_alone_is_not_looked_past_all_the_time(brand, monkeypatch):
    """Looking for others takes a fiftieth of the time at most, however much there is to read past."""
    now, searches = [0.0], []

    def search(**_arguments):
        searches.append(now[0])
        now[0] += 0.01
        return []

    monkeypatch.setattr(portions, "CLOCK", lambda: now[0])
    monkeypatch.setattr(leases, "claim_of_other_brands", search)
    publish(brand, 40 * BATCH)
    taken = Portions(lane="points", limit=BATCH)

    for _number in range(20):
        assert len(taken.claim()) == BATCH
        now[0] += 0.1

    assert len(searches) == 4
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(searches))


def test_order_within_a_brand_stays(brand, others):
    publish(brand, 3 * BATCH)
    publish(others[0], 2)
    order = []

    taken = Portions(lane="points", limit=BATCH)
    while portion := taken.claim():
        order += [each.id for each in portion if each.brand_id == brand.pk]

    assert order == sorted(Event.objects.filter(brand=brand).values_list("pk", flat=True))
