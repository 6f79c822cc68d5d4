"""Moments and days in a brand's time zone, which is shown next to the time."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.utils.dateparse import parse_date

from brands.models.tenants import Brand
from core import moments


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The start of a local day."""
    return datetime.combine(day, time.min, zone)


def last_second(day: date, zone: ZoneInfo) -> datetime:
    """The end of a local day, as forms write it."""
    return datetime.combine(day, time(23, 59, 59), zone)


def read_day(text: str) -> date | None:
    """Parse a day `2026-03-01` within the bounds; None for anything else."""
    try:
        day = parse_date(text) if text.isascii() else None
    except ValueError:
        return None
    return day if day and moments.is_within(day) else None


def on_days(name: str, first: date | None, last: date | None, *, brands: Iterable[Brand], path: str = "brand") -> Q:
    """Rows whose moment `name` is on one of these days, both included, in the zone of the brand at `path`."""

    def within(zones: Iterable[ZoneInfo]) -> Q:
        zones = list(zones)
        since = Q(**{f"{name}__gte": min(midnight(first, zone) for zone in zones)}) if first else Q()
        before = Q(**{f"{name}__lt": max(midnight(last + timedelta(days=1), zone) for zone in zones)}) if last else Q()
        return since & before

    by_zone: dict[ZoneInfo, list[int]] = {}
    for brand in brands:
        by_zone.setdefault(brand.zone, []).append(brand.pk)
    if not (first or last):
        return Q()
    if len(by_zone) < 2:
        return within(by_zone or [ZoneInfo("UTC")])
    rows = Q()
    for zone, ids in by_zone.items():
        rows |= Q(**{f"{path}__in": ids}) & within([zone])
    # The first condition limits what an index must read; the days of all zones lie within it.
    return within(by_zone) & rows
