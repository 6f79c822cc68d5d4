"""The four rules of a scan's points, in their order."""

from decimal import Decimal

import pytest

from campaigns.earning import points


def worth(override=None, kind=None, value=None, price=None, ceiling=10**9):
    return points.for_scan(
        redeem_point_value=override,
        reward_type=kind,
        reward_value=None if value is None else Decimal(value),
        retail_price=None if price is None else Decimal(price),
        ceiling=ceiling,
    )


def test_the_override_comes_before_everything():
    assert worth(override=50, kind="points", value="10", price="99") == 50


@pytest.mark.parametrize("override", [None, 0])
def test_no_override_or_zero_leaves_it_to_the_level(override):
    assert worth(override=override, kind="points", value="10") == 10


def test_fixed_points_are_given_as_they_are():
    assert worth(kind="points", value="2.5") == Decimal("2.5")


@pytest.mark.parametrize(
    ("price", "percent", "expected"),
    [("25", "10", 3), ("24.99", "10", 2), ("5", "10", 1), ("4.99", "10", 0), ("0.5", "100", 1), ("1000", "0.05", 1)],
)
def test_a_percentage_rounds_halves_up(price, percent, expected):
    assert worth(kind="percentage", value=percent, price=price) == expected


@pytest.mark.parametrize("case", [{}, {"kind": "percentage", "value": "10"}, {"kind": "stars", "value": "3"}])
def test_otherwise_a_scan_is_worth_one_point(case):
    assert worth(**case) == 1


def test_no_award_is_more_than_a_ledger_line_holds():
    assert worth(override=2**31 - 1) == Decimal("99999999.99")
    assert worth(kind="percentage", value="99999999", price="9999999999") == Decimal("99999999.99")


def test_a_percentage_is_at_most_the_brands_ceiling():
    assert worth(kind="percentage", value="100", price="99999999", ceiling=1000) == 1000
    assert worth(kind="percentage", value="100", price="999", ceiling=1000) == 999


def test_what_a_second_person_approved_is_not_cut():
    assert worth(override=5000, ceiling=1000) == 5000
    assert worth(kind="points", value="5000", ceiling=1000) == 5000
