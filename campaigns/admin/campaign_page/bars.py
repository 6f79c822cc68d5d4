"""The bar chart of a campaign's days: members who began, and milestones that were reached."""

from collections.abc import Mapping
from datetime import date, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from campaigns.progress.results import DayResults
from core.numbers import grouped
from portal.figures import drawings
from portal.figures.drawings import Chart
from portal.lists.local_time import day_and_month

MAX_BARS = 31  # with more days, each bar stands for several
DAY = timedelta(days=1)


def chart_of(days: Mapping[date, DayResults], *, first: date, last: date) -> Chart:
    """A chart from `first` to `last`, with at most MAX_BARS bars of equally many days."""
    span = max(1, (last - first).days + 1)
    days_per_bar = -(-span // MAX_BARS)
    periods = [
        (first + DAY * at, min(last, first + DAY * (at + days_per_bar - 1))) for at in range(0, span, days_per_bar)
    ]
    sums = [_sum(days, *period) for period in periods]
    names = [date_format(begins, "SHORT_DATE_FORMAT") for begins, _ends in periods]
    names[-1] = date_format(last, "SHORT_DATE_FORMAT")
    titles = [
        f"{_label(*period)}: {grouped(begun)} / {grouped(won)}"
        for period, (begun, won) in zip(periods, sums, strict=True)
    ]
    series = [("begun", [begun for begun, _won in sums]), ("won", [won for _begun, won in sums])]
    return drawings.bars(names, titles, series, are_parts=False, max_labels=2)


def _label(first: date, last: date) -> str:
    begins, ends = day_and_month(first), day_and_month(last)
    return begins if first == last else _("%(first)s to %(last)s") % {"first": begins, "last": ends}


def _sum(days: Mapping[date, DayResults], first: date, last: date) -> tuple[int, int]:
    begun = won = 0
    day = first
    while day <= last:
        if result := days.get(day):
            begun, won = begun + result.begun, won + result.won
        day += DAY
    return begun, won
