"""Points of orders that are pending for days or until delivery, then released once or cancelled by a return."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.pending import PendingPoints
from loyalty.orders import releases
from loyalty.points import point_limits
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_percent(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def set_order_points(brand, order_points="after_days", days=14):
    Brand.objects.filter(pk=brand.pk).update(order_points=order_points, order_points_days=days)


def in_days(days):
    return timezone.now() + timedelta(days=days)


def test_order_points_are_pending_for_the_brands_days_and_released_once(brand, customer):
    set_order_points(brand)
    factories.level(brand, "Silver", 10)

    event = shop.buy(brand, customer)

    assert (event.outcome["points_earned"], event.outcome["new_balance"]) == (0, 0)
    assert event.outcome["pending"]["points"] == 10
    assert shop.point_totals(brand, customer) == (0, 10, 0)
    assert (shop.checked_account(brand, customer).lifetime, shop.checked_account(brand, customer).current_level) == (
        0,
        "Bronze",
    )

    assert releases.catch_up(at=in_days(13)) == 0
    assert releases.catch_up(at=in_days(15)) == 1
    assert releases.catch_up(at=in_days(15)) == 0

    assert shop.point_totals(brand, customer) == (10, 0, 0)
    account = shop.checked_account(brand, customer)
    assert (account.lifetime, account.current_level) == (10, "Silver")
    assert [line[0] for line in shop.ledger_entries()] == ["pending", "released"]


def test_delivery_releases_pending_points_once(brand, customer):
    set_order_points(brand, "after_delivery", 0)
    shop.buy(brand, customer)
    assert PendingPoints.objects.get().release_at is None
    assert releases.catch_up(at=in_days(400)) == 0

    first, repeated = shop.deliver(brand, customer), shop.deliver(brand, customer)

    assert (first.outcome["points_released"], repeated.outcome["points_released"]) == (10, 0)
    assert shop.point_totals(brand, customer) == (10, 0, 0)


def test_points_without_a_delivery_are_released_after_the_brands_maximum_days(brand, customer):
    set_order_points(brand, "after_delivery", 30)
    shop.buy(brand, customer)

    assert releases.catch_up(at=in_days(31)) == 1


def test_delivery_that_arrives_before_its_order_waits(brand, customer):
    assert shop.deliver(brand, customer).status == "pending"


def test_return_cancels_pending_points_and_the_remainder_is_released(brand, customer):
    set_order_points(brand)
    shop.buy(brand, customer)

    event = shop.return_order(brand, customer, return_id="R-1", amount="40.00")

    assert (event.outcome["pending_cancelled"], event.outcome["points_reversed"]) == (4, 0)
    assert shop.point_totals(brand, customer) == (0, 6, 0)
    releases.catch_up(at=in_days(15))
    assert shop.point_totals(brand, customer) == (6, 0, 0)
    assert shop.cancel(brand, customer).outcome["points_reversed"] == 6
    assert shop.point_totals(brand, customer) == (0, 0, 0)


def test_released_points_settle_owed_points_first(brand, customer):
    shop.buy(brand, customer, "A-1", subtotal="40.00")
    factories.redemption(customer, factories.reward(brand, cost=4))
    set_order_points(brand)
    shop.buy(brand, customer, "A-2")
    shop.return_order(brand, customer, "A-1")
    assert shop.point_totals(brand, customer) == (0, 10, 4)

    releases.catch_up(at=in_days(15))

    assert shop.point_totals(brand, customer) == (6, 0, 0)


def test_points_of_a_blocked_member_are_not_released(brand, customer):
    set_order_points(brand)
    shop.buy(brand, customer)
    UserPoints.objects.filter(user=customer).update(status="blocked")

    assert releases.catch_up(at=in_days(15)) == 0
    UserPoints.objects.filter(user=customer).update(status="active")
    assert releases.catch_up(at=in_days(15)) == 1


def test_point_limit_counts_points_when_earned_not_when_released(brand, customer):
    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=12)
    set_order_points(brand)
    shop.buy(brand, customer, "A-1")

    second = shop.buy(brand, customer, "A-2")

    assert second.outcome["pending"]["points"] == 2
    releases.catch_up(at=in_days(15))
    limit = point_limits.most_restrictive(
        account=shop.checked_account(brand, customer).pk, zone=brand.zone, daily=12, monthly=None, at=in_days(15)
    )
    assert limit.left == 12


@pytest.mark.parametrize(
    ("order_points", "days"), [("at_once", 3), ("after_days", 0), ("after_days", 366), ("never", 0)]
)
def test_database_rejects_invalid_order_point_settings(brand, order_points, days):
    with pytest.raises(IntegrityError), transaction.atomic():
        set_order_points(brand, order_points, days)
