"""Work over all brands: each has its turn, a failing one is skipped, and a call ends when its time is up."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError

from brands.models.tenants import Brand
from brands.tenants.turns import in_turns
from tests.support import factories

pytestmark = pytest.mark.django_db
FAILURE = "the work of the brand %s failed"


def test_busy_brand_does_not_delay_another() -> None:
    busy, other = factories.brand(), factories.brand()
    done: list[Brand] = []

    def portions_of(brand: Brand) -> Iterator[int]:
        for _ in range(5 if brand == busy else 2):
            done.append(brand)
            yield 1

    assert in_turns(Brand.objects.all(), portions_of, failure=FAILURE) == 7
    assert [set(done[:2]), set(done[2:4])] == [{busy, other}, {busy, other}]
    assert done[4:] == [busy] * 3


def test_brand_whose_work_fails_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    broken, other = factories.brand(), factories.brand()

    def portions_of(brand: Brand) -> Iterator[int]:
        yield 1
        if brand == broken:
            message = "no room"
            raise ArithmeticError(message)
        yield 1

    assert in_turns(Brand.objects.all(), portions_of, failure=FAILURE) == 3
    assert FAILURE % broken.slug in caplog.text
    assert FAILURE % other.slug not in caplog.text


def test_database_outage_ends_the_call() -> None:
    factories.brand()

    def portions_of(_brand: Brand) -> Iterator[int]:
        yield 1
        message = "the connection is lost"
        raise OperationalError(message)

    with pytest.raises(OperationalError):
        in_turns(Brand.objects.all(), portions_of, failure=FAILURE)


def test_call_ends_when_its_time_is_up() -> None:
    factories.brand()

    def portions_of(_brand: Brand) -> Iterator[int]:
        while True:
            yield 1

    assert in_turns(Brand.objects.all(), portions_of, failure=FAILURE, seconds=0) == 1


def test_each_brand_comes_first_in_some_calls() -> None:
    brands = [factories.brand() for _ in range(3)]
    first: list[Brand] = []

    def portions_of(brand: Brand) -> Iterator[int]:
        first.append(brand)
        yield 1

    for _ in range(60):
        in_turns(Brand.objects.all(), portions_of, failure=FAILURE, seconds=0)
    assert set(first) == set(brands)
