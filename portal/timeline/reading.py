"""Reads a page of a customer's timeline: the keys in one statement, then the rows of each kind by their keys."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from django.core import signing
from django.utils import timezone

from core.db.statements import Query, query
from core.numbers import format_number
from portal.timeline.sources import Subject, TimelineItem, TimelineSource, sources

PER_PAGE = 30
SALT = "portal.timeline"
ALWAYS = "infinity"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of fetch_timeline.sql."""

    kind: str
    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Place:
    """The start of a page: the last row of each kind before it, and the balance there."""

    until: str = ALWAYS
    rows: Mapping[str, list[str]] = field(default_factory=dict)
    balance: Decimal | None = None


@dataclass(frozen=True, slots=True)
class TimelinePortion:
    """`older` is the place of the next page; empty on the last one."""

    lines: list[TimelineItem]
    older: str
    is_first: bool


@cache
def statement() -> Query[Row]:
    """Built from the branches of all sources, each a whole SELECT."""
    branches = "\nUNION ALL\n".join(f"({source.branch})" for source in sources().values())
    return query("portal/timeline/sql/fetch_timeline.sql", returns=Row, branches=branches)


def read(subject: Subject, *, kinds: Sequence[TimelineSource], balance: Decimal, older: str = "") -> TimelinePortion:
    """The page after the place `older`, as returned by the previous page; the first one if it is not valid.

    `balance`: the customer's current balance.
    """
    place = read_place(older, subject, kinds)
    rows = fetch(subject, kinds={source.name for source in kinds}, place=place, most=PER_PAGE + 1)
    lines, balance = described(subject, rows[:PER_PAGE], balance=balance if place.balance is None else place.balance)
    following = write_place(place, rows[:PER_PAGE], balance, subject, kinds) if len(rows) > PER_PAGE else ""
    return TimelinePortion(lines, following, is_first=place.until == ALWAYS)


def fetch(subject: Subject, *, kinds: Collection[str], place: Place, most: int) -> list[Row]:
    return statement().all(
        accounts=list(subject.accounts),
        users=list(subject.users),
        brand=subject.brand.pk,
        kinds=sorted(kinds),
        places=json.dumps(place.rows),
        until=place.until,
        most=most,
    )


def described(subject: Subject, rows: Sequence[Row], *, balance: Decimal) -> tuple[list[TimelineItem], Decimal]:
    """The rows as lines, each ledger entry with the balance after it; and the balance before all of them."""
    keys: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        keys[row.kind].append(row.id)
    by_kind = {kind: sources()[kind].describe(subject, ids) for kind, ids in keys.items()}
    lines = [line for row in rows if (line := by_kind[row.kind].get(row.id))]
    for line in lines:
        if line.change is not None:
            line.balance = format_number(balance)
            balance -= line.change
    return joined(lines), balance


def joined(lines: Sequence[TimelineItem]) -> list[TimelineItem]:
    """Merge the line of a scan, a reward or a colleague's action with the line of its ledger entry."""
    entries = {line.merge_key: line for line in lines if line.change is not None and line.merge_key}
    result = []
    for line in lines:
        entry = entries.get(line.merge_key) if line.change is None else None
        if entry is None:
            result.append(line)
        else:
            entry.title, entry.address, entry.icon = line.title, line.address, line.icon
            own = [detail for detail in entry.details if detail not in line.title]
            entry.details = [*dict.fromkeys([*line.details, *own])]
    return result


def write_place(
    before: Place, rows: Sequence[Row], balance: Decimal, subject: Subject, kinds: Sequence[TimelineSource]
) -> str:
    places = {**before.rows, **{row.kind: [row.at.isoformat(), row.id] for row in rows}}
    until = timezone.now().isoformat() if before.until == ALWAYS else before.until
    return signing.dumps([mark_of(subject, kinds), until, places, str(balance)], salt=SALT, compress=True)


def read_place(text: str, subject: Subject, kinds: Sequence[TimelineSource]) -> Place:
    """Signed, so that only values written by a page of this timeline, with these kinds, get into the statement."""
    if not text:
        return Place()
    try:
        mark, until, places, balance = signing.loads(text, salt=SALT)
    except (signing.BadSignature, ValueError):
        return Place()
    if mark != mark_of(subject, kinds):
        return Place()
    return Place(until, places, Decimal(balance))


def mark_of(subject: Subject, kinds: Sequence[TimelineSource]) -> list[Any]:
    return [subject.brand.pk, subject.accounts[0], sorted(source.name for source in kinds)]
