"""Merges at a brand whose levels have periods: the points of both count, and the better level stays until its end."""

import pytest

from loyalty.points.level_periods.member_levels import Reason
from tests.loyalty.merges.conftest import merged, undone
from tests.loyalty.points.level_periods.conftest import Programme, on
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def programme():
    return Programme()


def level_of(programme, member):
    row = factories.account(member.user, programme.brand)
    return row.current_level, row.level_until and row.level_until.isoformat(), row.period_points


def test_points_of_the_period_of_both_count_and_go_back(programme):
    target = programme.earn(programme.member(), 300, on("2024-06-01"))
    programme.earn(target, 60, on("2026-02-01"))
    source = programme.earn(programme.member(), 50, on("2026-03-01"))
    before = level_of(programme, target), level_of(programme, source)

    made = merged(programme.brand, target.user, source.user, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Silver", "2027-12-31", 110)
    assert shop.contradictions() == []
    programme.night(on("2026-04-02"))
    assert level_of(programme, target)[2] == 110

    undone(made, at=on("2026-04-01"))
    assert (level_of(programme, target), level_of(programme, source)) == before
    assert shop.contradictions() == []


def test_the_better_level_stays_until_its_end(programme):
    target = programme.earn(programme.member(), 120, on("2026-02-01"))
    source = programme.earn(programme.member(), 600, on("2025-03-01"))
    assert level_of(programme, source)[:2] == ("Gold", "2026-12-31")

    made = merged(programme.brand, target.user, source.user, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Gold", "2026-12-31", 120)
    assert programme.history(target)[-1] == ("Silver", "Gold", Reason.REACHED)
    assert shop.contradictions() == []

    undone(made, at=on("2026-04-01"))
    assert level_of(programme, target) == ("Silver", "2027-12-31", 120)
    assert level_of(programme, source)[:2] == ("Gold", "2026-12-31")
    assert shop.contradictions() == []


def test_the_ended_account_follows_no_period_even_where_the_setting_changes(programme):
    target = programme.earn(programme.member(), 120, on("2026-02-01"))
    source = programme.earn(programme.member(), 600, on("2026-03-01"))
    merged(programme.brand, target.user, source.user, at=on("2026-04-01"))

    programme.set(level_grace_days=5)
    programme.night(on("2026-04-02"))
    programme.night(on("2028-02-01"))

    ended = factories.account(source.user, programme.brand)
    assert (ended.period_from, ended.level_due_at) == (None, None)
    assert [row[2] for row in programme.history(source)] == [Reason.REACHED]
    assert shop.contradictions() == []
