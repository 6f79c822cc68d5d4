"""Merges at a brand with level periods: the points of both count, and the higher level stays until its end."""

import pytest

from loyalty.merges import merge as merging
from loyalty.points.level_periods.member_levels import Reason
from tests.loyalty.merges.conftest import merge_accounts, undo_merge
from tests.loyalty.points.level_periods.conftest import Programme, on, payloads_of
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def programme():
    return Programme()


def level_of(programme, member):
    account = factories.account(member.user, programme.brand)
    return account.current_level, account.level_until and account.level_until.isoformat(), account.period_points


def test_period_points_of_both_accounts_count_until_the_undo(programme):
    target = programme.earn(programme.member(), 300, on("2024-06-01"))
    programme.earn(target, 60, on("2026-02-01"))
    source = programme.earn(programme.member(), 50, on("2026-03-01"))
    before = level_of(programme, target), level_of(programme, source)

    account_merge = merge_accounts(programme.brand, target.user, source.user, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Silver", "2027-12-31", 110)
    assert shop.inconsistencies() == []
    programme.night(on("2026-04-02"))
    assert level_of(programme, target)[2] == 110

    undo_merge(account_merge, at=on("2026-04-01"))
    assert (level_of(programme, target), level_of(programme, source)) == before
    assert shop.inconsistencies() == []


def test_higher_level_of_the_two_stays_until_its_end(programme):
    target = programme.earn(programme.member(), 120, on("2026-02-01"))
    source = programme.earn(programme.member(), 600, on("2025-03-01"))
    assert level_of(programme, source)[:2] == ("Gold", "2026-12-31")

    account_merge = merge_accounts(programme.brand, target.user, source.user, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Gold", "2026-12-31", 120)
    assert programme.history(target)[-1] == ("Silver", "Gold", Reason.REACHED)
    assert shop.inconsistencies() == []

    undo_merge(account_merge, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Silver", "2027-12-31", 120)
    assert level_of(programme, source)[:2] == ("Gold", "2026-12-31")
    assert shop.inconsistencies() == []


def test_member_is_warned_of_the_end_of_a_level_from_the_ended_account():
    programme = Programme(level_warning_days=30)
    target = programme.earn(programme.member(), 120, on("2026-02-01"))
    source = programme.earn(programme.member(), 600, on("2025-03-01"))
    merge_accounts(programme.brand, target.user, source.user, at=on("2026-04-01"))

    for day in ("2026-04-02", "2026-12-01", "2026-12-20"):
        programme.night(on(day))

    (warning,) = payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")
    assert (warning["level_name"], warning["level_until"]) == ("Gold", "2026-12-31")


def test_levels_that_end_on_the_same_day_are_each_warned_of_once():
    programme = Programme(level_warning_days=30)
    target = programme.earn(programme.member(), 120, on("2025-02-01"))
    source = programme.earn(programme.member(), 600, on("2025-03-01"))
    programme.night(on("2026-12-05"))

    account_merge = merge_accounts(programme.brand, target.user, source.user, at=on("2026-12-10"))
    programme.night(on("2026-12-10"))
    undo_merge(account_merge, at=on("2026-12-10", hour=13))
    programme.night(on("2026-12-11"))

    warned = [each["level_name"] for each in payloads_of(programme.brand, "NOTIFY_LEVEL_ENDING")]
    assert sorted(warned) == ["Gold", "Gold", "Silver"], "the source's, then the target's after the merge"


@pytest.mark.parametrize(
    ("target_points", "source_points", "level"),
    [
        ([(450, "2024-06-01"), (20, "2026-02-01")], [(90, "2026-03-01")], "Silver"),  # 560 in all, 110 of the period
        ([(120, "2026-02-01")], [(600, "2025-03-01")], "Gold"),
        ([(5, "2026-02-01")], [(5, "2026-02-01")], "Bronze"),
    ],
)
def test_preview_shows_the_level_that_the_merge_brings(programme, target_points, source_points, level):
    target, source = programme.member(), programme.member()
    for member, earned in ((target, target_points), (source, source_points)):
        for points, day in earned:
            programme.earn(member, points, on(day))
    programme.night(on("2026-03-02"))
    accounts = [factories.account(member.user, programme.brand) for member in (target, source)]

    preview = merging.preview(target=accounts[0], source=accounts[1])
    merge_accounts(programme.brand, target.user, source.user, at=on("2026-04-01"))

    assert preview.level == level == level_of(programme, target)[0]


def test_ended_account_gets_no_level_period_when_settings_change(programme):
    target = programme.earn(programme.member(), 120, on("2026-02-01"))
    source = programme.earn(programme.member(), 600, on("2026-03-01"))
    merge_accounts(programme.brand, target.user, source.user, at=on("2026-04-01"))

    programme.set(level_grace_days=5)
    programme.night(on("2026-04-02"))
    programme.night(on("2028-02-01"))

    ended = factories.account(source.user, programme.brand)
    assert (ended.period_from, ended.level_due_at) == (None, None)
    assert [change[2] for change in programme.history(source)] == [Reason.REACHED]
    assert shop.inconsistencies() == []
