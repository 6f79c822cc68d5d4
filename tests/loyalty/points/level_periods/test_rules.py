"""Rules of level periods: when levels end, in the brand's time zone."""

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


def new_rule(kind, months=12, grace=0) -> LevelRule:
    level_rule = rule_from(kind, months, grace, 30, BERLIN)
    assert level_rule is not None
    return level_rule


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
def test_calendar_level_lasts_until_the_end_of_the_next_period(kind, day, counted_from, until):
    level_rule = new_rule(kind)

    assert level_rule.counted_from(day) == counted_from
    assert level_rule.last_day_of_level(day) == until


def test_calendar_level_is_renewed_by_the_points_of_the_ending_period():
    level_rule = new_rule("quarter", grace=5)

    assert level_rule.renewal_starts_on(date(2026, 6, 30)) == date(2026, 4, 1)
    assert level_rule.first_day_after_grace(date(2026, 6, 30)) == date(2026, 7, 6)
    assert level_rule.renewed_until(date(2026, 6, 30)) == date(2026, 9, 30)


def test_rolling_level_lasts_for_the_months_of_the_rule_once_reached():
    level_rule = new_rule("rolling", 6)

    assert level_rule.counted_from(date(2026, 8, 31)) == date(2026, 2, 28)
    assert level_rule.last_day_of_level(date(2026, 8, 31)) == date(2027, 2, 28)
    assert level_rule.renewal_starts_on(date(2027, 2, 28)) == date(2026, 9, 1)


def test_lifetime_levels_have_no_rule():
    assert rule_from("lifetime", 12, 0, 30, BERLIN) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RULES, DAYS)
def test_level_ends_later_and_is_renewed_by_points_of_the_time_before(level_rule, day):
    until = level_rule.last_day_of_level(day)

    assert level_rule.counted_from(day) <= day < until
    assert level_rule.renewal_starts_on(until) <= until < level_rule.first_day_after_grace(until)
    assert level_rule.renewed_until(until) > until
    assert level_rule.renewal_starts_on(level_rule.renewed_until(until)) - until <= 4 * DAY  # months differ in length


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RULES, DAYS, some.integers(0, 400))
def test_counted_points_change_no_later_than_the_oldest_stop_counting(level_rule, day, age):
    oldest = max(level_rule.counted_from(day), day - age * DAY)
    change_day = level_rule.counted_points_change_on(day, oldest)

    assert change_day > day
    day_before = change_day - DAY
    assert level_rule.counted_from(day_before) <= oldest, (
        "the oldest points stop counting before the account is checked"
    )
