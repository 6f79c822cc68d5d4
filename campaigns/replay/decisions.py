"""Decides a past action again, by the functions that accrue, and moves its member on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from campaigns.accrual import decide
from campaigns.accrual.types import AccrualReason
from campaigns.earning.action_context import ActionContext, History
from campaigns.earning.fields import ORDER, SCAN
from campaigns.earning.limits import EVENT, MEMBER, NOTHING, RULE, Limit, Standing, Used, starts_of
from campaigns.earning.rules import RuleSet
from campaigns.replay.actions import MILESTONE_EVENT, PastAction, Replayable
from campaigns.replay.members import Branch
from campaigns.replay.rule_history import every
from campaigns.replay.terms import Terms
from loyalty.points import levels, point_limits
from loyalty.points.explanations import Share, plain_text

ZERO = Decimal(0)


@dataclass(slots=True)
class Entry:
    """What a reason brought, or would bring. `shares`: None where the ledger does not say, as it did not always."""

    reason_id: str
    points: Decimal
    shares: Sequence[Share] | None


@dataclass(slots=True)
class World:
    """One of the two ways in which it may have gone: what its budgets have given."""

    limits: Mapping[tuple[int, int], tuple[Limit, ...]]  # of each version of a rule that was met
    budgets: dict[int, Used] = field(default_factory=dict)
    _limited: dict[int, bool] = field(default_factory=dict)

    def context(self, past: Replayable, branch: Branch, terms: Terms) -> ActionContext:
        """The action as this member's."""
        level = levels.current_level(levels=terms.levels, name=branch.level)
        kind = past.context.kind
        earlier = branch.scans if kind == SCAN else branch.orders if kind == ORDER else None
        return past.context.of_member(
            zone=terms.zone,
            level=level,
            levels=terms.levels,
            history=History(earlier, branch.last_at),
            segments=branch.segments,
        )

    def award(
        self,
        action: PastAction,
        reasons: Sequence[AccrualReason],
        context: ActionContext,
        branch: Branch,
        terms: Terms,
        rule_set: RuleSet,
    ) -> list[Entry]:
        """What it earns, with the programme's limits."""
        awards = decide.award_each(reasons, context, rule_set, self._standing(action.at, branch, terms, rule_set))
        if terms.limits_points and action.kind != MILESTONE_EVENT:
            limit = point_limits.remaining(
                zone=terms.zone, daily=terms.daily, monthly=terms.monthly, at=action.at, used=branch.limited_points
            )
            if limit and limit.left < awards.points:
                standing = self._standing(action.at, branch, terms, rule_set)
                awards = decide.award_each(reasons, context, rule_set, standing, limit)
        return [Entry(reason.reason_id, award.points, award.shares) for reason, award in awards.earned]

    def _standing(self, at: datetime, branch: Branch, terms: Terms, rule_set: RuleSet) -> Standing:
        key = id(rule_set)
        if key not in self._limited:
            self._limited[key] = any(each.rule.limits for each in every(rule_set))
        if not self._limited[key]:
            return Standing({})
        starts = starts_of(at.astimezone(terms.zone))
        return Standing(starts, branch.used_in(starts), dict(self.budgets))

    def advance(self, action: PastAction, entries: Sequence[Entry], branch: Branch, terms: Terms) -> None:
        """The member, and the budgets, after these entries."""
        if not entries:
            return
        local = action.at.astimezone(terms.zone)
        is_limited = action.kind != MILESTONE_EVENT
        if action.kind == SCAN:
            branch.scans += len(entries)
        elif action.kind == ORDER:
            branch.orders += len(entries)
        if is_limited:
            branch.last_at = action.at
        for entry in entries:
            if is_limited:
                branch.count_limited(entry.points, local.date())
            if not action.is_pending:
                branch.lifetime += entry.points
            for share in entry.shares or ():
                if share.rule_id is not None:
                    self._use(share, branch, local)
        self.give(entries)
        branch.climb(terms)

    def give(self, entries: Sequence[Entry]) -> None:
        """The budgets after these entries."""
        for entry in entries:
            for share in entry.shares or ():
                if share.rule_id is not None and any(each.per == RULE for each in self._counted(share)):
                    self.budgets[share.rule_id] = self.budgets.get(share.rule_id, NOTHING).plus(share.points)

    def _use(self, share: Share, branch: Branch, local: datetime) -> None:
        limits = self._counted(share)
        for period in {each.period for each in limits if each.per == MEMBER and each.period != EVENT}:
            branch.use((share.rule_id or 0, period), starts_of(local)[period], share.points)

    def _counted(self, share: Share) -> tuple[Limit, ...]:
        """The limits that the share uses up, as campaigns.accrual.decide.rule_uses: a rule that gives nothing uses
        nothing up, unless the programme's limit took it."""
        gave = share.points or (share.cut and share.cut.per == "brand")
        return self.limits.get((share.rule_id or 0, share.version or 0), ()) if gave else ()


def agree(decided: Sequence[Entry], recorded: Sequence[tuple[str, Decimal, list[dict[str, Any]] | None]]) -> bool:
    """Whether the ledger has exactly these entries: reasons, points and, where it says so, each share of them."""
    if len(decided) != len(recorded):
        return False
    for entry, (reason_id, points, shares) in zip(decided, recorded, strict=True):
        if entry.points != points or entry.reason_id != reason_id:
            return False
        if shares is not None and (
            len(shares) != len(entry.shares or ())
            or any(not _same(own, stored) for own, stored in zip(entry.shares or (), shares, strict=True))
        ):
            return False
    return True


def _same(share: Share, stored: Mapping[str, Any]) -> bool:
    return (
        share.source == stored["source"]
        and share.rule_id == stored.get("rule")
        and (share.version or None) == stored.get("version")
        and plain_text(share.points) == stored["points"]
    )
