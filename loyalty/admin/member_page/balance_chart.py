"""Chart of a member's balance over time, from the last ledger entries: a line, and a table of months."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from core.numbers import format_number
from loyalty.models.ledger import LoyaltyTransaction
from portal.figures import drawings

MAX_ENTRIES = 500
WIDTH, HEIGHT = 600, 140
FIELDS = ("created_at", "reason", "reason_id", "points_earned", "points_redeemed", "points_expired", "points_reversed")


@dataclass(frozen=True, slots=True)
class MonthRow:
    """Points `earned` and `gone` in the month, and the balance at its end."""

    month: str
    earned: str
    gone: str
    balance: str


@dataclass(frozen=True, slots=True)
class BalanceChart:
    """`line` is an SVG polyline in a box of WIDTH x HEIGHT. `note` says if older entries are left out."""

    line: str
    highest: str
    first: str
    last: str
    months: list[MonthRow]
    note: str


def last_entries(accounts: Sequence[int]) -> list[LoyaltyTransaction]:
    """The last entries of all accounts, newest first. Runs one indexed query per account."""
    entries = [
        entry
        for account in accounts
        for entry in LoyaltyTransaction.objects.filter(user_point=account)
        .only(*FIELDS)
        .order_by("-loyalty_transaction_id")[:MAX_ENTRIES]
    ]
    entries.sort(key=lambda entry: -entry.pk)
    return entries[:MAX_ENTRIES]


def chart_of(entries: Sequence[LoyaltyTransaction], *, balance: Decimal, zone: Any) -> BalanceChart | None:
    """Computes balances backwards from the current one. Returns None if there are too few entries for a line."""
    if len(entries) < 2:
        return None
    steps: list[tuple[datetime, Decimal, Decimal]] = []  # moment, change, balance after it
    for (at, _side), sides in groupby(entries, key=moment_of):
        change = sum((entry.change for entry in sides), Decimal(0))
        steps.append((at, change, balance))
        balance -= change
    steps.reverse()
    highest = max(after for _at, _change, after in steps)
    shortened = ""
    if len(entries) == MAX_ENTRIES:
        shortened = _("The last %(number)d ledger entries.") % {"number": MAX_ENTRIES}
    return BalanceChart(
        line=drawings.steps([(at.timestamp(), after) for at, _change, after in steps], width=WIDTH, height=HEIGHT),
        highest=format_number(highest),
        first=date_format(steps[0][0].astimezone(zone), "SHORT_DATE_FORMAT"),
        last=date_format(steps[-1][0].astimezone(zone), "SHORT_DATE_FORMAT"),
        months=months_of(steps, zone),
        note=shortened,
    )


def moment_of(entry: LoyaltyTransaction) -> tuple[datetime, int]:
    """The same for both sides of a merge, which takes the points from one of these accounts to the other."""
    return entry.created_at, 0 if entry.reason == LoyaltyTransaction.Reason.MERGED else entry.pk


def months_of(steps: Sequence[tuple[datetime, Decimal, Decimal]], zone: Any) -> list[MonthRow]:
    """Newest first."""
    months: dict[str, tuple[Decimal, Decimal, Decimal]] = {}
    for at, change, after in steps:
        month = date_format(at.astimezone(zone), "F Y")
        earned, gone, _balance = months.get(month, (Decimal(0), Decimal(0), after))
        months[month] = (earned + max(change, Decimal(0)), gone - min(change, Decimal(0)), after)
    rows = [MonthRow(month, *(format_number(points) for points in figures)) for month, figures in months.items()]
    return rows[::-1]
