"""The charts of Home, each with its table of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from html import escape

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from authcodes.admin.home.tiles import ScanDays
from authcodes.dashboard.figures import Codes, Day
from authcodes.dashboard.home import Funnel, Hour
from core.numbers import format_number
from loyalty.programme.home import ZERO, Home
from portal.figures import drawings
from portal.figures.cards import percent_of
from portal.figures.drawings import Box, Chart
from portal.figures.tables import TableRow
from portal.lists.local_time import day_and_month

MAX_BARS = 62


@dataclass(frozen=True, slots=True)
class Stage:
    """A step from a code to a customer with a reward. `percent`: relative to the largest step of its kind."""

    title: str
    value: str
    note: str
    percent: float
    link: str | None


@dataclass(frozen=True, slots=True)
class Charted:
    chart: Chart
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class CohortCell:
    """`level`: colour intensity from 0 to 10."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class CohortRow:
    title: str
    size: str
    cells: tuple[CohortCell, ...]

    def as_html(self) -> str:
        """The row as HTML, like portal.figures.tables.TableRow."""
        cells = "".join(f'<td class="heat-{cell.level}">{escape(cell.text)}</td>' for cell in self.cells)
        return f"<tr><th>{escape(self.title)}</th><td>{escape(self.size)}</td>{cells}</tr>"


@dataclass(frozen=True, slots=True)
class Hours:
    boxes: tuple[Box, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]
    rows: tuple[TableRow, ...]
    total: int


def scans_by_day(scans: ScanDays) -> Charted:
    """A bar for each day, or for several days if there are too many bars."""
    days, known = list(scans.period), scans.by_day
    step = -(-len(days) // MAX_BARS)
    step = step if step == 1 else -(-step // 7) * 7
    names, titles, rows = [], [], []
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for begin in range(0, len(days), step):
        of_bar = [known[day] for day in days[begin : begin + step] if day in known]
        counts = _counts(of_bar)
        for values, count in zip(parts, counts, strict=True):
            values.append(count)
        name = day_and_month(days[begin])
        names.append(name)
        title = name if step == 1 else f"{name} - {day_and_month(days[min(begin + step, len(days)) - 1])}"
        titles.append(f"{title}: {format_number(sum(counts))}")
        rows.append(TableRow(title, tuple(format_number(count) for count in counts)))
    series = list(zip(("accepted", "warnings", "errors"), parts, strict=True))
    return Charted(drawings.bars(names, titles, series), tuple(reversed(rows)))


def _counts(days: Sequence[Day]) -> tuple[int, int, int]:
    return sum(it.accepted for it in days), sum(it.warnings for it in days), sum(it.errors for it in days)


def funnel(codes: Codes, counted: Funnel, links: dict[str, str | None], *, sees_customers: bool) -> list[list[Stage]]:
    """Codes and, if the user may see them, customers. The scales differ, because a customer scans many codes."""
    made = [
        (_("Generated"), counted.made, _("codes"), "made"),
        (_("Assigned"), codes.assigned, _("have a product"), "assigned"),
        (_("Printed"), counted.printed, _("in print files of batches"), "printed"),
        (_("Scanned"), codes.scanned, _("accepted at least once"), "scanned"),
    ]
    customers = [
        (_("Known customers"), counted.unique_scanners, _("scanned"), "scanners"),
        (_("Came back"), counted.returned, _("scanned on several days"), "returned"),
        (_("Took a reward"), counted.rewarded, _("redeemed at least one reward"), "rewarded"),
    ]
    return [
        [
            Stage(title, format_number(number), note, percent_of(number, max(one[1] for one in kind)), links.get(name))
            for title, number, note, name in kind
        ]
        for kind in ([made, customers] if sees_customers else [made])
    ]


def points_by_month(home: Home, today: date) -> Charted:
    """The last twelve months, with the points on all balances at the end of each."""
    months = []
    month = today.replace(day=1)
    for _number in range(12):
        months.append(month)
        month = (month - timedelta(days=1)).replace(day=1)
    months.reverse()
    moved = [home.months.get(each) for each in months]
    balances: list[Decimal] = []
    balance = home.outstanding
    for each in reversed(moved):
        balances.append(max(balance, ZERO))
        balance -= each.balance if each else 0
    balances.reverse()
    names = [date_format(each, "M") for each in months]
    values = [tuple(getattr(each, name) if each else 0 for each in moved) for name in ("earned", "spent", "expired")]
    full = [date_format(each, "YEAR_MONTH_FORMAT") for each in months]
    rows = [
        TableRow(name, tuple(format_number(number) for number in (*numbers, balance)))
        for name, *numbers, balance in zip(full, *values, balances, strict=True)
    ]
    titles = [
        _("%(month)s: %(earned)s earned, %(spent)s spent, %(expired)s expired, %(balance)s outstanding")
        % dict(zip(("month", "earned", "spent", "expired", "balance"), (row.title, *row.cells), strict=True))
        for row in rows
    ]
    series = list(zip(("earned", "spent", "expired"), values, strict=True))
    return Charted(drawings.bars(names, titles, series, over=balances, max_labels=12), tuple(reversed(rows)))


def cohorts(home: Home) -> list[CohortRow]:
    """Cohorts in the order of their months, newest last."""
    return [
        CohortRow(
            date_format(each.month, "YEAR_MONTH_FORMAT"),
            format_number(each.enrolled),
            tuple(CohortCell(f"{percent:.0f} %", min(round(percent / 10), 10)) for percent in each.percents),
        )
        for each in home.cohorts
    ]


def hours(counted: Sequence[Hour]) -> Hours:
    """A heat map of seven rows of twenty-four hours."""
    numbers = {(each.weekday, each.hour): each.scans for each in counted}
    values = [[numbers.get((weekday, hour), 0) for hour in range(24)] for weekday in range(1, 8)]
    names = [str(WEEKDAYS[number]) for number in range(7)]
    titles = [
        [f"{name}, {hour}:00: {format_number(row[hour])}" for hour in range(24)]
        for name, row in zip(names, values, strict=True)
    ]
    rows = tuple(
        TableRow(f"{hour}:00", tuple(format_number(values[weekday][hour]) for weekday in range(7)))
        for hour in range(24)
    )
    short_names = tuple(str(WEEKDAYS_ABBR[number]) for number in range(7))
    return Hours(drawings.cells(values, titles), tuple(names), short_names, rows, sum(map(sum, values)))
