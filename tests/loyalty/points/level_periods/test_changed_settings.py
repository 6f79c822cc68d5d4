"""Level periods that are switched on, off or changed: no level ends before the date promised to its member."""

from datetime import date

import pytest

from tests.loyalty.points.level_periods.conftest import assert_ledger_is_consistent, level_of, on


@pytest.fixture
def lifetime_gold_member(new_programme):
    """A brand with lifetime levels, and a member who reached Gold long ago with 600 points."""
    programme = new_programme(level_period="lifetime")
    member = programme.member()
    programme.earn(member, 600, on("2020-03-01"))
    return programme, member


def test_job_writes_nothing_for_lifetime_levels(lifetime_gold_member):
    programme, member = lifetime_gold_member

    assert level_of(member) == ("Gold", 600, None)
    assert (member.period_from, member.level_due_at, programme.history(member)) == (None, None, [])
    assert programme.night(on("2026-05-01")) == 0


def test_levels_stay_for_a_whole_period_after_periods_are_switched_on(lifetime_gold_member):
    programme, member = lifetime_gold_member
    programme.set(level_period="year")

    programme.night(on("2026-05-01"))
    assert level_of(member) == ("Gold", 0, date(2027, 12, 31))
    programme.night(on("2027-12-31"))
    assert level_of(member)[0] == "Gold"
    programme.night(on("2028-01-01"))

    assert level_of(member)[0] == "Bronze"


def test_accrual_before_the_job_follows_a_changed_setting(lifetime_gold_member):
    programme, member = lifetime_gold_member
    programme.set(level_period="year")

    programme.earn(member, 10, on("2026-05-01"))

    assert level_of(member) == ("Gold", 10, date(2027, 12, 31))
    programme.night(on("2026-05-01", hour=13))
    assert level_of(member) == ("Gold", 10, date(2027, 12, 31))
    assert_ledger_is_consistent()


def test_shorter_period_keeps_the_promised_level_end(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.night(on("2026-03-02"))
    programme.set(level_period="quarter")

    programme.night(on("2026-05-01"))

    assert level_of(member) == ("Gold", 0, date(2027, 12, 31))
    assert_ledger_is_consistent()


def test_longer_period_extends_the_level_end(new_programme):
    programme = new_programme(level_period="quarter")
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.night(on("2026-03-02"))
    programme.set(level_period="year")

    programme.night(on("2026-05-01"))

    assert level_of(member) == ("Gold", 600, date(2027, 12, 31))


def test_changed_grace_and_warning_days_do_not_extend_the_level_end(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.night(on("2026-03-02"))
    programme.set(level_grace_days=10, level_warning_days=20)

    programme.night(on("2027-03-02"))

    assert level_of(member) == ("Gold", 0, date(2027, 12, 31))
    programme.night(on("2028-01-10"))
    assert level_of(member)[0] == "Gold"
    programme.night(on("2028-01-11"))
    assert level_of(member)[0] == "Bronze"


def test_all_points_count_and_no_level_ends_after_periods_are_switched_off(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 90, on("2025-03-01"))
    programme.earn(member, 110, on("2026-03-01"))
    programme.set(level_period="lifetime")

    programme.night(on("2026-05-01"))

    assert level_of(member) == ("Silver", 200, None)
    assert (member.period_from, member.level_due_at) == (None, None)
    assert programme.night(on("2028-05-01")) == 0


def test_no_level_is_lowered_while_the_loyalty_programme_is_inactive(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.set(loyalty_active=False)

    programme.night(on("2028-01-01"))

    assert level_of(member)[0] == "Gold"
