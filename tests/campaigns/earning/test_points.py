"""The four rules of a scan's points, in their order."""

from decimal import Decimal

import pytest

from campaigns.earning import points


def scan_points(override=None, kind=None, value=None, price=None, ceiling=10**9):
    return points.for_scan(
        redeem_point_value=override,
        reward_type=kind,
        reward_value=None if value is None else Decimal(value),
        retail_price=None if price is None else Decimal(price),
        ceiling=ceiling,
    )


def test_override_takes_precedence():
    assert scan_points(override=50, kind="points", value="10", price="99") == 50


@pytest.mark.parametrize("override", [None, 0])
def test_level_decides_without_an_override(override):
    assert scan_points(override=override, kind="points", value="10") == 10


def test_fixed_points_are_not_rounded():
    assert scan_points(kind="points", value="2.5") == Decimal("2.5")


@pytest.mark.parametrize(
    ("price", "percent", "expected"),
    [("25", "10", 3), ("24.99", "10", 2), ("5", "10", 1), ("4.99", "10", 0), ("0.5", "100", 1), ("1000", "0.05", 1)],
)
def test_a_percentage_rounds_halves_up(price, percent, expected):
    assert scan_points(kind="percentage", value=percent, price=price) == expected


@pytest.mark.parametrize("case", [{}, {"kind": "percentage", "value": "10"}, {"kind": "stars", "value": "3"}])
def test_scan_is_worth_one_point_by_default(case):
    assert scan_points(**case) == 1


def test_points_never_exceed_the_maximum_of_a_ledger_entry():
    assert scan_points(override=2**31 - 1) == Decimal("99999999.99")
    assert scan_points(kind="percentage", value="99999999", price="9999999999") == Decimal("99999999.99")


def test_percentage_is_capped_at_the_brands_ceiling():
    assert scan_points(kind="percentage", value="100", price="99999999", ceiling=1000) == 1000
    assert scan_points(kind="percentage", value="100", price="999", ceiling=1000) == 999


def test_approved_points_are_not_capped():
    assert scan_points(override=5000, ceiling=1000) == 5000
    assert scan_points(kind="points", value="5000", ceiling=1000) == 5000
