"""Figures of Home beyond the dashboard's: a period and the one before, hours, and the funnel from code to customer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import sha256
from time import monotonic

from authcodes.dashboard import figures
from authcodes.dashboard.figures import Day, Scans, rows_of
from authcodes.dashboard.filters import Filters
from authcodes.dashboard.sources import Group, Parameters, Sources
from core.db.statements import part, query
from core.redis import slow_answers

DAY = timedelta(days=1)
MAX_DAYS = 366  # in a custom period
# With fewer scans, the scanners are counted again for each page.
MANY_SCANS = 50_000


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days, both inclusive, in each brand's own time zone."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The period of the same length directly before."""
        return Period(self.first - self.days * DAY, self.first - DAY)

    def __iter__(self) -> Iterator[date]:
        return (self.first + number * DAY for number in range(self.days))


@dataclass(frozen=True, slots=True)
class Hour:
    """Scans in an hour of a weekday; Monday is 1."""

    weekday: int
    hour: int
    scans: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """Codes made and printed; customers who scanned, who scanned on several days, and who redeemed a reward."""

    made: int = 0
    printed: int = 0
    unique_scanners: int = 0
    returned: int = 0
    rewarded: int = 0


COUNT_DAYS = part("authcodes/dashboard/sql/count_days.sql")
COUNT_HOURS = query("authcodes/dashboard/sql/count_hours.sql", returns=Hour)
COUNT_FUNNEL = query("authcodes/dashboard/sql/count_funnel.sql", returns=Funnel)


def scans_of(groups: Sequence[Group], filters: Filters, *, max_places: int) -> Scans:
    """One statement. Counting the scanners of many scans is slow, so their number may be a few minutes old."""
    key = f"unique-scanners:{sha256(repr((groups, filters)).encode()).hexdigest()}"
    saved = slow_answers.saved(key)
    began = monotonic()
    counted = figures.scans_of(groups, filters, max_places=max_places, unique_scanners=int(saved) if saved else None)
    seconds = monotonic() - began
    if saved is None and counted.total >= MANY_SCANS:
        slow_answers.save(key, str(counted.unique_scanners), seconds=seconds)
    return counted


def days_of(groups: Sequence[Group], filters: Filters, period: Period) -> list[Day]:
    """The days of the period that have scans, with the other filters applied. One statement."""
    if not groups:
        return []
    parameters = Parameters()
    narrowed = replace(filters, first_day=period.first, last_day=period.last)
    sources = [Sources(group, narrowed, parameters) for group in groups]
    parts = [each for it in sources for each in (*it.rolled(["day"]), *it.single(["day"]))]
    rows = rows_of(COUNT_DAYS.format(sources=" UNION ALL ".join(parts)), parameters.values)
    return [Day(day, int(accepted), int(warnings), int(errors)) for day, accepted, warnings, errors in rows]


def hours_of(groups: Sequence[Group], period: Period) -> list[Hour]:
    """Scans by hour, ignoring the other filters: no rollup has hours of single codes or places. One statement."""
    if not groups:
        return []
    open_since = [group.until + DAY if group.until else period.first for group in groups]
    rows = [
        (brand_id, str(group.zone), day)
        for group, day in zip(groups, open_since, strict=True)
        for brand_id in group.brand_ids
    ]
    brands, zones, since = (list(column) for column in zip(*rows, strict=True))
    values = {
        "brands": brands,
        "zones": zones,
        "since": since,
        "moment": min(group.midnight(max(day, period.first)) for group, day in zip(groups, open_since, strict=True)),
        "first": period.first,
        "last": period.last,
    }
    return [Hour(*row) for row in rows_of(COUNT_HOURS.text, values)]


def funnel_of(groups: Sequence[Group]) -> Funnel:
    """One statement."""
    brand_ids = [brand_id for group in groups for brand_id in group.brand_ids]
    return Funnel(*rows_of(COUNT_FUNNEL.text, {"brands": brand_ids})[0]) if brand_ids else Funnel()
