"""Moments and days as a brand's people mean them: in its time zone, which is named beside the time."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import DateTimeField, Q
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from brands import moments
from brands.models import Brand


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """When a local day begins."""
    return datetime.combine(day, time.min, zone)


def read_day(text: str) -> date | None:
    """A day as `2026-03-01` and within the bounds; None for anything else."""
    try:
        day = parse_date(text) if text.isascii() else None
    except ValueError:
        return None
    return day if day and moments.is_within(day) else None


def on_days(name: str, first: date | None, last: date | None, *, brands: Iterable[Brand], path: str = "brand") -> Q:
    """Rows whose moment `name` lies on one of these days, both included, of the brand that `path` leads to."""

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
    found = Q()
    for zone, ids in by_zone.items():
        found |= Q(**{f"{path}__in": ids}) & within([zone])
    # The first limits what an index has to read; no zone's days lie outside of it.
    return within(by_zone) & found


def told(moment: datetime, zone: Any) -> SafeString:
    """A moment for people: local, to the minute, with its zone's short name and, where one points at it, its name."""
    local = moment.astimezone(zone)
    return format_html(
        '<time datetime="{}" title="{}" class="whitespace-nowrap">{} {}</time>',
        local.isoformat(),
        zone,
        date_format(local, "j M Y, H:i"),
        local.tzname(),
    )


class MomentColumn:
    """A list's column of moments, each in the zone of its row's brand; `zones` by the brand's id.

    Two of the same field are equal, because Django makes columns twice and compares them.
    """

    def __init__(self, field: "DateTimeField[Any, Any]", zones: Mapping[int, ZoneInfo], brand_id_of: Any) -> None:
        self.__name__ = self.admin_order_field = field.name
        self.short_description = field.verbose_name
        self.zones, self.brand_id_of = zones, brand_id_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MomentColumn) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __call__(self, row: Any) -> SafeString | None:
        moment = getattr(row, self.__name__)
        return told(moment, self.zone_of(row)) if moment else None

    def zone_of(self, row: Any) -> Any:
        """Where all brands share a zone, no row is asked for its brand."""
        zones = set(self.zones.values())
        return zones.pop() if len(zones) == 1 else self.zones.get(self.brand_id_of(row), UTC)
