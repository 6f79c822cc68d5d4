"""The days that Home shows, and the days that they are compared with."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from authcodes.dashboard.home import MAX_DAYS, Period
from portal.lists.local_time import day_and_month, day_text

LENGTHS = {"today": 1, "7": 7, "30": 30, "90": 90}
USUAL = "30"
CUSTOM = "custom"
DAYS = ("first_day", "last_day")


@dataclass(frozen=True, slots=True)
class Choice:
    title: str
    link: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """`name`: a key of LENGTHS, or CUSTOM."""

    name: str
    period: Period

    @property
    def title(self) -> str:
        return span(self.period)

    @property
    def before(self) -> str:
        return span(self.period.before)


def chosen(data: QueryDict, *, first: date | None, last: date | None, today: date) -> Chosen:
    """Two given days, or a length that ends today. A missing day is derived from the other; at most MAX_DAYS days."""
    if first or last:
        last = last or min(today, (first or today) + timedelta(days=MAX_DAYS - 1))
        first = first or last - timedelta(days=LENGTHS[USUAL] - 1)
        last = max(first, last)
        return Chosen(CUSTOM, Period(max(first, last - timedelta(days=MAX_DAYS - 1)), last))
    name = data.get("period", USUAL)
    name = name if name in LENGTHS else USUAL
    return Chosen(name, Period(today - timedelta(days=LENGTHS[name] - 1), today))


def choices(data: QueryDict, current: str) -> list[Choice]:
    """The switch between lengths; it keeps the other filters."""
    titles = {"today": _("Today"), "7": _("7 days"), "30": _("30 days"), "90": _("90 days")}
    return [Choice(titles[name], with_values(data, period=name), name == current) for name in LENGTHS]


def with_values(data: QueryDict, **values: str) -> str:
    """The address of Home with these values. A chosen length replaces custom days."""
    query = _without(data, values)
    query.update(values)
    return f"?{query.urlencode()}"


def with_locations(data: QueryDict) -> Callable[[str], str]:
    """Returns a function from a place to Home's address with it. The addresses differ only at their end."""
    filters = _without(data, {"location"}).urlencode()
    begin = f"?{filters}&" if filters else "?"
    return lambda location: begin + urlencode({"location": location})


def _without(data: QueryDict, names: Collection[str]) -> QueryDict:
    query = data.copy()
    for name in [*query]:
        if name in names or not query[name] or ("period" in names and name in DAYS):
            del query[name]
    return query


def span(period: Period) -> str:
    first = (day_text if period.first.year != period.last.year else day_and_month)(period.first)
    last = day_text(period.last)
    return last if period.days == 1 else _("%(first)s to %(last)s") % {"first": first, "last": last}
