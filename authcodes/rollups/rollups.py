"""Rollups: the only code that writes what the scans of closed days add up to, for the dashboard.

A rollup is derived from Scan, and from which codes are scanned, and can be made again at any time. Today stays out of
it: the dashboard reads today from Scan, so figures are fresh and a scan writes nothing for them.
"""

import logging
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from authcodes.models.rollups import (
    BatchPlaceRollup,
    DayRollup,
    PlaceRollup,
    RollupWatermark,
    UniqueScanner,
    UniqueScannerRollup,
    UnscannedCodeAttempt,
)
from brands.models.tenants import Brand
from core.db.statements import command, part, query_values

logger = logging.getLogger(__name__)

# Points and places settle late, and points of a limited scan may be claimed once more: these days are done again.
AGAIN_DAYS = 3
# One statement takes no more days than this, so that a rebuild stays within the statement timeout.
PORTION_DAYS = 31
ROLLED: tuple[Any, ...] = (DayRollup, PlaceRollup, BatchPlaceRollup, UniqueScannerRollup, UnscannedCodeAttempt)

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
FETCH_FIRST_DAY = query_values("authcodes/rollups/sql/fetch_first_day.sql", "first_day")


def roll_up(*, brand: Brand, day: date) -> None:
    """Make the rollup of one closed day of the brand's zone, or make it again. Raises ValueError while it lasts."""
    _roll_up(brand, day, day, today=local_day(brand, timezone.now()))


def catch_up_all(*, at: datetime) -> int:
    """Catch up at each brand; returns how many days. One at which it fails is told in the log, and tried again."""
    days = 0
    for brand in Brand.objects.order_by("pk"):
        try:
            days += catch_up(brand=brand, at=at)
        except Exception as error:
            if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
                raise
            logger.exception("the days of the brand %s could not be rolled up", brand.slug)
    return days


def catch_up(*, brand: Brand, at: datetime) -> int:
    """Roll up every day that has closed by `at`, and again those that may have changed; returns how many days."""
    today = local_day(brand, at)
    mark = RollupWatermark.objects.filter(brand=brand).first()
    if mark is None or mark.until is None or mark.time_zone != brand.time_zone:
        return rebuild(brand=brand, at=at)
    recent = mark.until - timedelta(days=AGAIN_DAYS - 1)
    again = DayRollup.objects.filter(brand=brand, unsettled__gt=0, day__lt=recent)
    days = sorted(set(again.values_list("day", flat=True)))
    for day in days:
        _roll_up(brand, day, day, today=today)
    return len(days) + _roll_up_portions(brand, recent, today)


def mark_stale(*, scan_id: UUID) -> None:
    """Have a scan's day rolled up again once its points are settled. Joins the transaction that makes them pending."""
    # Nothing found may mean that the day was just being rolled up again: its new row is there for a second look.
    if not MARK_DAY_STALE.run(scan_id=scan_id):
        MARK_DAY_STALE.run(scan_id=scan_id)


def rebuild(*, brand: Brand, at: datetime) -> int:
    """Forget the brand's rollups and make them from its scans; returns how many days. Meanwhile all is read live."""
    today = local_day(brand, at)
    with transaction.atomic():
        _hold(brand)
        for model in (*ROLLED, UniqueScanner):
            model.objects.filter(brand=brand).delete()
        RollupWatermark.objects.filter(brand=brand).update(until=None, time_zone=brand.time_zone)
    first = _first_day(brand) or today - timedelta(days=1)
    return _roll_up_portions(brand, first, today)


def local_day(brand: Brand, at: datetime) -> date:
    return at.astimezone(brand.zone).date()


def _roll_up_portions(brand: Brand, first: date, today: date) -> int:
    """From the first day to yesterday, in order, so that the mark can follow."""
    days = max((today - first).days, 0)
    for begin in range(0, days, PORTION_DAYS):
        last = min(begin + PORTION_DAYS, days) - 1
        _roll_up(brand, first + timedelta(days=begin), first + timedelta(days=last), today=today)
    return days


def _roll_up(brand: Brand, first: date, last: date, *, today: date) -> None:
    if last >= today:
        message = f"{last} has not ended in {brand.time_zone}"
        raise ValueError(message)
    with transaction.atomic():
        mark = _hold(brand)
        for model in ROLLED:
            model.objects.filter(brand=brand, day__range=(first, last)).delete()
        ROLL_UP_DAYS.run(brand=brand.pk, zone=brand.time_zone, first=first, last=last)
        NOTE_SCANNED_CODES.run(brand=brand.pk)
        _advance(mark, brand, first, last)


def _hold(brand: Brand) -> RollupWatermark:
    """The brand's mark, locked: one rollup of a brand at a time. Call inside a transaction."""
    RollupWatermark.objects.get_or_create(brand=brand, defaults={"time_zone": brand.time_zone})
    return RollupWatermark.objects.select_for_update().get(brand=brand)


def _advance(mark: RollupWatermark, brand: Brand, first: date, last: date) -> None:
    """The mark moves on only if no day before the first of these is missing."""
    if mark.until is None:
        begins = _first_day(brand)
        follows = begins is None or first <= begins
    else:
        follows = first <= mark.until + timedelta(days=1) and last > mark.until
    if follows and mark.time_zone == brand.time_zone:
        mark.until = last
        mark.save(update_fields=["until"])


def _first_day(brand: Brand) -> date | None:
    day: date | None = FETCH_FIRST_DAY.first(brand=brand.pk, zone=brand.time_zone)
    return day


def reassign(*, user_id: int, brand_id: int, to: int) -> None:
    """For the erasure of a person's data: what they scanned counts as the pseudonym's from now on."""
    for model in (UniqueScannerRollup, UniqueScanner, UnscannedCodeAttempt):
        model._default_manager.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)  # noqa: SLF001
