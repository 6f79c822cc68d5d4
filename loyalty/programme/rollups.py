"""Rollups of the programme: the only code that writes the sums of the ledger's closed days.

Accruals write nothing for them. A BRIN index, which costs a new entry almost nothing, finds entries by time. An entry
committed after its day was rolled up is found by its number, and the day is rolled up again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Sum

from brands.models.tenants import Brand
from brands.tenants import local_time
from brands.tenants.closed_days import DAY, ClosedDays
from core.db.statements import command, part, query, query_values
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.rollups import (
    ActiveMember,
    CohortRollup,
    EnrolmentRollup,
    ExpiringRollup,
    LevelRollup,
    MembersRollup,
    PointsRollup,
    ProgrammeWatermark,
    StaleDay,
)
from loyalty.points import expiry
from loyalty.points.expiry_rules import months_later
from loyalty.programme.movements import AMOUNT_SQL, activity_sql, case_sql

# A member who neither earned nor redeemed in so many months has lapsed.
LAPSED_MONTHS = 6
EXPIRING_MONTHS = 12
# Among the latest entry numbers, some may belong to uncommitted entries.
UNSETTLED_NUMBERS = 10_000
ROLLED: tuple[Any, ...] = (
    PointsRollup,
    ActiveMember,
    CohortRollup,
    MembersRollup,
    ExpiringRollup,
    LevelRollup,
    StaleDay,
    EnrolmentRollup,
)


@dataclass(frozen=True, slots=True)
class ExpiringPart:
    """Points in one interval between the bounds, by its index."""

    part: int
    points: Decimal


LEDGER_DAYS = part("loyalty/programme/sql/ledger_days.sql", movement=case_sql(), amount=AMOUNT_SQL)
ROLL_UP_DAYS = command("loyalty/programme/sql/roll_up_days.sql", ledger_days=LEDGER_DAYS)
NOTE_ACTIVE = command("loyalty/programme/sql/note_active_members.sql", activity=activity_sql())
COUNT_ENROLLED = command("loyalty/programme/sql/count_enrolled.sql")
COUNT_ACTIVE = command("loyalty/programme/sql/count_active.sql")
COUNT_COHORTS = command("loyalty/programme/sql/count_cohorts.sql")
COUNT_ENROLMENTS = command("loyalty/programme/sql/count_enrolments.sql")
COUNT_REWARDED = query_values("loyalty/programme/sql/count_rewarded.sql", "rewarded")
FETCH_EXPIRING = query("loyalty/programme/sql/fetch_expiring.sql", returns=ExpiringPart)
FETCH_FIRST_DAY = query_values("loyalty/programme/sql/fetch_first_day.sql", "first_day")
NOTE_STALE_DAYS = command("loyalty/programme/sql/note_stale_days.sql")
MOVE_SETTLED = query_values("loyalty/programme/sql/move_settled.sql", "settled")


def month_of(day: date) -> date:
    """The first day of the month, which stands for the month."""
    return day.replace(day=1)


def months_between(first: date, last: date) -> list[date]:
    """The months from `first` to `last`, both included."""
    result = [first]
    while result[-1] < last:
        result.append(months_later(result[-1], 1))
    return result


def _first_day(brand: Brand) -> date | None:
    day: date | None = FETCH_FIRST_DAY.first(brand=brand.pk, zone=brand.time_zone)
    return day


def _clear(brand: Brand) -> None:
    for model in ROLLED:
        model.objects.filter(brand=brand).delete()


def _stale(brand: Brand, before: date) -> Iterable[date]:
    return StaleDay.objects.filter(brand=brand, day__lt=before).values_list("day", flat=True)


def _write(brand: Brand, first: date, last: date) -> None:
    """Removes stale days before it reads the ledger, so that a later entry marks them stale again."""
    StaleDay.objects.filter(brand=brand, day__range=(first, last)).delete()
    PointsRollup.objects.filter(brand=brand, day__range=(first, last)).delete()
    parameters: dict[str, Any] = {"brand": brand.pk, "zone": brand.time_zone, "first": first, "last": last}
    ROLL_UP_DAYS.run(**parameters)
    NOTE_ACTIVE.run(**parameters)
    until = ProgrammeWatermark.objects.values_list("until", flat=True).get(brand=brand)
    latest = month_of(max(last, until or last))
    touched = months_between(month_of(first), month_of(last))
    CohortRollup.objects.filter(brand=brand, month__in=touched).delete()
    COUNT_COHORTS.run(brand=brand.pk, zone=brand.time_zone, months=touched)
    followed = months_between(touched[0], min(months_later(touched[-1], LAPSED_MONTHS - 1), latest))
    COUNT_ACTIVE.run(brand=brand.pk, zone=brand.time_zone, months=followed, window=LAPSED_MONTHS)


def _count(brand: Brand, at: datetime, days: int) -> None:
    """Count what is valid at the end of the last closed day: members, levels, and points that will expire."""
    rule = rule_text(brand)
    mark = ProgrammeWatermark.objects.filter(brand=brand).first()
    if mark is None or mark.until is None:
        return
    if not days and mark.counted_until == mark.until and mark.expiry_rule == rule:
        return
    members = UserPoints.objects.filter(brand=brand).exclude(status=UserPoints.Status.MERGED)
    levels = list(members.order_by().values_list("current_level").annotate(Count("pk"), Sum("points_owed")))
    with transaction.atomic():
        ProgrammeWatermark.objects.select_for_update().get(brand=brand)
        COUNT_ENROLLED.run(brand=brand.pk, zone=brand.time_zone, last=mark.until)
        EnrolmentRollup.objects.filter(brand=brand).delete()
        COUNT_ENROLMENTS.run(brand=brand.pk, zone=brand.time_zone, last=mark.until)
        LevelRollup.objects.filter(brand=brand).delete()
        LevelRollup.objects.bulk_create(
            LevelRollup(brand=brand, level=name, members=number) for name, number, _owed in levels
        )
        ExpiringRollup.objects.filter(brand=brand).delete()
        ExpiringRollup.objects.bulk_create(
            ExpiringRollup(brand=brand, month=month, points=points)
            for month, points in expiring(brand, mark.until).items()
        )
        ProgrammeWatermark.objects.filter(brand=brand).update(
            counted_until=mark.until,
            counted_at=at,
            expiry_rule=rule,
            rewarded=COUNT_REWARDED.first(brand=brand.pk, at=at),
            owed=sum((owed for _name, _number, owed in levels), Decimal(0)),
        )


def rule_text(brand: Brand) -> str:
    """The brand's rule of expiry, for comparing."""
    return f"{brand.points_expire}:{brand.points_expire_after}"


def expiring(brand: Brand, until: date) -> dict[date, Decimal]:
    """The points that expire in each month unless redeemed, as of the end of the day `until`.

    Covers the current month and the next eleven, where any expire. Empty if points do not expire.
    """
    rule = expiry.rule_of(brand)
    if rule is None:
        return {}
    first = month_of(until + DAY)
    months = [months_later(first, number) for number in range(EXPIRING_MONTHS)]
    ends = [months_later(month, 1) - DAY for month in months]
    bounds = [local_time.midnight(rule.retained_from(end), brand.zone) for end in ends]
    before = local_time.midnight(until + DAY, brand.zone)
    parts = FETCH_EXPIRING.all(brand=brand.pk, bounds=bounds, before=before)
    return {months[each.part]: each.points for each in parts if each.part < len(months)}


DAYS = ClosedDays(ProgrammeWatermark, _first_day, _write, _clear, _stale, finish=_count)


def catch_up_all(*, at: datetime) -> int:
    """Roll up each brand's newly closed and stale days. Returns how many days."""
    _begin(Brand.objects.all())
    note_late_entries()
    return DAYS.catch_up_all(at=at)


def catch_up(*, brand: Brand, at: datetime) -> int:
    """Like `catch_up_all`, for one brand."""
    _begin([brand])
    note_late_entries()
    return DAYS.catch_up(brand=brand, at=at)


def rebuild(*, brand: Brand, at: datetime) -> int:
    """Rebuild all rollups from the ledger. Returns how many days."""
    _begin([brand])
    return DAYS.rebuild(brand=brand, at=at)


def _begin(brands: Iterable[Brand]) -> None:
    """Create missing watermarks. The first one sets the entry number from which late entries are checked."""
    rows = ProgrammeWatermark.objects
    known = set(rows.values_list("brand", flat=True))
    missing = [each for each in brands if each.pk not in known]
    if not missing:
        return
    number = 0
    if not known:
        newest = LoyaltyTransaction.objects.aggregate(newest=Max("pk"))["newest"] or 0
        number = max(newest - UNSETTLED_NUMBERS, 0)
    rows.bulk_create(
        [ProgrammeWatermark(brand=each, time_zone=each.time_zone, settled=number, seen=number) for each in missing],
        ignore_conflicts=True,
    )


def note_late_entries() -> None:
    """Mark closed days stale if entries were added since the last check."""
    with transaction.atomic():
        settled = MOVE_SETTLED.first()
        if settled is not None:
            # Binds on the client, so that the planner sees that few numbers are above this one.
            with connection.cursor() as cursor:
                cursor.execute(NOTE_STALE_DAYS.text, {"settled": settled})
