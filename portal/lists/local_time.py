"""Moments in lists, in the brand's time zone."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import DateTimeField
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from portal.lists.field_column import FieldColumn


def display_moment(moment: datetime, zone: Any) -> SafeString:
    """A moment for people: local, to the minute, with its zone's short name, and the full name as a tooltip."""
    local = moment.astimezone(zone)
    return format_html(
        '<time datetime="{}" title="{}" class="whitespace-nowrap">{}</time>',
        local.isoformat(),
        zone,
        moment_text(moment, zone),
    )


def moment_text(moment: datetime, zone: Any) -> str:
    """The same within a sentence."""
    local = moment.astimezone(zone)
    return f"{date_format(local, 'SHORT_DATE_FORMAT')}, {date_format(local, 'H:i')} {local.tzname()}"


def day_text(day: date) -> str:
    """A day without a time; a moment's day is in the moment's own zone."""
    return date_format(day, "SHORT_DATE_FORMAT")


def day_and_month(day: date) -> str:
    """For places with little room where the year is known, such as under a chart."""
    return date_format(day, pgettext("how a day is written without its year", "j M"))


class DayColumn(FieldColumn):
    """A list's column of days."""

    def __call__(self, row: Any) -> str | None:
        day: date | None = getattr(row, self.__name__)
        return None if day is None else day_text(day)


class MomentColumn(FieldColumn):
    """A list's column of moments, each in the zone of its row's brand; `zones` by the brand's id."""

    def __init__(self, field: "DateTimeField[Any, Any]", zones: Mapping[int, ZoneInfo], brand_id_of: Any) -> None:
        super().__init__(field)
        self.zones, self.brand_id_of = zones, brand_id_of

    def __call__(self, row: Any) -> SafeString | None:
        moment = getattr(row, self.__name__)
        return display_moment(moment, self.zone_of(row)) if moment else None

    def zone_of(self, row: Any) -> Any:
        """If all brands share a zone, no row's brand is read."""
        zones = set(self.zones.values())
        return zones.pop() if len(zones) == 1 else self.zones.get(self.brand_id_of(row), UTC)
