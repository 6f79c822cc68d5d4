"""Daily and monthly point limits in the brand's time zone."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import transaction

from loyalty.points import ledger, point_limits
from tests.support import factories


@pytest.fixture
def account(brand, customer):
    return factories.account(customer, brand)


def earn(account, points, at):
    ledger.credit(account=account.pk, points=Decimal(points), reason_id=str(at), note="", at=at)


def most_restrictive(account, zone, at, daily=None, monthly=None):
    brand = factories.brand(time_zone=zone)
    with transaction.atomic():
        return point_limits.most_restrictive(account=account.pk, zone=brand.zone, daily=daily, monthly=monthly, at=at)


def test_most_restrictive_is_none_without_limits(account):
    assert most_restrictive(account, "UTC", datetime(2026, 5, 1, tzinfo=UTC)) is None


def test_daily_limit_counts_points_since_midnight_in_the_zone(account):
    earn(account, 7, datetime(2026, 5, 1, 18, 0, tzinfo=UTC))  # 23:30 in Kolkata
    earn(account, 5, datetime(2026, 5, 1, 19, 0, tzinfo=UTC))  # 00:30 on the 2nd

    limit = most_restrictive(account, "Asia/Kolkata", datetime(2026, 5, 1, 20, 0, tzinfo=UTC), daily=Decimal(20))

    assert (limit.period, limit.used, limit.left) == ("day", 5, 15)
    assert limit.resets_at == datetime(2026, 5, 2, 18, 30, tzinfo=UTC)


@pytest.mark.parametrize("reason_id", ["adjust:1", "milestone:1", "redeem-undo:1"])
def test_points_that_are_not_limited_do_not_use_the_limit(account, reason_id):
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    earn(account, 7, noon)
    ledger.credit(account=account.pk, points=Decimal(500), reason_id=reason_id, note="", at=noon)

    assert most_restrictive(account, "UTC", noon, daily=Decimal(20), monthly=Decimal(300)).used == 7


def test_limit_with_the_fewest_remaining_points_is_returned(account):
    earn(account, 30, datetime(2026, 5, 1, 12, tzinfo=UTC))

    limit = most_restrictive(
        account, "UTC", datetime(2026, 5, 31, 12, tzinfo=UTC), daily=Decimal(20), monthly=Decimal(40)
    )

    assert (limit.period, limit.left, limit.resets_at) == ("month", 10, datetime(2026, 6, 1, tzinfo=UTC))


def test_limit_lowered_below_the_used_points_leaves_nothing(account):
    earn(account, 30, datetime(2026, 5, 1, 12, tzinfo=UTC))

    limit = most_restrictive(account, "UTC", datetime(2026, 5, 1, 13, tzinfo=UTC), daily=Decimal(20))

    assert limit.left == 0


@pytest.mark.parametrize(
    ("now", "resets_at"),
    [
        (datetime(2026, 3, 29, 12, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)),
        (datetime(2026, 10, 25, 12, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC)),
    ],
)
def test_days_of_23_and_25_hours_reset_at_local_midnight(account, now, resets_at):
    assert most_restrictive(account, "Europe/Berlin", now, daily=Decimal(1)).resets_at == resets_at
