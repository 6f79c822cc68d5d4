"""A brand has at most MAX_SEGMENTS segments, also when two are added at once; previews work at the limit."""

from threading import Barrier

import pytest

from campaigns.earning import segment_references
from campaigns.segments import limit
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from loyalty.models.programme.segments import Segment
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_concurrently_behind_lock
from tests.support.portal import browser, staff

SEGMENTS = "/admin/loyalty/segment/"


@pytest.fixture
def limit_of_one(monkeypatch):
    monkeypatch.setattr(limit, "MAX_SEGMENTS", 1)


def form_data(brand, name="Everyone"):
    return {"brand": brand.pk, "name": name, "conditions": "{}"}


@pytest.mark.usefixtures("limit_of_one")
def test_preview_works_for_a_brand_at_the_limit(db):
    brand = factories.brand()
    factories.customer(brand)
    factories.segment(brand)

    answer = browser(staff(brand)).post(f"{SEGMENTS}read/", form_data(brand)).json()

    assert (answer["notes"], answer["count"]) == ([], "1 member")


@pytest.mark.usefixtures("limit_of_one")
def test_segment_at_the_limit_can_be_changed(db):
    brand = factories.brand()
    segment = factories.segment(brand)

    response = browser(staff(brand)).post(f"{SEGMENTS}{segment.pk}/change/", form_data(brand, "All members"))

    assert (response.status_code, Segment.objects.get().name) == (302, "All members")


def add_two(brand, *, at_the_same_time):
    client = browser(staff(brand))

    def add(name):
        return client.post(f"{SEGMENTS}add/", form_data(brand, name)).status_code

    return at_the_same_time(add, ["First", "Second"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("limit_of_one")
def test_two_segments_added_at_once_do_not_exceed_the_limit():
    brand = factories.brand()
    lock = (LOCK_PAIR, [LockOfRow.SEGMENT_REFERENCES.value, brand.pk])

    statuses = add_two(brand, at_the_same_time=lambda work, items: run_concurrently_behind_lock(*lock, work, items))

    assert (sorted(statuses), Segment.objects.count()) == ([200, 302], 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("limit_of_one")
def test_control_without_the_lock_two_segments_exceed_the_limit(monkeypatch):
    brand = factories.brand()
    check = limit.check

    def check_then_wait(brand_id):
        check(brand_id)
        both_checked.wait(10)

    both_checked = Barrier(2)
    monkeypatch.setattr(segment_references, "lock_references", lambda _brand_id: None)
    monkeypatch.setattr(limit, "check", check_then_wait)

    statuses = add_two(brand, at_the_same_time=lambda work, items: run_concurrently(work, items, threads=2))

    assert (statuses, Segment.objects.count()) == ([302, 302], 2)
