"""Releases of pending points serve brands in turns, so that no failing or busy brand delays the others."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.pending import PendingPoints
from loyalty.orders import releases
from tests.support import factories, shop

pytestmark = pytest.mark.django_db
MAX_POINTS = Decimal("999999999999.99")  # the maximum of an account's columns


def in_days(days):
    return timezone.now() + timedelta(days=days)


@pytest.fixture
def new_brand():
    """Creates a brand whose orders' points are pending for two weeks, and a member of it."""

    def create():
        brand = factories.brand(order_points=Brand.OrderPoints.AFTER_DAYS, order_points_days=14)
        factories.level(brand)
        factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
        return brand, factories.customer(brand)

    return create


def fill_account(customer):
    """Set the customer's earned points to the maximum, so that no more can be credited."""
    UserPoints.objects.filter(user=customer).update(points_earned=MAX_POINTS, points_redeemed=MAX_POINTS)


def test_points_that_cannot_be_released_do_not_delay_other_releases(new_brand, caplog):
    (full_brand, full_customer), (brand, customer) = new_brand(), new_brand()
    shop.buy(full_brand, full_customer)
    other_customer = factories.customer(full_brand)
    shop.buy(full_brand, other_customer, "A-2")
    shop.buy(brand, customer)
    fill_account(full_customer)

    assert releases.catch_up(at=in_days(15)) == 2

    assert factories.account(customer, brand).points == 10
    assert factories.account(other_customer, full_brand).points == 10
    assert "could not be released" in caplog.text


def test_failed_release_is_retried_after_a_pause(new_brand, caplog):
    brand, customer = new_brand()
    shop.buy(brand, customer)
    fill_account(customer)
    releases.catch_up(at=in_days(15))
    caplog.clear()

    assert releases.catch_up(at=in_days(15)) == 0
    assert not caplog.records
    UserPoints.objects.filter(user=customer).update(points_earned=0, points_redeemed=0)
    assert releases.catch_up(at=in_days(15) + 2 * releases.TRIED_AGAIN_AFTER) == 1
    assert not PendingPoints.objects.filter(remaining__gt=0).exists()


def test_due_points_are_fetched_in_turns_of_the_brands(new_brand):
    (busy_brand, busy_customer), (brand, customer) = new_brand(), new_brand()
    for number in range(3):
        shop.buy(busy_brand, busy_customer, f"A-{number}")
    shop.buy(brand, customer, "B-1")

    due = releases.FETCH_DUE.all(at=in_days(15), limit=2)

    assert {pending.account for pending in due} == {
        factories.account(busy_customer, busy_brand).pk,
        factories.account(customer, brand).pk,
    }


def test_run_stops_when_its_time_is_over_and_the_next_run_continues(new_brand):
    brand, customer = new_brand()
    for number in range(2):
        shop.buy(brand, customer, f"A-{number}")

    assert [releases.catch_up(at=in_days(15), seconds=0) for _call in range(3)] == [1, 1, 0]
