"""Decides a past action again, by the functions that accrue, and advances its member."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from campaigns.accrual import decide
from campaigns.accrual.types import AccrualReason
from campaigns.earning.action_context import ActionContext, History
from campaigns.earning.limits import RULE, UNUSED, Limit, LimitUsage, Used, member_periods, period_starts
from campaigns.replay.actions import MILESTONE_EVENT, EarnedPoints
from campaigns.replay.member_states import MemberState
from campaigns.replay.rule_history import RulesAsTheyStood, RulesWithDraft
from campaigns.replay.terms import Terms
from loyalty.points import levels, point_limits

UNLIMITED = LimitUsage({})  # never written to: without limits, nothing is counted
Rules = RulesAsTheyStood | RulesWithDraft


@dataclass(slots=True)
class Decider:
    """Decides actions in one of two ways: as the rules stood, or with the draft. Counts the budgets used that way."""

    limits: Mapping[tuple[int, int], tuple[Limit, ...]]  # by rule and version, for each version compiled so far
    own_kinds: Collection[str] = ()
    limits_points: bool = True  # whether the programme ever had point limits
    budgets: dict[int, Used] = field(default_factory=dict)

    def context(self, context: ActionContext, state: MemberState, terms: Terms) -> ActionContext:
        """The action's context with the member's data."""
        return context.of_member(
            zone=terms.zone,
            level=levels.current_level(levels=terms.levels, name=state.level),
            levels=terms.levels,
            history=History(state.earlier(context.kind, self.own_kinds), state.last_at),
            segments=state.segments,
        )

    def award(
        self,
        reasons: Sequence[AccrualReason],
        context: ActionContext,
        at: datetime,
        state: MemberState,
        terms: Terms,
        rules: Rules,
    ) -> list[EarnedPoints]:
        """What the action earns, with the programme's limits. `at`: when it is credited."""
        awards = decide.award_each(reasons, context, rules, self._limit_usage(context.kind, at, state, terms, rules))
        if terms.limits_points and context.fixed_points is None:
            limit = point_limits.remaining(
                zone=terms.zone, daily=terms.daily, monthly=terms.monthly, at=at, used=state.limited_points
            )
            if limit and limit.left < awards.points:
                usage = self._limit_usage(context.kind, at, state, terms, rules)
                awards = decide.award_each(reasons, context, rules, usage, limit)
        return [EarnedPoints(reason.reason_id, award.points, award.shares) for reason, award in awards.earned]

    def _limit_usage(self, kind: str, at: datetime, state: MemberState, terms: Terms, rules: Rules) -> LimitUsage:
        if kind not in rules.limited:
            return UNLIMITED
        starts = period_starts(at.astimezone(terms.zone))
        return LimitUsage(starts, state.used_in(starts), dict(self.budgets))

    def advance(
        self,
        kind: str,
        entries: Sequence[EarnedPoints],
        local: datetime,
        state: MemberState,
        terms: Terms,
        *,
        is_pending: bool = False,
    ) -> None:
        """Update the member and the usage of limits with an action's entries. `local`: when, by the brand's clock."""
        if not entries:
            return
        state.count(kind, len(entries), self.own_kinds)
        day: date | None = None
        if kind != MILESTONE_EVENT:
            state.last_at = local
            day = local.date() if self.limits_points else None
        for entry in entries:
            if day is not None:
                state.count_limited(entry.points, day)
            if not is_pending:
                state.lifetime += entry.points
        self.use_limits(entries, local, state)
        state.climb(terms)

    def use_limits(self, entries: Sequence[EarnedPoints], local: datetime, state: MemberState | None = None) -> None:
        """Count what rules with limits gave: for their budgets and, with `state`, for that member.

        As in LimitUsage, a rule that gives nothing uses nothing, unless the brand's point limit cut it to zero.
        """
        for entry in entries if self.limits else ():
            for share in entry.shares or ():
                rule_id, is_cut_by_brand = share.rule_id or 0, share.cut is not None and share.cut.per == "brand"
                limits = self.limits.get((rule_id, share.version or 0), ())
                if not limits or not (share.points or is_cut_by_brand):
                    continue
                if any(limit.per == RULE for limit in limits):
                    self.budgets[rule_id] = self.budgets.get(rule_id, UNUSED).plus(share.points)
                if state is not None:
                    for period in member_periods(limits):
                        state.use((rule_id, period), period_starts(local)[period], share.points)


def is_as_recorded(decided: Sequence[EarnedPoints], recorded: Sequence[EarnedPoints]) -> bool:
    """Whether the ledger has exactly these entries: reasons, points and, if stored, each share."""
    if len(decided) != len(recorded):
        return False
    for (reason_id, points, own), (stored_reason_id, stored_points, stored) in zip(decided, recorded, strict=True):
        if points != stored_points or reason_id != stored_reason_id:
            return False
        if stored is None:
            continue
        shares = own or ()
        if len(shares) != len(stored):
            return False
        for one, other in zip(shares, stored, strict=True):
            if one.points != other.points or one.rule_id != other.rule_id or one.source != other.source:
                return False
            if (one.version or None) != other.version:
                return False
    return True
