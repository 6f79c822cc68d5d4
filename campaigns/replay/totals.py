"""What a replay adds up: small, however many actions there are."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from campaigns.replay.actions import PastAction
from campaigns.replay.decisions import Entry
from campaigns.replay.members import Member
from loyalty.models.programme.costs import PointCost
from loyalty.points.explanations import RULE, plain_text

ZERO = Decimal(0)
TOP = 20  # members who gain, and who lose, most
EXAMPLES = 20
UNKNOWN = "unknown"  # of entries that do not say what they are made of


class Costs:
    """What a point cost a brand on a day."""

    def __init__(self, brand_id: int) -> None:
        rows = PointCost.objects.filter(brand=brand_id).order_by("-valid_from")
        self._rows = list(rows.values_list("valid_from", "cost"))
        self.is_known = bool(self._rows)

    def on(self, day: date) -> Decimal:
        return next((cost for since, cost in self._rows if since <= day), ZERO)


def _pair() -> list[Decimal]:
    return [ZERO, ZERO]


@dataclass(slots=True)
class Totals:
    """Points as they were paid and as they would have been, by day, and by day and level or rule, for their costs."""

    actions: int = 0
    entries: int = 0
    days: dict[date, list[Decimal]] = field(default_factory=lambda: defaultdict(_pair))
    levels: dict[tuple[date, str], list[Decimal]] = field(default_factory=lambda: defaultdict(_pair))
    rules: dict[tuple[date, str, int], list[Decimal]] = field(default_factory=lambda: defaultdict(_pair))
    names: dict[int, str] = field(default_factory=dict)
    gainers: int = 0
    losers: int = 0
    most: list[tuple[Decimal, int, Decimal, Decimal]] = field(default_factory=list)
    least: list[tuple[Decimal, int, Decimal, Decimal]] = field(default_factory=list)
    differences: int = 0
    compared: int = 0
    gone: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def count(
        self, day: date, levels: tuple[str, str], paid: Sequence[Entry], tried: Sequence[Entry]
    ) -> tuple[Decimal, Decimal]:
        """What an action brought and would have brought, to a member of these levels; returns both in points."""
        self.actions += 1
        result = (self._add(0, day, levels[0], paid), self._add(1, day, levels[1], tried))
        self.entries += len(paid)
        return result

    def _add(self, place: int, day: date, level: str, entries: Sequence[Entry]) -> Decimal:
        points = ZERO
        for entry in entries:
            points += entry.points
            if entry.shares is None:
                self.rules[day, UNKNOWN, 0][place] += entry.points
                continue
            for share in entry.shares:
                if share.source == RULE:
                    self.names[share.rule_id or 0] = share.name
                self.rules[day, share.source, share.rule_id or 0][place] += share.points
        if points:
            self.days[day][place] += points
            self.levels[day, level][place] += points
        return points

    def differs(self, action: PastAction, decided: Sequence[Entry]) -> None:
        """The rules as they stood decide otherwise than the ledger has it."""
        self.differences += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(
                {
                    "event": action.id,
                    "reasons": [reason_id[:80] for reason_id, _points, _shares in action.entries],
                    "recorded": plain_text(sum((points for _reason, points, _shares in action.entries), ZERO)),
                    "decided": plain_text(sum((entry.points for entry in decided), ZERO)),
                }
            )

    def close(self, members: Iterable[Member]) -> None:
        """Those of whom nothing comes any more."""
        for member in members:
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

    def as_json(self, costs: Costs) -> dict[str, Any]:
        cost_of = {day: costs.on(day) for day in {*self.days, *(key[0] for key in self.levels)}}

        def summed(rows: dict[Any, list[Decimal]], key_of: Any) -> dict[Any, list[Decimal]]:
            result: dict[Any, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO, ZERO, ZERO])
            for key, (paid, tried) in rows.items():
                cost, sums = cost_of.get(key[0], ZERO), result[key_of(key)]
                for place, value in enumerate((paid, tried, paid * cost, tried * cost)):
                    sums[place] += value
            return result

        by_day = summed({(day,): pair for day, pair in self.days.items()}, lambda key: key[0])
        by_level = summed(self.levels, lambda key: key[1])
        by_rule = summed(self.rules, lambda key: key[1:])
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
            "gainers": self.gainers,
            "losers": self.losers,
            "most": _members(self.most),
            "least": _members(self.least),
        }


def _push(rows: list[tuple[Decimal, int, Decimal, Decimal]], row: tuple[Decimal, int, Decimal, Decimal]) -> None:
    if len(rows) < TOP:
        heapq.heappush(rows, row)
    else:
        heapq.heappushpop(rows, row)


def _members(rows: list[tuple[Decimal, int, Decimal, Decimal]]) -> list[list[Any]]:
    """By their accounts; of who is no member, 0."""
    return [[max(0, account), plain_text(paid), plain_text(tried)] for _by, account, paid, tried in sorted(rows)[::-1]]


def _texts(sums: Sequence[Decimal]) -> list[str]:
    return [plain_text(each) for each in sums]
