"""A brand with thousands of due events delays the events of others by one portion, not by all of them."""

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

    turn = [brand.pk] * BATCH + [busy.pk] * BATCH
    assert delivered == turn + [other.pk] + turn * 2


def test_a_short_portion_for_which_a_brand_was_passed_over_is_followed_at_once(brand, others, monkeypatch):
    slept = []
    monkeypatch.setattr(worker.time, "sleep", slept.append)
    publish(brand, 2 * BATCH)
    publish(others[0], 1)

    worker.drain(patience=9)

    assert delivered == [brand.pk] * BATCH + [others[0].pk] + [brand.pk] * BATCH
    assert slept == []


def test_many_brands_with_much_delay_a_new_one_by_one_portion_each_at_most(brand):
    busy = [brand, *(factories.brand() for _number in range(4))]
    for _number in range(5 * BATCH):
        for each in busy:
            publish(each, 1)
    new = factories.brand()
    publish(new, 1)

    worker.drain()

    assert delivered.index(new.pk) < len(busy) * BATCH
    assert len(delivered) == 5 * BATCH * len(busy) + 1


def test_a_few_events_now_and_then_keep_a_brand_with_many_from_nothing(brand, others):
    publish(brand, 4 * BATCH)
    taken = Portions(lane="points", limit=BATCH)
    portions_taken = 0

    while Event.objects.filter(brand=brand, attempts=0).exists():
        publish(others[0], 1)
        taken.claim()
        portions_taken += 1

    assert portions_taken <= 10


def test_control_without_shares_the_others_wait_for_all_of_it(brand, others, settings):
    settings.FAIR_SHARES = False
    publish(brand, 6 * BATCH)
    publish(others[0], 1)

    worker.drain()

    assert delivered == [brand.pk] * 6 * BATCH + [others[0].pk]


def test_a_brand_alone_is_not_looked_past_all_the_time(brand, monkeypatch):
    """Searches that find nothing take at most a fiftieth of the time, however many events they read past."""
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
