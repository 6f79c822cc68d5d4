"""Limits of rules, for a member and a period or for the rule in all, and what they leave of a share.

As data: `[{"per": "member", "what": "points", "period": "month", "most": "500"}]`. Money is counted in points at the
price that the limit states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from campaigns.earning.comparisons import ProblemsError, WrongValueError, number
from campaigns.models.earning_rules import EarningRuleUse

ZERO, CENT = Decimal(0), Decimal("0.01")
MEMBER, RULE = "member", "rule"
POINTS, EVENTS, MONEY = "points", "events", "money"
EVENT, EVER = "event", "ever"
PERIODS = (EVENT, *EarningRuleUse.Period.values)
MAX_LIMITS = 8
MAX_AMOUNT = Decimal(10) ** 11
BEGINNING = date(1970, 1, 1)  # start of the period that never ends
UseKey = tuple[int, str]  # a rule and a period


@dataclass(frozen=True, slots=True)
class Limit:
    """`most` is the limit as set, in its unit; `amount` is the same in points or events."""

    per: str
    what: str
    period: str
    most: Decimal
    amount: Decimal
    point_cost: Decimal | None = None

    @property
    def counts_events(self) -> bool:
        return self.what == EVENTS


class LimitsError(ProblemsError):
    """Problems in limits: for each path, such as `[0].most`, what to fix."""


def read(data: Any) -> tuple[Limit, ...]:
    """Raises LimitsError."""
    if not data:
        return ()
    if not isinstance(data, list | tuple) or len(data) > MAX_LIMITS:
        raise LimitsError({"": _("Give a list of at most %(most)d limits.") % {"most": MAX_LIMITS}})
    problems: dict[str, str] = {}
    result = [limit for at, each in enumerate(data) if (limit := _limit(each, f"[{at}]", problems))]
    kinds = [(limit.per, limit.what, limit.period) for limit in result]
    for at, kind in enumerate(kinds):
        if kind in kinds[:at]:
            problems[f"[{at}]"] = _("A limit of this kind already exists. Keep the lower one.")
    if problems:
        raise LimitsError(problems)
    return tuple(result)


def _limit(data: Any, path: str, problems: dict[str, str]) -> Limit | None:
    if not isinstance(data, Mapping) or set(data) - {"per", "what", "period", "most", "point_cost"}:
        problems[path] = _("A limit has per, what, period, most and, for money, point_cost.")
        return None
    per, what, period = str(data.get("per")), str(data.get("what")), str(data.get("period", EVER))
    if per not in {MEMBER, RULE}:
        problems[f"{path}.per"] = _("Write member or rule.")
    elif what not in ({POINTS, EVENTS} if per == MEMBER else {POINTS, EVENTS, MONEY}):
        problems[f"{path}.what"] = _("Write points or events, or money for the rule in all.")
    elif period not in (PERIODS if per == MEMBER else {EVER}) or (period == EVENT and what == EVENTS):
        problems[f"{path}.period"] = _("Write event, day, week, month or ever for a member, and ever for the rule.")
    else:
        return _amount(data, per, what, period, path, problems)
    return None


def _amount(
    data: Mapping[str, Any], per: str, what: str, period: str, path: str, problems: dict[str, str]
) -> Limit | None:
    name = "most"
    try:
        most = number(data.get("most"))
        if not ZERO < most <= MAX_AMOUNT or (what == EVENTS and most != most.to_integral_value()):
            raise WrongValueError(_("Write a number above 0. For events, write a whole number."))
        cost = None
        if what == MONEY:
            name = "point_cost"
            cost = number(data.get("point_cost"))
            if not ZERO < cost <= MAX_AMOUNT:
                raise WrongValueError(_("Write what a point costs the brand, such as 0.01."))
        amount = min(MAX_AMOUNT, most / (cost or 1)).quantize(CENT, rounding=ROUND_DOWN)
        if not amount:
            raise WrongValueError(_("This limit is below 0.01 points, so the rule would never pay."))
    except WrongValueError as error:
        problems[f"{path}.{name}"] = str(error)
        return None
    return Limit(per, what, period, most, amount, cost)


class Used(NamedTuple):
    """What was given before."""

    points: Decimal = ZERO
    events: int = 0

    def plus(self, points: Decimal, events: int = 1) -> "Used":
        return Used(self.points + points, self.events + events)


UNUSED = Used()


def member_periods(limits: Sequence[Limit]) -> list[str]:
    """The periods in which a rule with these limits counts what it gives each member."""
    return list(dict.fromkeys(limit.period for limit in limits if limit.per == MEMBER and limit.period != EVENT))


def period_starts(local: datetime) -> dict[str, date]:
    """The start of each period that contains this moment, by the brand's clock."""
    day = local.date()
    return {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1), EVER: BEGINNING}


@dataclass(slots=True)
class LimitUsage:
    """What rules have given one member in the current periods, and in all. It grows while an action is decided.

    `added` has what the action itself adds, by rule; the accrual writes it.
    """

    starts: Mapping[str, date]
    uses: dict[UseKey, Used] = field(default_factory=dict)
    budgets: dict[int, Used] = field(default_factory=dict)
    added: dict[int, Used] = field(default_factory=dict)

    def cut_to_limits(self, rule_id: int, limits: Sequence[Limit], share: Decimal) -> tuple[Decimal, Limit | None]:
        """What the limits leave of a share, and the limit that cut it."""
        cut_by: Limit | None = None
        for limit in limits:
            room = self._room(rule_id, limit)
            if room < share:
                share, cut_by = room, limit
        return share, cut_by

    def _room(self, rule_id: int, limit: Limit) -> Decimal:
        if limit.period == EVENT:
            return limit.amount
        if limit.per == RULE:
            used = self.budgets.get(rule_id, UNUSED)
        else:
            used = self.uses.get((rule_id, limit.period), UNUSED)
        if limit.counts_events:
            return ZERO if used.events >= limit.amount else MAX_AMOUNT
        return max(ZERO, limit.amount - used.points)

    def record(self, rule_id: int, limits: Sequence[Limit], points: Decimal) -> None:
        """Count what a rule with limits gives. A rule that gives no points here counts no event either."""
        if not points or not limits:
            return
        self.added[rule_id] = self.added.get(rule_id, UNUSED).plus(points)
        self.budgets[rule_id] = self.budgets.get(rule_id, UNUSED).plus(points)
        for period in member_periods(limits):
            self.uses[rule_id, period] = self.uses.get((rule_id, period), UNUSED).plus(points)

    def reduce(self, rule_id: int, points: Decimal) -> None:
        """Take back points of a rule that the brand's point limit cut. The event stays counted."""
        if rule_id not in self.added:
            return
        self.added[rule_id] = self.added[rule_id].plus(-points, events=0)
        self.budgets[rule_id] = self.budgets[rule_id].plus(-points, events=0)
        for key in [key for key in self.uses if key[0] == rule_id]:
            self.uses[key] = self.uses[key].plus(-points, events=0)

    def copy(self) -> "LimitUsage":
        return LimitUsage(self.starts, dict(self.uses), dict(self.budgets), dict(self.added))
