"""Settling of level periods: points that count, levels lowered or renewed, and warnings."""

from datetime import date

from events.models import Event
from loyalty.models.levels import LevelChange
from loyalty.points.level_periods import run
from loyalty.points.level_periods.settle import settle
from tests.loyalty.points.level_periods.conftest import assert_ledger_is_consistent, level_of, on, payloads_of
from tests.support import factories


def test_level_is_reached_by_the_points_of_one_year(new_programme):
    programme = new_programme()
    member = programme.member()

    programme.earn(member, 80, on("2026-11-01"))
    programme.earn(member, 80, on("2027-01-01"))

    assert level_of(member) == ("Bronze", 80, None)
    assert member.lifetime == 160
    programme.earn(member, 20, on("2027-05-01"))
    assert level_of(member) == ("Silver", 100, date(2028, 12, 31))
    assert_ledger_is_consistent()


def test_year_begins_at_midnight_in_the_brands_zone(new_programme):
    programme = new_programme(time_zone="Pacific/Auckland")
    member = programme.member()

    programme.earn(member, 100, on("2026-12-31", hour=12))  # already the first of January in the brand's zone

    assert member.level_until == date(2028, 12, 31)


def test_member_with_too_few_points_is_lowered_to_the_level_of_the_points(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.earn(member, 120, on("2027-03-01"))

    programme.night(on("2027-12-31"))
    assert level_of(member) == ("Gold", 120, date(2027, 12, 31))
    programme.night(on("2028-01-01"))

    assert level_of(member) == ("Silver", 0, date(2028, 12, 31))
    assert programme.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Silver", "lowered"),
    ]
    assert LevelChange.objects.latest("id").points == 120
    assert_ledger_is_consistent()


def test_member_with_enough_points_keeps_the_level_for_another_year(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.earn(member, 500, on("2027-03-01"))

    programme.night(on("2028-01-01"))

    assert level_of(member) == ("Gold", 0, date(2028, 12, 31))
    assert programme.history(member)[-1] == ("Gold", "Gold", "renewed")


def test_member_without_points_is_lowered_to_the_lowest_level(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))

    programme.night(on("2028-01-01"))

    assert level_of(member) == ("Bronze", 0, None)


def test_points_of_the_grace_days_renew_the_level_and_count_for_the_next_year(new_programme):
    programme = new_programme(level_grace_days=14)
    member, other = programme.member(), programme.member()
    for each in (member, other):
        programme.earn(each, 600, on("2026-03-01"))
        programme.earn(each, 450, on("2027-03-01"))
    programme.night(on("2028-01-02"))
    assert level_of(member) == ("Gold", 0, date(2027, 12, 31))

    programme.earn(member, 50, on("2028-01-14"))
    programme.night(on("2028-01-14"))
    assert level_of(other)[0] == "Gold"
    programme.night(on("2028-01-15"))

    assert level_of(member) == ("Gold", 50, date(2028, 12, 31))
    assert level_of(other) == ("Silver", 0, date(2028, 12, 31))
    assert_ledger_is_consistent()


def test_points_after_the_grace_days_do_not_renew_the_level_even_if_the_job_is_late(new_programme):
    programme = new_programme(level_grace_days=14)
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.earn(member, 450, on("2027-03-01"))

    programme.earn(member, 100, on("2028-01-20"))

    assert level_of(member) == ("Silver", 100, date(2028, 12, 31))
    assert_ledger_is_consistent()


def test_each_missed_level_end_is_settled_with_its_own_period(new_programme):
    programme = new_programme(level_period="quarter")
    member = programme.member()
    programme.earn(member, 500, on("2026-01-10"))  # Gold until June
    # In the second quarter, for Silver until September.
    factories.points(member.user, programme.brand, 100, at=on("2026-05-10"))

    programme.night(on("2027-02-01"))

    assert level_of(member) == ("Bronze", 0, None)
    assert programme.history(member) == [
        ("Bronze", "Gold", "reached"),
        ("Gold", "Silver", "lowered"),
        ("Silver", "Bronze", "lowered"),
    ]
    assert len(payloads_of(programme.brand, "NOTIFY_LEVEL_LOWERED")) == 1, "one notification for several level ends"


def test_rolling_level_counts_the_last_months_and_lasts_as_long(new_programme):
    programme = new_programme(level_period="rolling", level_period_months=3)
    member = programme.member()
    programme.earn(member, 60, on("2026-01-10"))
    programme.earn(member, 60, on("2026-03-10"))
    assert level_of(member) == ("Silver", 120, date(2026, 6, 10))

    programme.night(on("2026-04-11"))
    assert level_of(member) == ("Silver", 60, date(2026, 6, 10))
    programme.night(on("2026-06-10"))
    assert level_of(member)[0] == "Silver"
    programme.night(on("2026-06-11"))

    assert level_of(member) == ("Bronze", 0, None)
    assert_ledger_is_consistent()


def test_rolling_level_is_renewed_by_points_of_its_own_months(new_programme):
    programme = new_programme(level_period="rolling", level_period_months=3)
    member = programme.member()
    programme.earn(member, 100, on("2026-01-10"))
    programme.earn(member, 70, on("2026-02-10"))
    programme.earn(member, 30, on("2026-04-10"))

    programme.night(on("2026-04-11"))

    assert level_of(member) == ("Silver", 100, date(2026, 7, 10))
    assert_ledger_is_consistent()


def test_settling_again_changes_nothing(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.night(on("2028-01-01"))
    history_before, events = programme.history(member), Event.objects.count()

    programme.night(on("2028-01-01"))
    settle(brand=programme.brand, accounts=[member.pk], at=on("2028-01-01", hour=13))

    assert (programme.history(member), Event.objects.count()) == (history_before, events)


# --- Warnings --------------------------------------------------------------------------------------------------------


def test_member_about_to_lose_a_level_is_warned_once_with_the_missing_points(new_programme):
    programme = new_programme(level_warning_days=30)
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.earn(member, 120, on("2027-03-01"))

    for day in ("2027-11-30", "2027-12-01", "2027-12-02", "2027-12-20"):
        programme.night(on(day))

    (warning,) = payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")
    assert {name: warning[name] for name in ("level_name", "points_missing", "level_until")} == {
        "level_name": "Gold",
        "points_missing": 380,
        "level_until": "2027-12-31",
    }


def test_member_with_enough_points_is_not_warned(new_programme):
    programme = new_programme(level_warning_days=30)
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    programme.earn(member, 500, on("2027-03-01"))

    programme.night(on("2027-12-02"))

    assert payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING") == []


def test_member_is_warned_of_a_rolling_level_that_the_first_points_reached(new_programme):
    programme = new_programme(level_period="rolling", level_period_months=12, level_warning_days=30)
    member = programme.member()
    programme.earn(member, 120, on("2026-03-10"))

    programme.night(on("2027-02-07"))
    assert payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING") == []
    for day in ("2027-02-08", "2027-02-20"):
        programme.night(on(day))

    (warning,) = payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")
    assert (warning["level_name"], warning["level_until"]) == ("Silver", "2027-03-10")


def test_without_warning_days_only_the_lowered_level_is_notified(new_programme):
    programme = new_programme(level_warning_days=0)
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))

    programme.night(on("2027-12-20"))
    programme.night(on("2028-01-01"))

    assert payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING") == []
    (notification,) = payloads_of(programme.brand, "NOTIFY_LEVEL_LOWERED")
    assert (notification["level_before"], notification["level_name"]) == ("Gold", "Bronze")


def test_blocked_member_is_lowered_without_notifications(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 600, on("2026-03-01"))
    type(member).objects.filter(pk=member.pk).update(status="blocked")

    programme.night(on("2027-12-20"))
    programme.night(on("2028-01-01"))

    assert level_of(member)[0] == "Bronze"
    assert (
        payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")
        == payloads_of(programme.brand, "NOTIFY_LEVEL_LOWERED")
        == []
    )


# --- Turns of the brands ---------------------------------------------------------------------------------------------


def test_run_ends_after_a_step_when_its_time_is_over_and_the_next_settles_all(new_programme, settings):
    settings.LEVELS_CHUNK = 1
    big_programme, small_programme = new_programme(), new_programme()
    members = [big_programme.member() for _ in range(3)] + [small_programme.member()]
    for member in members:
        (small_programme if member is members[-1] else big_programme).earn(member, 600, on("2026-03-01"))
    big_programme.night(on("2026-03-02"))

    def run_one_step(at):
        return run.catch_up(at=at, seconds=0)

    assert run_one_step(on("2028-01-01")) == 0  # the first step finds no outdated setting
    assert big_programme.night(on("2028-01-01")) == 4
    assert [level_of(member)[0] for member in members] == ["Bronze"] * 4


def test_brands_alternate_by_chunk(new_programme, settings, monkeypatch):
    settings.LEVELS_CHUNK = 1
    programmes = [new_programme(), new_programme()]
    for programme in programmes:
        for _ in range(2):
            programme.earn(programme.member(), 600, on("2026-03-01"))
    programmes[0].night(on("2026-03-02"))
    settled_brands = []

    def settle_and_record(*, brand, accounts, at):
        settled_brands.append((brand.pk, len(accounts)))
        return settle(brand=brand, accounts=accounts, at=at)

    monkeypatch.setattr(run, "settle", settle_and_record)
    assert programmes[0].night(on("2028-01-01")) == 4

    one_turn = sorted((programme.brand.pk, 1) for programme in programmes)
    assert [sorted(settled_brands[:2]), sorted(settled_brands[2:])] == [one_turn, one_turn]


def test_failing_brand_does_not_stop_other_brands(new_programme, monkeypatch, caplog):
    failing, other = new_programme(), new_programme()
    member = other.member()
    other.earn(member, 600, on("2026-03-01"))
    failing.earn(failing.member(), 600, on("2026-03-01"))

    def settle_or_fail(*, brand, accounts, at):
        if brand == failing.brand:
            raise ValueError
        return settle(brand=brand, accounts=accounts, at=at)

    monkeypatch.setattr(run, "settle", settle_or_fail)
    other.night(on("2028-01-01"))

    assert level_of(member)[0] == "Bronze"
    assert "level periods" in caplog.text
