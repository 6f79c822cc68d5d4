"""Rollups of members, cohorts, levels and points that will expire, against plain Python; and what is noticed late."""

import random
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

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
from tests.loyalty.programme import histories
from tests.support import factories
from tests.support.concurrency import while_uncommitted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    made = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=5)
    histories.fill(made, random.Random(11), now=timezone.now(), entries=150, months=10)
    rollups.catch_up(brand=made, at=timezone.now())
    return made


def until(brand: Brand) -> date:
    day = ProgrammeWatermark.objects.values_list("until", flat=True).get(brand=brand)
    assert day is not None
    return day


def months_of_activity(brand: Brand) -> dict[int, set[date]]:
    """By account; closed days alone."""
    found: dict[int, set[date]] = {account.pk: set() for account in brand.members.all()}
    for line in LoyaltyTransaction.objects.filter(user_point__brand=brand):
        day = line.created_at.astimezone(brand.zone).date()
        if histories.movement_of(line) in {"earned", "pending", "redeemed", "sent"} and day <= until(brand):
            found[line.user_point_id].add(day.replace(day=1))
    return found


def enrolled(brand: Brand) -> dict[int, date]:
    return {each.pk: each.enrolled_at.astimezone(brand.zone).date().replace(day=1) for each in brand.members.all()}


def test_members_are_active_and_lapse_as_is_defined(brand: Brand) -> None:
    active, since = months_of_activity(brand), enrolled(brand)

    rows = list(MembersRollup.objects.filter(brand=brand, month__gte=min(since.values())).order_by("month"))

    assert len(rows) > 8
    for row in rows:
        window = [months_later(row.month, -back) for back in range(rollups.LAPSED_MONTHS)]
        assert row.active == sum(row.month in months for months in active.values())
        assert row.enrolled == sum(month == row.month for month in since.values())
        assert row.lapsed == sum(
            since[account] < window[-1] and not months.intersection(window) for account, months in active.items()
        )


def test_cohorts_are_who_enrolled_in_a_month(brand: Brand) -> None:
    since = enrolled(brand)
    active = months_of_activity(brand)
    expected = Counter((since[account], month) for account, months in active.items() for month in months)

    found = {
        (cohort, month): number
        for cohort, month, number in CohortRollup.objects.filter(brand=brand).values_list("cohort", "month", "active")
    }

    assert found == dict(expected)


def test_points_that_will_expire_are_the_lots_that_members_are_warned_of(brand: Brand) -> None:
    rule = expiry.rule_of(brand)
    assert rule is not None
    accounts = list(brand.members.values_list("pk", flat=True))
    horizon = months_later(until(brand).replace(day=1), 24)
    expected: dict[date, Decimal] = {}
    first = (until(brand) + timedelta(days=1)).replace(day=1)
    for lot in expiry.lots(accounts, brand=brand, rule=rule, day=horizon):
        month = max(lot.on.replace(day=1), first)
        expected[month] = expected.get(month, Decimal(0)) + lot.points

    found = rollups.expiring(brand, timezone.now().astimezone(brand.zone).date())

    assert found == expected
    stored = dict(ExpiringRollup.objects.filter(brand=brand).values_list("month", "points"))
    assert stored == rollups.expiring(brand, until(brand))


def test_another_rule_of_expiry_is_counted_the_next_time(brand: Brand) -> None:
    brand.points_expire = "never"
    brand.save()

    rollups.catch_up(brand=brand, at=timezone.now())

    assert not ExpiringRollup.objects.filter(brand=brand).exists()


def test_levels_are_counted(brand: Brand) -> None:
    UserPoints.objects.filter(brand=brand).update(current_level="Gold")
    other = histories.member(brand, enrolled_at=timezone.now())
    assert other.current_level == ""

    rollups.rebuild(brand=brand, at=timezone.now())

    assert dict(LevelRollup.objects.filter(brand=brand).values_list("level", "members")) == {"Gold": 6, "": 1}


def test_rolling_up_again_changes_nothing(brand: Brand) -> None:
    before = list(PointsRollup.objects.filter(brand=brand).values_list("day", "movement", "points", "entries"))

    roll_up_programme()
    rollups.rebuild(brand=brand, at=timezone.now())

    after = PointsRollup.objects.filter(brand=brand).values_list("day", "movement", "points", "entries")
    assert sorted(after) == sorted(before)
    assert list(consistency.differences()) == []


def test_an_entry_that_commits_after_its_number_was_passed_is_found(brand: Brand) -> None:
    """It takes its number, others commit higher ones and are seen, and then it commits, into a day long closed."""
    first, second = brand.members.order_by("pk")[:2]
    at = timezone.now() - timedelta(days=60)
    for _until_all_is_settled in range(3):
        roll_up_programme()

    def others_go_on() -> int:
        histories.entry(second, "earned", Decimal(1), timezone.now())
        for _again in range(3):
            rollups.note_late_entries()
        return StaleDay.objects.count()

    noticed = while_uncommitted(lambda: histories.entry(first, "earned", Decimal(7), at), others_go_on)
    assert noticed == 0  # it is not there to be seen
    roll_up_programme()

    assert list(consistency.differences()) == []


def test_without_waiting_for_it_its_day_would_stay_wrong(brand: Brand) -> None:
    """The control: every number that is seen counts as settled at once."""
    first, second = brand.members.order_by("pk")[:2]

    def others_go_on() -> None:
        histories.entry(second, "earned", Decimal(1), timezone.now())
        ProgrammeWatermark.objects.update(settled=2**40, seen=2**40)

    at = timezone.now() - timedelta(days=60)
    while_uncommitted(lambda: histories.entry(first, "earned", Decimal(7), at), others_go_on)
    roll_up_programme()

    assert any("points of a day" in each.check for each in consistency.differences())
