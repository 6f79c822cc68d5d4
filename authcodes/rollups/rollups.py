"""Rollups: the only code that writes the sums of closed days' scans, for the dashboard.

A rollup is derived from Scan and from which codes are scanned, and can be built again at any time. Today is left out:
the dashboard reads it from Scan, so figures are fresh and a scan writes nothing for them.
"""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any
from uuid import UUID

from authcodes.models.rollups import (
    BatchPlaceRollup,
    DayRollup,
    HourRollup,
    PlaceRollup,
    RollupWatermark,
    UniqueScanner,
    UniqueScannerRollup,
    UnscannedCodeAttempt,
)
from brands.models.tenants import Brand
from brands.tenants.closed_days import ClosedDays
from core.db.statements import command, part, query_values

# Points and places settle late, and points held back by a limit may be claimed later, so these days are repeated.
AGAIN_DAYS = 3
ROLLED: tuple[Any, ...] = (
    DayRollup,
    PlaceRollup,
    BatchPlaceRollup,
    UniqueScannerRollup,
    UnscannedCodeAttempt,
    HourRollup,
)

COUNT_SCANS = part("authcodes/rollups/sql/count_scans.sql")
OF_SCANNED_CODE = part("authcodes/rollups/sql/of_scanned_code.sql")
UNSUCCESSFUL = part("authcodes/rollups/sql/unsuccessful.sql")
ROLL_UP_DAYS = command(
    "authcodes/rollups/sql/roll_up_days.sql",
    counts=COUNT_SCANS,
    of_scanned_code=OF_SCANNED_CODE,
    unsuccessful=UNSUCCESSFUL,
)
NOTE_SCANNED_CODES = command("authcodes/rollups/sql/note_scanned_codes.sql")
MARK_DAY_STALE = command("authcodes/rollups/sql/mark_day_stale.sql")
COUNT_RETURNING = command("authcodes/rollups/sql/count_returning.sql")
FETCH_FIRST_DAY = query_values("authcodes/rollups/sql/fetch_first_day.sql", "first_day")


def _first_day(brand: Brand) -> date | None:
    day: date | None = FETCH_FIRST_DAY.first(brand=brand.pk, zone=brand.time_zone)
    return day


def _clear(brand: Brand) -> None:
    for model in (*ROLLED, UniqueScanner):
        model.objects.filter(brand=brand).delete()
    RollupWatermark.objects.filter(brand=brand).update(counted_until=None)


def _write(brand: Brand, first: date, last: date) -> None:
    for model in ROLLED:
        model.objects.filter(brand=brand, day__range=(first, last)).delete()
    ROLL_UP_DAYS.run(brand=brand.pk, zone=brand.time_zone, first=first, last=last)
    NOTE_SCANNED_CODES.run(brand=brand.pk)


def _stale(brand: Brand, before: date) -> Iterable[date]:
    return DayRollup.objects.filter(brand=brand, unsettled__gt=0, day__lt=before).values_list("day", flat=True)


def _count(brand: Brand, _at: datetime, _days: int) -> None:
    """Count returning customers once for each closed day, and again after an erasure."""
    mark = RollupWatermark.objects.filter(brand=brand).first()
    if mark and mark.until and mark.counted_until != mark.until:
        COUNT_RETURNING.run(brand=brand.pk, until=mark.until)


DAYS = ClosedDays(RollupWatermark, _first_day, _write, _clear, _stale, AGAIN_DAYS, _count)
roll_up, catch_up, catch_up_all, rebuild = DAYS.roll_up, DAYS.catch_up, DAYS.catch_up_all, DAYS.rebuild


def mark_stale(*, scan_id: UUID) -> None:
    """Have a scan's day rolled up again once its points are settled. Joins the transaction that makes them pending."""
    # If nothing is found, the day may be in the middle of a new rollup: a second attempt finds its new row.
    if not MARK_DAY_STALE.run(scan_id=scan_id):
        MARK_DAY_STALE.run(scan_id=scan_id)


def reassign(*, user_id: int, brand_id: int, to: int) -> None:
    """For an erasure: attribute the person's scans to the pseudonym from now on."""
    for model in (UniqueScannerRollup, UniqueScanner, UnscannedCodeAttempt):
        model._default_manager.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)
    RollupWatermark.objects.filter(brand=brand_id).update(counted_until=None)
