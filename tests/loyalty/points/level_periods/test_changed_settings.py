"""Levels with periods switched on, off or changed: nobody falls before what they were promised."""

from datetime import date

import pytest

from tests.loyalty.points.level_periods.conftest import assert_books_are_right, on, stands


@pytest.fixture
def moved_in(programme):
    """A brand whose levels stayed, with a member in Gold for 600 points of long ago."""
    world = programme(level_period="lifetime")
    member = world.member()
    world.earn(member, 600, on("2020-03-01"))
    return world, member


def test_at_a_brand_whose_levels_stay_nothing_is_written(moved_in):
    world, member = moved_in

    assert stands(member) == ("Gold", 600, None)
    assert (member.period_from, member.level_due_at, world.history(member)) == (None, None, [])
    assert world.night(on("2026-05-01")) == 0


def test_switched_on_nobody_falls_before_a_first_whole_period(moved_in):
    world, member = moved_in
    world.set(level_period="year")

    world.night(on("2026-05-01"))
    assert stands(member) == ("Gold", 0, date(2027, 12, 31))
    world.night(on("2027-12-31"))
    assert stands(member)[0] == "Gold"
    world.night(on("2028-01-01"))

    assert stands(member)[0] == "Bronze"


def test_an_accrual_that_is_faster_than_the_job_follows_the_setting(moved_in):
    world, member = moved_in
    world.set(level_period="year")

    world.earn(member, 10, on("2026-05-01"))

    assert stands(member) == ("Gold", 10, date(2027, 12, 31))
    world.night(on("2026-05-01", hour=13))
    assert stands(member) == ("Gold", 10, date(2027, 12, 31))
    assert_books_are_right()


def test_another_period_takes_back_nothing_that_was_promised(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.night(on("2026-03-02"))
    world.set(level_period="quarter")

    world.night(on("2026-05-01"))

    assert stands(member) == ("Gold", 0, date(2027, 12, 31))
    assert_books_are_right()


def test_a_longer_period_gives_a_whole_one_from_then_on(programme):
    world = programme(level_period="quarter")
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.night(on("2026-03-02"))
    world.set(level_period="year")

    world.night(on("2026-05-01"))

    assert stands(member) == ("Gold", 600, date(2027, 12, 31))


def test_other_days_of_grace_and_warning_prolong_nothing(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.night(on("2026-03-02"))
    world.set(level_grace_days=10, level_warning_days=20)

    world.night(on("2027-03-02"))

    assert stands(member) == ("Gold", 0, date(2027, 12, 31))
    world.night(on("2028-01-10"))
    assert stands(member)[0] == "Gold"
    world.night(on("2028-01-11"))
    assert stands(member)[0] == "Bronze"


def test_switched_off_all_points_count_again_and_no_level_ends(programme):
    world = programme()
    member = world.member()
    world.earn(member, 90, on("2025-03-01"))
    world.earn(member, 110, on("2026-03-01"))
    world.set(level_period="lifetime")

    world.night(on("2026-05-01"))

    assert stands(member) == ("Silver", 200, None)
    assert (member.period_from, member.level_due_at) == (None, None)
    assert world.night(on("2028-05-01")) == 0


def test_at_a_brand_whose_programme_is_off_nobody_falls(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.set(loyalty_active=False)

    world.night(on("2028-01-01"))

    assert stands(member)[0] == "Gold"
