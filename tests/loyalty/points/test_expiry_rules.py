"""Expiry rules: the day on which points expire, and the first day whose points are retained."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loyalty.points.expiry_rules import ExpiryRule

RULES = some.one_of(
    some.builds(ExpiryRule, some.just("days"), some.integers(1, 3650)),
    some.builds(ExpiryRule, some.just("months"), some.integers(1, 120)),
    some.builds(ExpiryRule, some.just("month_end"), some.integers(0, 120)),
    some.builds(ExpiryRule, some.just("year_end"), some.integers(0, 10)),
)
DAYS = some.dates(date(1990, 1, 1), date(2150, 1, 1))


@pytest.mark.parametrize(
    ("rule", "earned", "expiry_day"),
    [
        (ExpiryRule("days", 1), date(2026, 3, 1), date(2026, 3, 3)),
        (ExpiryRule("days", 365), date(2026, 1, 1), date(2027, 1, 2)),
        (ExpiryRule("months", 1), date(2026, 1, 31), date(2026, 3, 1)),
        (ExpiryRule("months", 12), date(2024, 2, 29), date(2025, 3, 1)),
        (ExpiryRule("month_end", 0), date(2026, 3, 1), date(2026, 4, 1)),
        (ExpiryRule("month_end", 3), date(2026, 11, 30), date(2027, 3, 1)),
        (ExpiryRule("year_end", 0), date(2026, 1, 1), date(2027, 1, 1)),
        (ExpiryRule("year_end", 1), date(2026, 12, 31), date(2028, 1, 1)),
    ],
)
def test_points_expire_on_the_day_of_the_rule(rule, earned, expiry_day):
    assert rule.expired_on(earned) == expiry_day


@given(RULES, DAYS)
def test_points_earned_later_never_expire_earlier(rule, earned):
    assert rule.expired_on(earned) <= rule.expired_on(earned + timedelta(days=1))
    assert rule.expired_on(earned) > earned


@given(RULES, DAYS)
def test_retained_from_is_the_first_day_whose_points_are_retained(rule, day):
    first = rule.retained_from(day)

    assert rule.expired_on(first) > day >= rule.expired_on(first - timedelta(days=1))
