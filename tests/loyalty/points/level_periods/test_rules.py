"""When levels end: days by the brand's clock, without a database."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from loyalty.points.level_periods.rules import LevelRule, rule_from

BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)
DAYS = some.dates(date(2020, 1, 1), date(2040, 12, 31))
RULES = some.builds(
    lambda kind, months, grace: rule_from(kind, months, grace, 14, BERLIN),
    some.sampled_from(["year", "half_year", "quarter", "rolling"]),
    some.integers(1, 36),
    some.integers(0, 27),
)


def rule(kind, months=12, grace=0) -> LevelRule:
    made = rule_from(kind, months, grace, 30, BERLIN)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("kind", "day", "counted_from", "until"),
    [
        ("year", date(2026, 3, 14), date(2026, 1, 1), date(2027, 12, 31)),
        ("half_year", date(2026, 3, 14), date(2026, 1, 1), date(2026, 12, 31)),
        ("half_year", date(2026, 12, 31), date(2026, 7, 1), date(2027, 6, 30)),
        ("quarter", date(2026, 3, 31), date(2026, 1, 1), date(2026, 6, 30)),
        ("quarter", date(2026, 10, 1), date(2026, 10, 1), date(2027, 3, 31)),
    ],
)
def test_a_calendar_level_stays_until_the_end_of_the_next_period(kind, day, counted_from, until):
    made = rule(kind)

    assert made.counted_from(day) == counted_from
    assert made.until(day) == until


def test_a_calendar_level_is_renewed_by_the_points_of_the_period_that_ends():
    made = rule("quarter", grace=5)

    assert made.basis_from(date(2026, 6, 30)) == date(2026, 4, 1)
    assert made.falls_on(date(2026, 6, 30)) == date(2026, 7, 6)
    assert made.renewed(date(2026, 6, 30)) == date(2026, 9, 30)


def test_a_rolling_level_stays_for_as_many_months_from_when_it_was_reached():
    made = rule("rolling", 6)

    assert made.counted_from(date(2026, 8, 31)) == date(2026, 2, 28)
    assert made.until(date(2026, 8, 31)) == date(2027, 2, 28)
    assert made.basis_from(date(2027, 2, 28)) == date(2026, 9, 1)


def test_levels_for_good_have_no_rule():
    assert rule_from("lifetime", 12, 0, 30, BERLIN) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RULES, DAYS)
def test_an_end_lies_ahead_and_its_points_are_those_of_the_time_before_it(made, day):
    until = made.until(day)

    assert made.counted_from(day) <= day < until
    assert made.basis_from(until) <= until < made.falls_on(until)
    assert made.renewed(until) > until
    assert made.basis_from(made.renewed(until)) - until <= 4 * DAY  # months differ in length


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RULES, DAYS, some.integers(0, 400))
def test_the_next_turn_comes_no_later_than_other_points_count(made, day, age):
    oldest = max(made.counted_from(day), day - age * DAY)
    turn = made.next_turn(day, oldest)

    assert turn > day
    before = turn - DAY
    assert made.counted_from(before) <= oldest, "the entry has left before the account is looked at"
