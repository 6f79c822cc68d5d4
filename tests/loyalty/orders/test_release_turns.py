"""Releases serve brands in turns: neither a line that cannot be released nor many of one brand keep others waiting."""

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
MOST = Decimal("999999999999.99")  # what an account's columns hold


def in_days(days):
    return timezone.now() + timedelta(days=days)


@pytest.fixture
def holding():
    """A brand whose orders' points are pending for two weeks, and a member of it."""

    def made():
        brand = factories.brand(order_points=Brand.OrderPoints.AFTER_DAYS, order_points_days=14)
        factories.level(brand)
        factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
        return brand, factories.customer(brand)

    return made


def fill(customer):
    """So many points have been earned that there is no room for one more."""
    UserPoints.objects.filter(user=customer).update(points_earned=MOST, points_redeemed=MOST)


def test_a_line_that_its_account_has_no_room_for_keeps_no_other_waiting(holding, caplog):
    (full_brand, full), (brand, customer) = holding(), holding()
    shop.buy(full_brand, full)
    colleague = factories.customer(full_brand)
    shop.buy(full_brand, colleague, "A-2")
    shop.buy(brand, customer)
    fill(full)

    assert releases.catch_up(at=in_days(15)) == 2

    assert factories.account(customer, brand).points == 10
    assert factories.account(colleague, full_brand).points == 10
    assert "could not be released" in caplog.text


def test_such_a_line_is_tried_again_after_a_while_and_not_at_once(holding, caplog):
    brand, customer = holding()
    shop.buy(brand, customer)
    fill(customer)
    releases.catch_up(at=in_days(15))
    caplog.clear()

    assert releases.catch_up(at=in_days(15)) == 0
    assert not caplog.records
    UserPoints.objects.filter(user=customer).update(points_earned=0, points_redeemed=0)
    assert releases.catch_up(at=in_days(15) + 2 * releases.TRIED_AGAIN_AFTER) == 1
    assert not PendingPoints.objects.filter(remaining__gt=0).exists()


def test_each_brand_has_its_turn_before_the_next_lines_of_any(holding):
    (busy_brand, busy), (brand, customer) = holding(), holding()
    for number in range(3):
        shop.buy(busy_brand, busy, f"A-{number}")
    shop.buy(brand, customer, "B-1")

    due = releases.FETCH_DUE.all(at=in_days(15), limit=2)

    assert {each.account for each in due} == {
        factories.account(busy, busy_brand).pk,
        factories.account(customer, brand).pk,
    }


def test_a_call_ends_with_its_time_and_the_next_goes_on(holding):
    brand, customer = holding()
    for number in range(2):
        shop.buy(brand, customer, f"A-{number}")

    assert [releases.catch_up(at=in_days(15), seconds=0) for _call in range(3)] == [1, 1, 0]
