"""Bars of a chart as an inline picture: places and sizes alone, for a strict content policy allows no styles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from campaigns.progress.results import DayResults
from portal.lists.local_time import day_and_month

WIDTH, HEIGHT = 640, 120
MAX_DAYS = 31  # bars of a day each; of more days, each bar is a week or more
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One period's bars side by side: members who began, milestones that were reached."""

    first: date
    last: date
    begun: int
    won: int
    x: float
    width: float
    begun_height: float
    won_height: float

    @property
    def label(self) -> str:
        first, last = day_and_month(self.first), day_and_month(self.last)
        return first if self.first == self.last else _("%(first)s to %(last)s") % {"first": first, "last": last}

    @property
    def won_x(self) -> float:
        return round(self.x + self.width, 2)

    @property
    def begun_y(self) -> float:
        return round(HEIGHT - self.begun_height, 2)

    @property
    def won_y(self) -> float:
        return round(HEIGHT - self.won_height, 2)


@dataclass(frozen=True, slots=True)
class Chart:
    """`most`: what a bar of full height is."""

    bars: Sequence[Bar]
    most: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def first(self) -> str:
        return date_format(self.bars[0].first, "SHORT_DATE_FORMAT")

    @property
    def last(self) -> str:
        return date_format(self.bars[-1].last, "SHORT_DATE_FORMAT")


def chart_of(days: Mapping[date, DayResults], *, first: date, last: date) -> Chart:
    """Of the days from `first` to `last`, in at most MAX_DAYS bars of equally many days."""
    span = max(1, (last - first).days + 1)
    each = -(-span // MAX_DAYS)
    periods = [(first + DAY * at, min(last, first + DAY * (at + each - 1))) for at in range(0, span, each)]
    sums = [_sum(days, *period) for period in periods]
    most = max([1, *(max(pair) for pair in sums)])
    room = WIDTH / len(periods)
    bars = [
        Bar(
            first=begins,
            last=ends,
            begun=begun,
            won=won,
            x=round(room * at + room * 0.12, 2),
            width=round(room * 0.38, 2),
            begun_height=round((HEIGHT - 4) * begun / most, 2),
            won_height=round((HEIGHT - 4) * won / most, 2),
        )
        for at, ((begins, ends), (begun, won)) in enumerate(zip(periods, sums, strict=True))
    ]
    return Chart(bars, most)


def _sum(days: Mapping[date, DayResults], first: date, last: date) -> tuple[int, int]:
    begun = won = 0
    day = first
    while day <= last:
        if result := days.get(day):
            begun, won = begun + result.begun, won + result.won
        day += DAY
    return begun, won
