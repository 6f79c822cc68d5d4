"""Levels with periods: what counts, when a level falls or is renewed, who is warned."""

from datetime import date

from events.models import Event
from loyalty.models.levels import LevelChange
from loyalty.points.level_periods import run
from loyalty.points.level_periods.settle import settle
from tests.loyalty.points.level_periods.conftest import assert_books_are_right, on, stands
from tests.support import factories


def payloads_of(brand, template):
    events = Event.objects.filter(brand=brand, detail_type="notify").order_by("id")
    return [each.detail["payload"] for each in events if each.detail["payload"]["template"] == template]


def test_a_level_is_reached_by_the_points_of_the_year_alone(programme):
    world = programme()
    member = world.member()

    world.earn(member, 80, on("2026-11-01"))
    world.earn(member, 80, on("2027-01-01"))

    assert stands(member) == ("Bronze", 80, None)
    assert member.lifetime == 160
    world.earn(member, 20, on("2027-05-01"))
    assert stands(member) == ("Silver", 100, date(2028, 12, 31))
    assert_books_are_right()


def test_the_year_begins_by_the_brands_clock(programme):
    world = programme(time_zone="Pacific/Auckland")
    member = world.member()

    world.earn(member, 100, on("2026-12-31", hour=12))  # already the first of January there

    assert member.level_until == date(2028, 12, 31)


def test_a_member_who_earns_too_little_falls_to_the_level_of_the_points(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.earn(member, 120, on("2027-03-01"))

    world.night(on("2027-12-31"))
    assert stands(member) == ("Gold", 120, date(2027, 12, 31))
    world.night(on("2028-01-01"))

    assert stands(member) == ("Silver", 0, date(2028, 12, 31))
    assert world.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Silver", "lowered"),
    ]
    assert LevelChange.objects.latest("id").points == 120
    assert_books_are_right()


def test_a_member_who_earns_enough_keeps_the_level_for_another_year(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.earn(member, 500, on("2027-03-01"))

    world.night(on("2028-01-01"))

    assert stands(member) == ("Gold", 0, date(2028, 12, 31))
    assert world.history(member)[-1] == ("Gold", "Gold", "renewed")


def test_nothing_at_all_takes_a_member_to_the_lowest_level(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))

    world.night(on("2028-01-01"))

    assert stands(member) == ("Bronze", 0, None)


def test_points_of_the_grace_days_still_keep_the_level_and_count_for_the_next_year_too(programme):
    world = programme(level_grace_days=14)
    member, other = world.member(), world.member()
    for each in (member, other):
        world.earn(each, 600, on("2026-03-01"))
        world.earn(each, 450, on("2027-03-01"))
    world.night(on("2028-01-02"))
    assert stands(member) == ("Gold", 0, date(2027, 12, 31))

    world.earn(member, 50, on("2028-01-14"))
    world.night(on("2028-01-14"))
    assert stands(other)[0] == "Gold"
    world.night(on("2028-01-15"))

    assert stands(member) == ("Gold", 50, date(2028, 12, 31))
    assert stands(other) == ("Silver", 0, date(2028, 12, 31))
    assert_books_are_right()


def test_points_after_the_grace_days_come_too_late_however_late_the_job_is(programme):
    world = programme(level_grace_days=14)
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.earn(member, 450, on("2027-03-01"))

    world.earn(member, 100, on("2028-01-20"))

    assert stands(member) == ("Silver", 100, date(2028, 12, 31))
    assert_books_are_right()


def test_after_a_long_pause_of_the_job_each_end_counts_its_own_period(programme):
    world = programme(level_period="quarter")
    member = world.member()
    world.earn(member, 500, on("2026-01-10"))  # Gold until June
    factories.points(member.user, world.brand, 100, at=on("2026-05-10"))  # the second quarter: Silver until September

    world.night(on("2027-02-01"))

    assert stands(member) == ("Bronze", 0, None)
    assert world.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Silver", "lowered"),
        ("Silver", "Bronze", "lowered"),
    ]
    assert len(payloads_of(world.brand, "NOTIFY_LEVEL_LOWERED")) == 1, "one message, however many ends"


def test_rolling_months_count_backwards_and_the_level_stays_as_long(programme):
    world = programme(level_period="rolling", level_period_months=3)
    member = world.member()
    world.earn(member, 60, on("2026-01-10"))
    world.earn(member, 60, on("2026-03-10"))
    assert stands(member) == ("Silver", 120, date(2026, 6, 10))

    world.night(on("2026-04-11"))
    assert stands(member) == ("Silver", 60, date(2026, 6, 10))
    world.night(on("2026-06-10"))
    assert stands(member)[0] == "Silver"
    world.night(on("2026-06-11"))

    assert stands(member) == ("Bronze", 0, None)
    assert_books_are_right()


def test_a_rolling_level_is_renewed_by_the_months_since_it_was_reached(programme):
    world = programme(level_period="rolling", level_period_months=3)
    member = world.member()
    world.earn(member, 100, on("2026-01-10"))
    world.earn(member, 70, on("2026-02-10"))
    world.earn(member, 30, on("2026-04-10"))

    world.night(on("2026-04-11"))

    assert stands(member) == ("Silver", 100, date(2026, 7, 10))
    assert_books_are_right()


def test_doing_it_again_changes_nothing(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.night(on("2028-01-01"))
    before, events = world.history(member), Event.objects.count()

    world.night(on("2028-01-01"))
    settle(brand=world.brand, accounts=[member.pk], at=on("2028-01-01", hour=13))

    assert (world.history(member), Event.objects.count()) == (before, events)


# --- Warnings --------------------------------------------------------------------------------------------------------


def test_a_member_about_to_lose_a_level_is_warned_once_with_what_is_missing(programme):
    world = programme(level_warning_days=30)
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.earn(member, 120, on("2027-03-01"))

    for day in ("2027-11-30", "2027-12-01", "2027-12-02", "2027-12-20"):
        world.night(on(day))

    (warning,) = payloads_of(world.brand, "NOTIFY_LEVEL_ENDING")
    assert {name: warning[name] for name in ("level_name", "points_missing", "level_until")} == {
        "level_name": "Gold",
        "points_missing": 380,
        "level_until": "2027-12-31",
    }


def test_who_has_earned_enough_is_not_warned(programme):
    world = programme(level_warning_days=30)
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    world.earn(member, 500, on("2027-03-01"))

    world.night(on("2027-12-02"))

    assert payloads_of(world.brand, "NOTIFY_LEVEL_ENDING") == []


def test_without_days_of_warning_nobody_is_warned_but_the_fall_is_notified(programme):
    world = programme(level_warning_days=0)
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))

    world.night(on("2027-12-20"))
    world.night(on("2028-01-01"))

    assert payloads_of(world.brand, "NOTIFY_LEVEL_ENDING") == []
    (fall,) = payloads_of(world.brand, "NOTIFY_LEVEL_LOWERED")
    assert (fall["level_before"], fall["level_name"]) == ("Gold", "Bronze")


def test_a_blocked_member_falls_without_a_word(programme):
    world = programme()
    member = world.member()
    world.earn(member, 600, on("2026-03-01"))
    type(member).objects.filter(pk=member.pk).update(status="blocked")

    world.night(on("2027-12-20"))
    world.night(on("2028-01-01"))

    assert stands(member)[0] == "Bronze"
    assert payloads_of(world.brand, "NOTIFY_LEVEL_ENDING") == payloads_of(world.brand, "NOTIFY_LEVEL_LOWERED") == []


# --- A turn ----------------------------------------------------------------------------------------------------------


def test_a_turn_is_bounded_and_gives_each_brand_its_chunk(programme, settings):
    settings.LEVELS_CHUNK = 1
    big, small = programme(), programme()
    members = [big.member() for _ in range(3)] + [small.member()]
    for each in members:
        (small if each is members[-1] else big).earn(each, 600, on("2026-03-01"))
    big.night(on("2026-03-02"))

    def step_of(at):
        return run.catch_up(at=at, seconds=0)

    assert step_of(on("2028-01-01")) == 0  # the first step: nothing left to follow
    assert big.night(on("2028-01-01")) == 4
    assert [stands(each)[0] for each in members] == ["Bronze"] * 4


def test_a_brand_at_which_it_fails_holds_up_no_other(programme, monkeypatch, caplog):
    broken, other = programme(), programme()
    member = other.member()
    other.earn(member, 600, on("2026-03-01"))
    broken.earn(broken.member(), 600, on("2026-03-01"))

    def settle_but_one(*, brand, accounts, at):
        if brand == broken.brand:
            raise ValueError
        return settle(brand=brand, accounts=accounts, at=at)

    monkeypatch.setattr(run, "settle", settle_but_one)
    other.night(on("2028-01-01"))

    assert stands(member)[0] == "Bronze"
    assert "level periods" in caplog.text
