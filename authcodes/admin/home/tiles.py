"""The key figures at the top of Home, each with its change against the period before and a trend line."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from authcodes.dashboard.figures import Day
from authcodes.dashboard.home import Period
from core.numbers import format_number, grouped, rounded, signed
from loyalty.programme.home import Home
from portal.figures import drawings
from portal.figures.cards import percent_of

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Change:
    """The change against the period before. `direction`: up, down or level."""

    text: str
    direction: str


@dataclass(frozen=True, slots=True)
class Tile:
    title: str
    value: str
    note: str
    change: Change | None
    line: str  # the points of its SVG polyline
    link: str | None


def change_of(now: Number, before: Number) -> Change | None:
    """The change in percent; None if there is nothing to compare with."""
    if not before:
        return None
    percent = round(100 * float(now - before) / abs(float(before)))
    return changed(f"{signed(percent)} %", percent)


def percentage_points(now: float, before: float) -> Change:
    difference = round(now - before, 1)
    text = _("%(difference)s percentage points") % {"difference": signed(difference, 1)}
    return changed(text, difference)


def changed(text: str, difference: float) -> Change:
    direction = "up" if difference > 0 else "down" if difference < 0 else "level"
    return Change(text if difference else "± 0", direction)


@dataclass(frozen=True, slots=True)
class ScanDays:
    """The scans of the days of a period."""

    period: Period
    days: Sequence[Day]

    @property
    def total(self) -> int:
        return sum(day.total for day in self.days)

    @property
    def genuine_percent(self) -> float:
        return percent_of(sum(day.accepted for day in self.days), self.total)

    @property
    def by_day(self) -> dict[date, Day]:
        return {day.day: day for day in self.days}

    def totals(self) -> list[int]:
        known = self.by_day
        return [known[day].total if day in known else 0 for day in self.period]

    def percents(self) -> list[float]:
        """Without the days that had no scans: they have no percentage."""
        known = self.by_day
        return [percent_of(known[day].accepted, known[day].total) for day in self.period if day in known]


def scan_tiles(now: ScanDays, before: ScanDays, links: tuple[str | None, str | None]) -> list[Tile]:
    compared = percentage_points(now.genuine_percent, before.genuine_percent) if now.total and before.total else None
    rate = f"{rounded(now.genuine_percent, 1)} %" if now.total else "-"
    return [
        Tile(
            _("Scans"),
            format_number(now.total),
            _("all attempts"),
            change_of(now.total, before.total),
            drawings.line(now.totals()),
            links[0],
        ),
        Tile(_("Genuine"), rate, _("of all scans were accepted"), compared, drawings.line(now.percents()), links[1]),
    ]


def member_tile(home: Home, period: Period, link: str | None) -> Tile:
    counts = [home.enrolled.get(day, 0) for day in period]
    before = sum(home.enrolled.get(day, 0) for day in period.before)
    total = sum(counts)
    return Tile(
        _("New customers"),
        format_number(total),
        _("became members"),
        change_of(total, before),
        drawings.line(counts),
        link,
    )


def points_tiles(home: Home, period: Period, links: tuple[str | None, str | None, str | None]) -> list[Tile]:
    now, before = [home.on(day) for day in period], [home.on(day) for day in period.before]
    earned, spent = (sum(getattr(moved, name) for moved in now) for name in ("earned", "spent"))
    earned_before, spent_before = (sum(getattr(moved, name) for moved in before) for name in ("earned", "spent"))
    balance_before, *balances = home.balances_after([period.before.last, *period])
    worth = ", ".join(f"{grouped(each.amount)} {each.currency}" for each in home.worth)
    note = _("worth %(worth)s") % {"worth": worth} if worth else _("no cost per point is set")
    return [
        Tile(
            _("Points earned"),
            format_number(earned),
            _("credited to members"),
            change_of(earned, earned_before),
            drawings.line([moved.earned for moved in now]),
            links[0],
        ),
        Tile(
            _("Points spent"),
            format_number(spent),
            _("redeemed, less refunds"),
            change_of(spent, spent_before),
            drawings.line([moved.spent for moved in now]),
            links[1],
        ),
        Tile(
            _("Points outstanding"),
            format_number(balances[-1]),
            note,
            change_of(balances[-1], balance_before),
            drawings.line(balances),
            links[2],
        ),
    ]
