"""The monthly roll-forward: opening balance, each movement, closing balance, to the cent of the ledger."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.conf import settings
from django.db.models import Max
from django.utils.formats import date_format
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from brands.tenants.closed_days import DAY
from core.currencies import decimals_of
from core.db.statements import part, query
from core.moments import FIRST_DAY
from core.numbers import half_up
from loyalty.models.programme.rollups import ProgrammeWatermark
from loyalty.points.expiry_rules import months_later
from loyalty.programme.movements import AMOUNT_SQL, MOVEMENTS, OF_BALANCE, case_sql
from loyalty.programme.point_costs import PointCosts
from loyalty.programme.rollups import month_of

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class MonthPoints:
    """The sum of one movement in a month."""

    month: date
    movement: str
    points: Decimal
    entries: int


FETCH_POINTS = query(
    "loyalty/programme/sql/fetch_points.sql",
    returns=MonthPoints,
    ledger_days=part("loyalty/programme/sql/ledger_days.sql", movement=case_sql(), amount=AMOUNT_SQL),
)


@dataclass(frozen=True, slots=True)
class Month:
    """One month. `last_day` is its last day, or today in the current month; `cost` is per point on that day, if set."""

    month: date
    last_day: date
    opening: Decimal
    points: Mapping[str, Decimal]  # by movement, never negative
    entries: int
    closing: Decimal
    pending: Decimal  # at the end of the month, not part of the balance
    cost: Decimal | None
    currency: str

    @property
    def liability(self) -> Decimal | None:
        """The cost of the closing balance, rounded to the currency's decimals."""
        if self.cost is None:
            return None
        return half_up(self.closing * self.cost, decimals_of(self.currency))

    @property
    def is_over(self) -> bool:
        return month_of(self.last_day + DAY) != self.month


def months(*, brand: Brand, first: date, last: date, at: datetime) -> list[Month]:
    """The months `first` to `last`, each given by its first day. Leaves future months out."""
    today = brand.day_at(at)
    until = closed_until(brand)
    rows = FETCH_POINTS.all(
        brand=brand.pk,
        zone=brand.time_zone,
        until=until or FIRST_DAY - DAY,
        first=until + DAY if until else FIRST_DAY,
        last=today,
    )
    result: dict[date, dict[str, MonthPoints]] = {}
    for row in rows:
        result.setdefault(row.month, {})[row.movement] = row
    balance = sum((_moved(it) for month, it in result.items() if month < first), ZERO)
    pending = sum((_moved_pending(it) for month, it in result.items() if month < first), ZERO)
    costs = PointCosts(brand.pk)
    lines, month = [], first
    while month <= min(last, month_of(today)):
        in_month = result.get(month, {})
        last_day = min(months_later(month, 1) - DAY, today)
        closing = balance + _moved(in_month)
        pending += _moved_pending(in_month)
        lines.append(
            Month(
                month=month,
                last_day=last_day,
                opening=balance,
                points={each.name: in_month[each.name].points if each.name in in_month else ZERO for each in MOVEMENTS},
                entries=sum(row.entries for row in in_month.values()),
                closing=closing,
                pending=pending,
                cost=costs.on(last_day),
                currency=brand.currency,
            )
        )
        balance, month = closing, months_later(month, 1)
    return lines


def closed_until(brand: Brand) -> date | None:
    """The last day that is rolled up. None if all is read live, as after a change of the time zone."""
    marks = ProgrammeWatermark.objects.filter(brand=brand, time_zone=brand.time_zone)
    until: date | None = marks.aggregate(until=Max("until"))["until"]
    return until


def _moved(points: Mapping[str, MonthPoints]) -> Decimal:
    return sum((each.sign * points[each.name].points for each in MOVEMENTS if each.name in points), ZERO)


def _moved_pending(points: Mapping[str, MonthPoints]) -> Decimal:
    return sum((each.pending * points[each.name].points for each in MOVEMENTS if each.name in points), ZERO)


# --- As files --------------------------------------------------------------------------------------------------------


def as_csv(lines: Sequence[Month]) -> bytes:
    """One row per month. Movements that reduce the balance are negative, so that a row adds up."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(
        [
            "month",
            "until",
            "opening",
            *(each.name for each in OF_BALANCE),
            "closing",
            "pending",
            "entries",
            "cost_per_point",
            "currency",
            "liability",
        ]
    )
    for line in lines:
        writer.writerow(
            [
                line.month.strftime("%Y-%m"),
                line.last_day,
                line.opening,
                *(each.sign * line.points[each.name] for each in OF_BALANCE),
                line.closing,
                line.pending,
                line.entries,
                "" if line.cost is None else f"{line.cost.normalize():f}",
                line.currency,
                "" if line.liability is None else line.liability,
            ]
        )
    return file.getvalue().encode()


def as_pdf(*, brand: Brand, lines: Sequence[Month], at: datetime) -> bytes:
    """The roll-forward as a document. Raises a DomainError if the server cannot make documents."""
    context = {
        "brand": brand,
        "movements": OF_BALANCE,
        "rows": [_row(line) for line in lines],
        "is_open": bool(lines) and not lines[-1].is_over,
        "made": date_format(at.astimezone(brand.zone), "j F Y, H:i T"),
    }
    document: bytes = import_string(settings.DOCUMENTS)("loyalty/documents/roll_forward.html", context)
    return document


def _row(line: Month) -> dict[str, object]:
    movements = [each.sign * line.points[each.name] for each in OF_BALANCE]
    return {
        "month": date_format(line.month, "M Y"),
        "cells": [f"{points:,.2f}" for points in (line.opening, *movements, line.closing)],
        "entries": line.entries,
        "liability": _("no cost set") if line.liability is None else f"{line.liability:,} {line.currency}",
    }
