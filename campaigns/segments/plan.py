"""Builds the statement that selects a segment's members: its condition, joins and parameters.

The joins are whole sub-selects from .sql files, each of which covers all members at once, so that a million members are
read in a few passes. With `among`, the same text reads only some members' rows. All entered values are parameters.
"""

import hashlib
import json
from calendar import isleap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import Any

from django.db import connection

from core.db.statements import part
from loyalty.points.levels import Level
from loyalty.points.point_limits import NO_ACTIONS


class Source(Enum):
    """Rows with a moment, whose age conditions can test."""

    SCANS = "scans"
    ORDERS = "orders"
    LEDGER = "ledger"
    ENROLLED = "enrolled"


SINCE = {
    Source.SCANS: part("campaigns/segments/sql/scans_since.sql"),
    Source.ORDERS: part("campaigns/segments/sql/orders_since.sql"),
    Source.LEDGER: part("campaigns/segments/sql/entries_since.sql", no_actions=NO_ACTIONS),
}
SCANS_WHERE = part("campaigns/segments/sql/scans_where.sql")
ROWS_SINCE = {
    Source.SCANS: SCANS_WHERE.replace("{condition}", "s.scanned_at > {after}"),
    Source.ORDERS: part("campaigns/segments/sql/order_rows_since.sql"),
    Source.LEDGER: part("campaigns/segments/sql/entry_rows_since.sql", no_actions=NO_ACTIONS),
}
SCORES = part("campaigns/segments/sql/rfm_scores.sql", no_actions=NO_ACTIONS)
PREFERENCES = part("campaigns/segments/sql/preferences.sql")
BIRTHDAYS = part("campaigns/segments/sql/birthdays.sql")
MATCHING = part("campaigns/segments/sql/matching_members.sql")
SCORED_DAYS = 365
AMONG_USERS = "= ANY (%(among_users)s::bigint[])"
AMONG_ACCOUNTS = "= ANY (%(among_accounts)s::bigint[])"


# The planner underestimates rows filtered after a join, and would choose nested loops over whole sets. Each node of the
# plan may use this much memory, a hash twice as much; it holds most of a million members. Compilation takes longer than
# it saves.
PLANNED_FOR_SETS = {"enable_nestloop": "off", "work_mem": "64MB", "jit": "off"}


@contextmanager
def planned_for_sets() -> Iterator[None]:
    """Set PostgreSQL's options for statements over all members of a brand. Call in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"SET LOCAL {name} = '{value}'" for name, value in PLANNED_FOR_SETS.items()))
    yield
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in PLANNED_FOR_SETS))


@dataclass(slots=True)
class Plan:
    """`windows`: by source, the ages in days at which rows begin or cease to count.

    `is_relative`: whether a member matches depends on all other members. `is_required`: whether the condition being
    compiled must hold for every member of the segment.
    """

    brand_id: int
    levels: Sequence[Level]
    at: datetime
    parameters: dict[str, Any] = field(default_factory=dict)
    joins: dict[tuple[str, str], str] = field(default_factory=dict)
    windows: dict[Source, set[int]] = field(default_factory=dict)
    moments: set[str] = field(default_factory=set)
    condition: str = "true"
    is_relative: bool = False
    is_required: bool = False
    zone: tzinfo = UTC

    def parameter(self, value: Any, kind: str) -> str:
        """Add a parameter; returns its placeholder."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s::{kind}"

    def moment(self, source: Source, days: int) -> str:
        """The placeholder of the moment so many days ago."""
        self.windows.setdefault(source, set()).add(days)
        return self._moment(days)

    def _moment(self, days: int) -> str:
        name = f"ago{days}"
        self.moments.add(name)
        self.parameters[name] = self.at - timedelta(days=days)
        return f"%({name})s::timestamptz"

    def count_since(self, source: Source, days: int) -> str:
        """The number of a source's rows that a member has in these days; NULL if none."""
        self.windows.setdefault(source, set()).update({0, days})
        return self._join(SINCE[source].replace("{after}", self._moment(days)), KEYS[source], "n")

    def any_since(self, source: Source, days: int) -> str:
        """Whether a member has any of a source's rows in these days."""
        self.windows.setdefault(source, set()).update({0, days})
        return self._any(ROWS_SINCE[source].replace("{after}", self._moment(days)), KEYS[source])

    def any_scan(self, condition: str) -> str:
        """Whether any accepted scan of the member matches the condition."""
        self.windows.setdefault(Source.SCANS, set()).add(0)
        return self._any(SCANS_WHERE.replace("{condition}", condition), "user_id")

    def _any(self, rows: str, key: str) -> str:
        """Whether any of the rows is the member's. A required condition becomes a semi-join, which builds no set. Any
        other condition could be tested member by member, so it is computed for all members at once."""
        if self.is_required:
            return f"EXISTS (SELECT FROM ({rows}) AS r WHERE r.{key} = m.{MEMBER_KEYS[key]})"
        return f"({self._join(f'SELECT DISTINCT r.{key} FROM ({rows}) AS r', key, key)} IS NOT NULL)"  # noqa: S608 - texts of files

    def score(self, column: str) -> str:
        """A member's recency, frequency or value score, from 1 to 5 among the brand's active members."""
        self.is_relative = True
        return f"coalesce({self._join(SCORES.replace('{after}', self._moment(SCORED_DAYS)), 'account_id', column)}, 1)"

    def preferences(self) -> str:
        """The topics that the member switched off; NULL without stored preferences."""
        return self._join(PREFERENCES, "user_id", "opted_out")

    def birthday(self) -> str:
        """The member's birthday as 100 * month + day; NULL if the brand does not know it."""
        return self._join(BIRTHDAYS, "user_id", "month_day")

    def birthdays_between(self, first: int, last: int | None) -> str:
        """Birthdays from `first` to `last` days after today by the brand's clock, in the format of `birthday`; at most
        a year, after which the days repeat.

        They are a parameter like any other and change the fingerprint, so all members are evaluated again on a new day.
        """
        today = self.at.astimezone(self.zone).date()
        is_leap_day = (today.month, today.day) == (2, 29)
        again = today.replace(year=today.year + 1, **({"month": 3, "day": 1} if is_leap_day else {}))
        days_of_year = (again - today).days
        end = days_of_year if last is None else min(days_of_year, last + 1)
        days = [today + timedelta(days=number) for number in range(first, end)]
        values = {day.month * 100 + day.day for day in days}
        if any((day.month, day.day) == (2, 28) and not isleap(day.year) for day in days):
            values.add(229)
        return self.parameter(sorted(values), "int[]")

    def level_names(self, operator: str, value: Any) -> list[str]:
        """The names of the brand's levels that match the operator and value."""
        if operator == "at_least":
            lowest = next((level for level in self.levels if level.name.casefold() == value), None)
            return [level.name for level in self.levels if lowest and level.threshold >= lowest.threshold]
        return [level.name for level in self.levels if (level.name.casefold() in value) == (operator == "in")]

    def _join(self, text: str, key: str, column: str) -> str:
        name = self.joins.setdefault((text, key), f"j{len(self.joins)}")
        return f"{name}.{column}"

    def text(self, *, among: bool) -> str:
        """The statement: all matching members, or with `among` those of the given ones."""
        joins = "\n".join(
            f"  LEFT JOIN ({text}) AS {name} ON {name}.{key} = m.{MEMBER_KEYS[key]}"
            for (text, key), name in self.joins.items()
        )
        result = MATCHING.replace("{joins}", joins).replace("{condition}", self.condition)
        users, accounts = (AMONG_USERS, AMONG_ACCOUNTS) if among else ("IS NOT NULL", "IS NOT NULL")
        return result.replace("{among_users}", users).replace("{among_accounts}", accounts)

    def days(self, source: Source) -> list[int]:
        return sorted(self.windows.get(source, ()))

    @property
    def fingerprint(self) -> str:
        """A hash of the statement and its parameters, without the moments."""
        values = {name: str(value) for name, value in self.parameters.items() if name not in self.moments}
        return hashlib.sha256(json.dumps([self.text(among=False), values], sort_keys=True).encode()).hexdigest()


KEYS = {Source.SCANS: "user_id", Source.ORDERS: "user_id", Source.LEDGER: "account_id"}
MEMBER_KEYS = {"account_id": "user_point_id", "user_id": "user_id"}
