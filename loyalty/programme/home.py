"""What Home displays about the programme: points and new members by day, over several brands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from brands.models.tenants import Brand
from brands.tenants.closed_days import DAY
from brands.tenants.local_time import midnight
from core.currencies import decimals_of
from core.db.statements import query
from core.moments import FIRST_DAY
from core.numbers import half_up
from loyalty.models.programme.rollups import ProgrammeWatermark
from loyalty.points.expiry_rules import months_later
from loyalty.programme.figures import Cohort
from loyalty.programme.movements import AMOUNT_SQL, BY_NAME, EARNED, EXPIRED, REDEEMED, REFUNDED, RELEASED, case_sql
from loyalty.programme.rollups import month_of, months_between

ZERO = Decimal(0)
MONTHS = 12


@dataclass(frozen=True, slots=True)
class DayPoints:
    """Points of a movement, by day, by month, or by brand."""

    day: date | None
    month: date | None
    brand_id: int | None
    movement: str
    points: Decimal


@dataclass(frozen=True, slots=True)
class MemberCount:
    """A number of members, or a cost, depending on `kind`."""

    kind: str
    day: date | None
    month: date | None
    name: str
    number: Decimal


@dataclass(frozen=True, slots=True)
class OutstandingCost:
    """The cost of all outstanding points of the brands with this currency that have a cost per point."""

    amount: Decimal
    currency: str


@dataclass
class Movements:
    """Points of a day or a month. `earned` includes releases; `spent` excludes refunds."""

    earned: Decimal = ZERO
    spent: Decimal = ZERO
    expired: Decimal = ZERO
    balance: Decimal = ZERO  # the change of the balances

    def add(self, movement: str, points: Decimal) -> None:
        if movement in {EARNED, RELEASED}:
            self.earned += points
        elif movement in {REDEEMED, REFUNDED}:
            self.spent += points if movement == REDEEMED else -points
        elif movement == EXPIRED:
            self.expired += points
        self.balance += BY_NAME[movement].sign * points


@dataclass(frozen=True, slots=True)
class Home:
    """`days` and `enrolled` begin at the first requested day; `months` are the last twelve. `outstanding` is now."""

    outstanding: Decimal = ZERO
    worth: tuple[OutstandingCost, ...] = ()
    days: dict[date, Movements] = field(default_factory=dict)
    months: dict[date, Movements] = field(default_factory=dict)
    enrolled: dict[date, int] = field(default_factory=dict)
    cohorts: tuple[Cohort, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()

    def on(self, day: date) -> Movements:
        return self.days.get(day) or Movements()

    def balances_after(self, days: Iterable[date]) -> list[Decimal]:
        """The balances at the end of each of these days, earliest first. All must be among the requested days."""
        latest_first = sorted(days, reverse=True)
        moved = sorted(self.days.items(), key=lambda each: each[0])
        result, balance = [], self.outstanding
        for day in latest_first:
            while moved and moved[-1][0] > day:
                balance -= moved.pop()[1].balance
            result.append(balance)
        return result[::-1]


FETCH_DAYS = query("loyalty/programme/sql/fetch_days.sql", returns=DayPoints, movement=case_sql(), amount=AMOUNT_SQL)
FETCH_MEMBERS = query("loyalty/programme/sql/fetch_members.sql", returns=MemberCount)


def home(*, brands: Sequence[Brand], first: date, last: date, at: datetime) -> Home:
    """Data for the days `first` to `last`, and for the last twelve months. Takes three statements."""
    if not brands:
        return Home()
    marks = {mark.brand_id: mark for mark in ProgrammeWatermark.objects.filter(brand__in=brands)}
    known = [mark if (mark := marks.get(brand.pk)) and mark.time_zone == brand.time_zone else None for brand in brands]
    until = [mark.until if mark else None for mark in known]
    counted = [mark.counted_until if mark else None for mark in known]
    today = max(brand.day_at(at) for brand in brands)
    values: dict[str, Any] = {
        "brands": [brand.pk for brand in brands],
        "zones": [brand.time_zone for brand in brands],
        "first": first,
        "last": last,
        "first_month": months_later(month_of(today), 1 - MONTHS),
    }
    since = [day + DAY if day else FIRST_DAY for day in until]
    moment = min(midnight(day, brand.zone) for day, brand in zip(since, brands, strict=True))
    points = _rows(FETCH_DAYS, {**values, "since": since, "moment": moment})
    uncounted = [day + DAY if day else FIRST_DAY for day in counted]
    members = _rows(FETCH_MEMBERS, {**values, "since": uncounted})
    return _home(brands, [DayPoints(*row) for row in points], [MemberCount(*row) for row in members], today)


def _rows(statement: Any, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Binds on the client, so that the planner sees how few days are read live."""
    with connection.cursor() as cursor:
        cursor.execute(statement.text, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _home(brands: Sequence[Brand], points: Sequence[DayPoints], members: Sequence[MemberCount], today: date) -> Home:
    days: dict[date, Movements] = {}
    months: dict[date, Movements] = {}
    balances: dict[int, Movements] = {}
    for row in points:
        if row.day:
            days.setdefault(row.day, Movements()).add(row.movement, row.points)
        elif row.month:
            months.setdefault(row.month, Movements()).add(row.movement, row.points)
        elif row.brand_id:
            balances.setdefault(row.brand_id, Movements()).add(row.movement, row.points)
    costs = {int(row.name): row.number for row in members if row.kind == "cost"}
    return Home(
        outstanding=sum((moved.balance for moved in balances.values()), ZERO),
        worth=tuple(_worth(brands, {brand_id: moved.balance for brand_id, moved in balances.items()}, costs)),
        days=days,
        months=months,
        enrolled={row.day: int(row.number) for row in members if row.kind == "enrolled" and row.day},
        cohorts=tuple(_cohorts(members, month_of(today))),
        levels=tuple(_levels(members)),
    )


def _worth(brands: Sequence[Brand], balances: dict[int, Decimal], costs: dict[int, Decimal]) -> list[OutstandingCost]:
    amounts: dict[str, Decimal] = {}
    for brand in brands:
        if (cost := costs.get(brand.pk)) is not None:
            amounts[brand.currency] = amounts.get(brand.currency, ZERO) + balances.get(brand.pk, ZERO) * cost
    return [
        OutstandingCost(half_up(amount, decimals_of(currency)), currency)
        for currency, amount in sorted(amounts.items())
    ]


def _cohorts(members: Sequence[MemberCount], last: date) -> list[Cohort]:
    active = {(row.day, row.month): int(row.number) for row in members if row.kind == "active"}
    sizes = {row.month: int(row.number) for row in members if row.kind == "cohort" and row.month}
    result = []
    for month in sorted(sizes):
        counts = tuple(active.get((month, each), 0) for each in months_between(month, last))
        result.append(Cohort(month, sizes[month], counts))
    return result


def _levels(members: Sequence[MemberCount]) -> list[tuple[str, int]]:
    """Lowest first. An empty name means no level."""
    order = {row.name: row.number for row in members if row.kind == "threshold"}
    rows = [(row.name, int(row.number)) for row in members if row.kind == "level"]
    return sorted(rows, key=lambda each: (bool(each[0]), order.get(each[0], Decimal("Infinity")), each[0]))
