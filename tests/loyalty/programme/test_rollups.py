"""Rollups of members, cohorts, levels and expiring points, compared with plain Python; and late entries."""

import random
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.rollups import (
    CohortRollup,
    ExpiringRollup,
    LevelRollup,
    MembersRollup,
    PointsRollup,
    ProgrammeWatermark,
    StaleDay,
)
from loyalty.points import expiry
from loyalty.points.expiry_rules import months_later
from loyalty.programme import consistency, rollups
from loyalty.tasks import roll_up_programme
from tests.loyalty.merges.conftest import merge_accounts
from tests.loyalty.programme import histories
from tests.support import factories
from tests.support.concurrency import run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    brand = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=5)
    histories.fill(brand, random.Random(11), now=timezone.now(), entries=150, months=10)
    rollups.catch_up(brand=brand, at=timezone.now())
    return brand


def closed_until(brand: Brand) -> date:
    day = ProgrammeWatermark.objects.values_list("until", flat=True).get(brand=brand)
    assert day is not None
    return day


def months_of_activity(brand: Brand) -> dict[int, set[date]]:
    """Months with activity by account, from closed days only."""
    months_by_account: dict[int, set[date]] = {account.pk: set() for account in brand.members.all()}
    for entry in LoyaltyTransaction.objects.filter(user_point__brand=brand):
        day = entry.created_at.astimezone(brand.zone).date()
        if histories.movement_of(entry) in {"earned", "pending", "redeemed", "sent"} and day <= closed_until(brand):
            months_by_account[entry.user_point_id].add(day.replace(day=1))
    return months_by_account


def enrolment_months(brand: Brand) -> dict[int, date]:
    return {each.pk: each.enrolled_at.astimezone(brand.zone).date().replace(day=1) for each in brand.members.all()}


def test_member_rollup_counts_active_enrolled_and_lapsed_members(brand: Brand) -> None:
    active, enrolled_in = months_of_activity(brand), enrolment_months(brand)

    rows = list(MembersRollup.objects.filter(brand=brand, month__gte=min(enrolled_in.values())).order_by("month"))

    assert len(rows) > 8
    for row in rows:
        window = [months_later(row.month, -back) for back in range(rollups.LAPSED_MONTHS)]
        assert row.active == sum(row.month in months for months in active.values())
        assert row.enrolled == sum(month == row.month for month in enrolled_in.values())
        assert row.lapsed == sum(
            enrolled_in[account] < window[-1] and not months.intersection(window) for account, months in active.items()
        )


def test_cohort_rollup_counts_active_members_by_enrolment_month(brand: Brand) -> None:
    enrolled_in = enrolment_months(brand)
    active = months_of_activity(brand)
    expected = Counter((enrolled_in[account], month) for account, months in active.items() for month in months)

    rolled_up = {
        (cohort, month): number
        for cohort, month, number in CohortRollup.objects.filter(brand=brand).values_list("cohort", "month", "active")
    }

    assert rolled_up == dict(expected)


def test_expiring_points_equal_the_sum_of_the_members_point_lots(brand: Brand) -> None:
    rule = expiry.rule_of(brand)
    assert rule is not None
    accounts = list(brand.members.values_list("pk", flat=True))
    horizon = months_later(closed_until(brand).replace(day=1), 24)
    expected: dict[date, Decimal] = {}
    first = (closed_until(brand) + timedelta(days=1)).replace(day=1)
    for lot in expiry.lots(accounts, brand=brand, rule=rule, day=horizon):
        month = max(lot.on.replace(day=1), first)
        expected[month] = expected.get(month, Decimal(0)) + lot.points

    expiring = rollups.expiring(brand, timezone.now().astimezone(brand.zone).date())

    assert expiring == expected
    stored = dict(ExpiringRollup.objects.filter(brand=brand).values_list("month", "points"))
    assert stored == rollups.expiring(brand, closed_until(brand))


def test_changed_expiry_rule_applies_to_the_next_rollup(brand: Brand) -> None:
    brand.points_expire = "never"
    brand.save()

    rollups.catch_up(brand=brand, at=timezone.now())

    assert not ExpiringRollup.objects.filter(brand=brand).exists()


def test_level_rollup_counts_members_by_level(brand: Brand) -> None:
    UserPoints.objects.filter(brand=brand).update(current_level="Gold")
    other = histories.member(brand, enrolled_at=timezone.now())
    assert other.current_level == ""
    merge_accounts(brand, other.user, histories.member(brand, enrolled_at=timezone.now()).user)

    rollups.rebuild(brand=brand, at=timezone.now())

    assert dict(LevelRollup.objects.filter(brand=brand).values_list("level", "members")) == {"Gold": 6, "": 1}


def test_watermarks_of_many_brands_are_read_in_one_query(brand: Brand, django_assert_num_queries: Any) -> None:
    brands = [brand, *(factories.brand() for _ in range(3))]

    with django_assert_num_queries(4):  # one reads them, one inserts the missing ones, in a transaction
        rollups._begin(brands)

    assert ProgrammeWatermark.objects.filter(brand__in=brands).count() == 4


def test_rolling_up_again_changes_nothing(brand: Brand) -> None:
    before = list(PointsRollup.objects.filter(brand=brand).values_list("day", "movement", "points", "entries"))

    roll_up_programme()
    rollups.rebuild(brand=brand, at=timezone.now())

    after = PointsRollup.objects.filter(brand=brand).values_list("day", "movement", "points", "entries")
    assert sorted(after) == sorted(before)
    assert list(consistency.differences()) == []


def test_entry_that_commits_after_higher_numbers_is_rolled_up(brand: Brand) -> None:
    """An entry gets its number, higher numbers are committed and seen, and then it commits into a closed day."""
    first, second = brand.members.order_by("pk")[:2]
    at = timezone.now() - timedelta(days=60)
    for _run in range(3):
        roll_up_programme()

    def commit_later_entries() -> int:
        histories.entry(second, "earned", Decimal(1), timezone.now())
        for _again in range(3):
            rollups.note_late_entries()
        return StaleDay.objects.count()

    stale_days = run_during_transaction(lambda: histories.entry(first, "earned", Decimal(7), at), commit_later_entries)
    assert stale_days == 0  # the entry is not visible yet
    roll_up_programme()

    assert list(consistency.differences()) == []


def test_control_without_waiting_the_day_of_a_late_commit_stays_wrong(brand: Brand) -> None:
    """Every seen number counts as settled immediately."""
    first, second = brand.members.order_by("pk")[:2]

    def commit_later_entries() -> None:
        histories.entry(second, "earned", Decimal(1), timezone.now())
        ProgrammeWatermark.objects.update(settled=2**40, seen=2**40)

    at = timezone.now() - timedelta(days=60)
    run_during_transaction(lambda: histories.entry(first, "earned", Decimal(7), at), commit_later_entries)
    roll_up_programme()

    assert any("points of a day" in each.check for each in consistency.differences())
