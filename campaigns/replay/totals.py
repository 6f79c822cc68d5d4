"""Sums up a replay, in a size that does not depend on the number of actions."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from campaigns.replay.actions import EarnedPoints, PastAction
from campaigns.replay.member_states import Member
from loyalty.points.explanations import plain_text
from loyalty.programme.point_costs import PointCosts

ZERO = Decimal(0)
TOP = 20  # members listed with the highest gains, and with the highest losses
EXAMPLES = 20
PAID, TRIED, BOTH = range(3)  # indexes into lists of points
UNKNOWN = "unknown"  # for entries without shares


def _points() -> list[Decimal]:
    return [ZERO, ZERO, ZERO]


@dataclass(slots=True)
class DayTotals:
    """Points of a day: in all, by level, and by source and rule. Each list has the points only paid, the points only
    with the draft, and the points of both."""

    points: list[Decimal] = field(default_factory=_points)
    levels: dict[str, list[Decimal]] = field(default_factory=lambda: defaultdict(_points))
    rules: dict[tuple[str, int], list[Decimal]] = field(default_factory=lambda: defaultdict(_points))


@dataclass(slots=True)
class Totals:
    """The results so far. `members_by_level`: members by their last level, actual and drafted."""

    actions: int = 0
    entries: int = 0
    days: dict[date, DayTotals] = field(default_factory=lambda: defaultdict(DayTotals))
    names: dict[int, str] = field(default_factory=dict)
    members_by_level: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    gainers: int = 0
    losers: int = 0
    most: list[tuple[Decimal, int, Decimal, Decimal]] = field(default_factory=list)
    least: list[tuple[Decimal, int, Decimal, Decimal]] = field(default_factory=list)
    differences: int = 0
    compared: int = 0
    gone: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def count(
        self, day: date, level: str, drafted_level: str, paid: Sequence[EarnedPoints], tried: Sequence[EarnedPoints]
    ) -> tuple[Decimal, Decimal]:
        """Add what an action paid and what it would have paid, at the member's levels; returns both in points."""
        self.actions += 1
        self.entries += len(paid)
        if paid is tried and level == drafted_level:
            points = self._add(BOTH, day, level, paid)
            return points, points
        return self._add(PAID, day, level, paid), self._add(TRIED, day, drafted_level, tried)

    def add_tried(self, day: date, level: str, entries: Sequence[EarnedPoints]) -> Decimal:
        """Add what only the draft gave; returns the points."""
        return self._add(TRIED, day, level, entries)

    def _add(self, place: int, day: date, level: str, entries: Sequence[EarnedPoints]) -> Decimal:
        points = ZERO
        if not entries:
            return points
        own = self.days[day]
        for entry in entries:
            points += entry.points
            if entry.shares is None:
                own.rules[UNKNOWN, 0][place] += entry.points
                continue
            for share in entry.shares:
                rule_id = share.rule_id or 0
                if rule_id and rule_id not in self.names:
                    self.names[rule_id] = share.name
                own.rules[share.source, rule_id][place] += share.points
        if points:
            own.points[place] += points
            own.levels[level][place] += points
        return points

    def differs(self, action: PastAction, decided: Sequence[EarnedPoints]) -> None:
        """Record that the control and the ledger differ."""
        self.differences += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(
                {
                    "event": action.id,
                    "reasons": [entry.reason_id[:80] for entry in action.entries],
                    "recorded": plain_text(sum((entry.points for entry in action.entries), ZERO)),
                    "decided": plain_text(sum((entry.points for entry in decided), ZERO)),
                }
            )

    def close(self, members: Iterable[Member]) -> None:
        """Add the totals of members who have no further actions."""
        for member in members:
            self.members_by_level[member.actual.level][0] += 1
            self.members_by_level[member.drafted.level][1] += 1
            gained = member.tried - member.paid
            if not gained:
                continue
            row = (gained, member.account or -member.user_id, member.paid, member.tried)
            if gained > 0:
                self.gainers += 1
                _push(self.most, row)
            else:
                self.losers += 1
                _push(self.least, (-gained, *row[1:]))

    def as_json(self, costs: PointCosts) -> dict[str, Any]:
        by_day: dict[date, list[Decimal]] = {}
        by_level, by_rule = _sums(), _sums()
        for day, own in self.days.items():
            cost = costs.on(day) or ZERO
            if any(own.points):
                by_day[day] = _costed(own.points, cost)
            _plus_costed(by_level, own.levels, cost)
            _plus_costed(by_rule, own.rules, cost)
        return {
            "actions": self.actions,
            "entries": self.entries,
            "compared": self.compared,
            "differences": self.differences,
            "gone": self.gone,
            "examples": self.examples,
            "has_costs": costs.is_known,
            "days": [[day.isoformat(), *_texts(sums)] for day, sums in sorted(by_day.items())],
            "levels": [[name, *_texts(sums)] for name, sums in sorted(by_level.items())],
            "rules": [
                [source, rule_id, self.names.get(rule_id, ""), *_texts(sums)]
                for (source, rule_id), sums in sorted(by_rule.items(), key=lambda each: (-each[1][1], each[0]))
            ],
            "members_by_level": [[name, *counts] for name, counts in sorted(self.members_by_level.items())],
            "gainers": self.gainers,
            "losers": self.losers,
            "most": _members(self.most),
            "least": _members(self.least),
        }


def _sums() -> dict[Any, list[Decimal]]:
    return defaultdict(lambda: [ZERO, ZERO, ZERO, ZERO])


def _costed(points: Sequence[Decimal], cost: Decimal) -> list[Decimal]:
    """Points paid, points with the draft, and the cost of each."""
    paid, tried, both = points
    return [paid + both, tried + both, (paid + both) * cost, (tried + both) * cost]


def _plus_costed(sums: dict[Any, list[Decimal]], points: Mapping[Any, list[Decimal]], cost: Decimal) -> None:
    for key, own in points.items():
        sums[key] = [one + other for one, other in zip(sums[key], _costed(own, cost), strict=True)]


def _push(rows: list[tuple[Decimal, int, Decimal, Decimal]], row: tuple[Decimal, int, Decimal, Decimal]) -> None:
    if len(rows) < TOP:
        heapq.heappush(rows, row)
    else:
        heapq.heappushpop(rows, row)


def _members(rows: list[tuple[Decimal, int, Decimal, Decimal]]) -> list[list[Any]]:
    """Rows by account number; 0 for users who are not members."""
    return [[max(0, account), plain_text(paid), plain_text(tried)] for _by, account, paid, tried in sorted(rows)[::-1]]


def _texts(sums: Sequence[Decimal]) -> list[str]:
    return [plain_text(each) for each in sums]
