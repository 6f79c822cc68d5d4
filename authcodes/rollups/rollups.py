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
    ScannerRollup,
    UniqueScanner,
    UnscannedCodeAttempt,
)
from brands.models.tenants import Brand

logger = logging.getLogger(__name__)

# Points and places settle late, and points of a limited scan may be claimed once more: these days are done again.
AGAIN_DAYS = 3
# One statement takes no more days than this, so that a rebuild stays within the statement timeout.
PORTION_DAYS = 31
ROLLED: tuple[Any, ...] = (DayRollup, PlaceRollup, BatchPlaceRollup, ScannerRollup, UnscannedCodeAttempt)

COUNTS = """
    count(*) FILTER (WHERE s.outcome = 'success') AS accepted,
    count(*) FILTER (WHERE s.outcome = 'success' AND s.scan_count = 1) AS first_scans,
    count(*) FILTER (WHERE s.outcome = 'warning') AS warnings,
    count(*) FILTER (WHERE s.outcome = 'error') AS errors,
    count(*) FILTER (WHERE s.reason = 'recalled') AS recalled,
    COALESCE(sum(s.points_awarded), 0) AS points,
    count(*) FILTER (WHERE s.points_status = 'pending' OR s.latitude IS NOT NULL AND s.located_at IS NULL) AS unsettled
"""
NAMES = "accepted, first_scans, warnings, errors, recalled, points, unsettled"
SUMS = ", ".join(f"sum({name})" for name in NAMES.split(", "))

# The scans of whole local days, from the first to the last. `{day}` is what a row of them calls its day.
SCANS = """
      FROM authcodes_scan s
     WHERE s.brand_id = %(brand)s
       AND s.scanned_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s
       AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s
"""
DAY = "(s.scanned_at AT TIME ZONE %(zone)s)::date"
# Whether a scan's code is scanned now. Who found it scanned already need not look; the others look one by one, because
# no index on codes may know their count: each scan would have to change it.
OF_SCANNED_CODE = """
    (s.outcome = 'success' OR s.scan_count > 0
     OR COALESCE((SELECT c.scan_count > 0 FROM authcodes_authcode c WHERE c.id = s.auth_code_id), false))
"""
IN_VAIN = """
    (s.outcome <> 'success' AND s.scan_count = 0
     AND (SELECT c.scan_count = 0 FROM authcodes_authcode c WHERE c.id = s.auth_code_id))
"""

# One statement, so that all tables tell of the same moment.
ROLL_UP = f"""
    WITH cell AS (
        INSERT INTO authcodes_batchplacerollup (brand_id, day, batch_id, campaign_id, product_id, location, {NAMES})
        SELECT s.brand_id, {DAY} AS day, s.batch_id, s.campaign_id, s.product_id, s.location, {COUNTS}
        {SCANS}
         GROUP BY 1, 2, 3, 4, 5, 6
        RETURNING *
    ), day AS (
        INSERT INTO authcodes_dayrollup (brand_id, day, batch_id, campaign_id, product_id, {NAMES})
        SELECT brand_id, day, batch_id, campaign_id, product_id, {SUMS} FROM cell GROUP BY 1, 2, 3, 4, 5
    ), place AS (
        INSERT INTO authcodes_placerollup (brand_id, day, location, {NAMES})
        SELECT brand_id, day, location, {SUMS} FROM cell GROUP BY 1, 2, 3
    ), scanner AS (
        INSERT INTO authcodes_scannerrollup (brand_id, day, user_id, batch_id, campaign_id, location, scanned)
        SELECT s.brand_id, {DAY} AS day, s.user_id, s.batch_id, s.campaign_id, s.location, bool_or({OF_SCANNED_CODE})
        {SCANS} AND s.user_id IS NOT NULL
         GROUP BY 1, 2, 3, 4, 5, 6
        RETURNING brand_id, user_id, scanned
    ), vain AS (
        INSERT INTO authcodes_unscannedcodeattempt
               (brand_id, day, auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason)
        SELECT s.brand_id, {DAY} AS day, s.auth_code_id, s.user_id, s.batch_id, s.campaign_id, s.product_id,
               s.location, s.outcome, s.reason
        {SCANS} AND {IN_VAIN}
    )
    INSERT INTO authcodes_uniquescanner AS known (brand_id, user_id, scanned)
    SELECT brand_id, user_id, bool_or(scanned) FROM scanner GROUP BY 1, 2 ORDER BY 2
        ON CONFLICT (brand_id, user_id) DO UPDATE SET scanned = true WHERE excluded.scanned AND NOT known.scanned
"""  # noqa: S608 - built from constants

# Codes that were scanned after all: what was attempted before was no more in vain than any other attempt.
NOT_IN_VAIN = """
    WITH late AS (
        DELETE FROM authcodes_unscannedcodeattempt v
         WHERE v.brand_id = %(brand)s
           AND (SELECT c.scan_count > 0 FROM authcodes_authcode c WHERE c.id = v.auth_code_id)
        RETURNING v.*
    ), day AS (
        UPDATE authcodes_scannerrollup r SET scanned = true
          FROM late l
         WHERE r.brand_id = l.brand_id AND r.day = l.day AND r.user_id = l.user_id AND r.batch_id = l.batch_id
           AND r.campaign_id IS NOT DISTINCT FROM l.campaign_id AND r.location = l.location AND NOT r.scanned
    )
    UPDATE authcodes_uniquescanner k SET scanned = true
      FROM late l WHERE k.brand_id = l.brand_id AND k.user_id = l.user_id AND NOT k.scanned
"""

# The day of a scan, rolled up already, waits for what becomes of its points.
UNSETTLE = """
    UPDATE authcodes_dayrollup d SET unsettled = d.unsettled + 1
      FROM authcodes_scan s JOIN brands_brand b ON b.id = s.brand_id
     WHERE s.scan_id = %(scan_id)s AND d.brand_id = s.brand_id
       AND d.day = (s.scanned_at AT TIME ZONE b.time_zone)::date AND d.batch_id = s.batch_id
       AND d.campaign_id IS NOT DISTINCT FROM s.campaign_id AND d.product_id IS NOT DISTINCT FROM s.product_id
    RETURNING d.id
"""

FIRST_DAY = """
    SELECT (min(scanned_at) AT TIME ZONE %(zone)s)::date FROM authcodes_scan WHERE brand_id = %(brand)s
"""


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
    if not _run(UNSETTLE, {"scan_id": scan_id}):
        _run(UNSETTLE, {"scan_id": scan_id})


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
        _run(ROLL_UP, {"brand": brand.pk, "zone": brand.time_zone, "first": first, "last": last})
        _run(NOT_IN_VAIN, {"brand": brand.pk})
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
    found: date | None = _run(FIRST_DAY, {"brand": brand.pk, "zone": brand.time_zone})[0][0]
    return found


def _run(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def hand_over(*, user_id: int, brand_id: int, to: int) -> None:
    """For the erasure of a person's data: what they scanned counts as the pseudonym's from now on."""
    for model in (ScannerRollup, UniqueScanner, UnscannedCodeAttempt):
        model._default_manager.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)  # noqa: SLF001
