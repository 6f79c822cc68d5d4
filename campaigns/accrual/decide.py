"""Decides what an action earns, from the snapshot alone. Numbers in comments are the spec's steps of an accrual."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Protocol

from campaigns.accrual import campaign_steps
from campaigns.accrual.campaign_steps import CampaignAction
from campaigns.accrual.followups import followup_events
from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.accrual.types import (
    ZERO,
    AccrualReason,
    AccrualRequest,
    AccrualResult,
    LevelRise,
    PendingAccrual,
    QualifyingAction,
    RuleUses,
    context_of,
)
from campaigns.earning import stacking
from campaigns.earning.action_context import ActionContext
from campaigns.earning.limits import RULE, Limit, LimitUsage, member_periods
from campaigns.earning.stacking import Award, Rule
from campaigns.progress.advance import ProgressStep
from core.errors import DomainError
from events import messages
from loyalty.errors import (
    EmailNotConfirmed,
    LoyaltyDisabled,
    NotEligible,
    PointsAlreadyClaimed,
    UserNotEnrolled,
)
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts, explanations, levels, point_limits
from loyalty.points.explanations import Cut
from loyalty.points.ledger import LedgerEntry
from loyalty.points.level_periods import member_levels
from loyalty.points.point_limits import RemainingLimit

Reason = LoyaltyTransaction.Reason
CLOSED = (UserPoints.Status.BLOCKED, UserPoints.Status.MERGED)
NOTHING_EARNED = Award(ZERO, ())


@dataclass(slots=True)
class Awards:
    """What each reason earns, the resulting usage of limits, and the limits of the rules that matched."""

    earned: list[tuple[AccrualReason, Award]]
    usage: LimitUsage
    limits: dict[int, tuple[Limit, ...]]

    @property
    def points(self) -> Decimal:
        return sum((award.points for _reason, award in self.earned), ZERO)

    @property
    def has_matching_rule(self) -> bool:
        """Whether any rule applies to the action, even one with nothing left to give."""
        return not self.earned or any(award is not NOTHING_EARNED for _reason, award in self.earned)


def needs_no_lock(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether the action can be written without locking the account first: the account exists, no point limit applies,
    and the level is settled."""
    if state.account is None or (action.limited and state.limits_points):
        return False
    return state.is_settled(action.at)


def can_batch(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether the action can share a statement with others: it needs neither a lock nor an external system."""
    return needs_no_lock(action, state) and not needs_approval(action, state)


def needs_approval(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether the brand's external loyalty system must be asked first."""
    return state.external_system is not None and action.needs_approval


def is_rejected(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    try:
        check_eligible(action, state)
    except (DomainError, messages.OnHold):
        return True
    return False


def prepare(request: AccrualRequest, state: AccrualSnapshot, limit: RemainingLimit | None = None) -> PendingAccrual:
    result = decide(request.action, state, limit)
    followups = followup_events(request.event, request.action, result, state)  # step 11
    extra_cte = request.extra_cte(result.points_earned, limit) if request.extra_cte else None
    return PendingAccrual(request, state, result, followups, extra_cte)


def check_eligible(action: QualifyingAction, state: AccrualSnapshot) -> None:
    """Steps 2, 3 and 5. Raises DomainError, or OnHold if only the customer's e-mail confirmation is missing.

    An action that no rule or campaign is for is rejected. One that only a campaign counts may still advance it.
    """
    is_for_something = action.context.base is not None or counts_in_campaigns(action, state)
    if not is_for_something and not awards(action, state).has_matching_rule:
        raise NotEligible
    if not state.loyalty_active:
        raise LoyaltyDisabled
    if state.status in CLOSED:
        accounts.reject_closed(state.status)
    if state.account is None and not state.auto_enroll:
        raise UserNotEnrolled
    if not unclaimed(action, state):
        raise PointsAlreadyClaimed
    if state.unconfirmed and action.needs_confirmed_email:
        still_holds = partial(accounts.lock_unconfirmed, user_id=action.user_id)
        raise messages.OnHold(EmailNotConfirmed(), user_id=action.user_id, still_holds=still_holds)


def counts_in_campaigns(action: QualifyingAction, state: AccrualSnapshot) -> bool:
    """Whether a running campaign counts the action."""
    return bool(state.campaigns and campaign_steps.in_scope(campaign_action(action, state, action.reasons), state))


def campaign_action(
    action: QualifyingAction, state: AccrualSnapshot, reasons: Sequence[AccrualReason]
) -> CampaignAction:
    """The action as campaigns see it. It counts in a campaign if any of these reasons fulfils the conditions."""
    if not campaign_steps.ask_for_contexts(state):
        return CampaignAction(action.campaign_type)
    base = state.of_member(action.context)
    contexts = [context_of(reason, base).later(number) for number, reason in enumerate(reasons)]
    return CampaignAction(action.campaign_type, contexts)


def advanced(
    action: QualifyingAction, state: AccrualSnapshot, reasons: Sequence[AccrualReason]
) -> tuple[ProgressStep, ...]:
    """Steps 8 and 9: what the action counts in campaigns, and the milestones that it reaches."""
    if not state.campaigns:
        return ()
    return campaign_steps.steps_of(campaign_action(action, state, reasons), state)


def unclaimed(action: QualifyingAction, state: AccrualSnapshot) -> list[AccrualReason]:
    return [reason for reason in action.reasons if reason.reason_id not in state.claimed]


def awards(action: QualifyingAction, state: AccrualSnapshot, limit: RemainingLimit | None = None) -> Awards:
    """Step 4: what each reason earns by the matching rules, and how much of their limits that uses.

    A reason for which the brand's point limit leaves nothing is left out and can be claimed later.
    """
    reasons, context = unclaimed(action, state), state.of_member(action.context)
    return award_each(reasons, context, state.rules, state.usage(action.at), limit)


class MatchingRules(Protocol):
    """A set of rules that can select those that apply to a member's action."""

    def matching(self, context: ActionContext) -> list[Rule]: ...


def award_each(
    reasons: Sequence[AccrualReason],
    context: ActionContext,
    rule_set: MatchingRules,
    usage: LimitUsage,
    limit: RemainingLimit | None = None,
) -> Awards:
    """What these reasons of a member's action earn, one after the other. Used by accruals and replays."""
    result = Awards([], usage, {})
    left = limit.left if limit else None
    for number, reason in enumerate(reasons):
        reason_context = context_of(reason, context).later(number)
        matching = rule_set.matching(reason_context)
        limited = [rule for rule in matching if rule.limits] if matching else ()
        trial = usage.copy() if limited else usage
        award = stacking.award(matching, reason_context, trial) or NOTHING_EARNED
        if left is not None and limit is not None:
            if not left:
                continue
            award = _within(award, left, limit, trial)
            left -= award.points
        usage = result.usage = trial
        result.earned.append((reason, award))
        for rule in limited:
            result.limits[rule.id] = rule.limits
    return result


def _within(award: Award, left: Decimal, limit: RemainingLimit, usage: LimitUsage) -> Award:
    """Cut the award to what the brand's limit leaves, and reduce the usage of rules accordingly."""
    cut = stacking.trimmed(award, to=left, cut=Cut("brand", "points", limit.period, limit.max))
    for before, after in zip(award.shares, cut.shares, strict=True):
        if before.rule_id is not None and before.points > after.points:
            usage.reduce(before.rule_id, before.points - after.points)
    return cut


def rule_uses(earned: Awards) -> RuleUses:
    """What rules with limits give for this action, in the form in which it is written."""
    of_member, of_budgets = [], []
    for rule_id, used in earned.usage.added.items():
        counted: dict[str, Any] = {"rule_id": rule_id, "points": str(used.points), "events": used.events}
        own = earned.limits[rule_id]
        of_member += [
            counted | {"period": each, "started": earned.usage.starts[each].isoformat()} for each in member_periods(own)
        ]
        budgets = [each for each in own if each.per == RULE]
        if budgets:
            points = min((each.amount for each in budgets if not each.counts_events), default=None)
            events = min((int(each.amount) for each in budgets if each.counts_events), default=None)
            most = {"most_points": None if points is None else str(points), "most_events": events}
            of_budgets.append(counted | most)
    return RuleUses(tuple(of_member), tuple(of_budgets))


def budgets_taken_of(action: QualifyingAction, state: AccrualSnapshot) -> list[int]:
    """IDs of the rules whose budgets the action uses."""
    if not state.rules.kinds:
        return []
    return sorted(each["rule_id"] for each in rule_uses(awards(action, state)).of_budgets)


def campaigns_with_budgets(state: AccrualSnapshot) -> list[int]:
    """IDs of the campaigns whose budgets the action may use."""
    return sorted(
        each.campaign_id
        for each in state.campaigns
        if each.budget is not None and any(stop.reward_points for stop in each.milestones)
    )


def binding_limit(account: int, state: AccrualSnapshot, action: QualifyingAction) -> RemainingLimit | None:
    """The point limit that leaves less than the action would earn, or None. Call with the account locked."""
    limit = point_limits.most_restrictive(
        account=account, zone=state.zone, daily=state.daily_point_limit, monthly=state.monthly_point_limit, at=action.at
    )
    return limit if limit and limit.left < awards(action, state).points else None


def decide(action: QualifyingAction, state: AccrualSnapshot, limit: RemainingLimit | None) -> AccrualResult:
    """Steps 4 and 7 to 10. Reads and writes nothing."""
    result = awards(action, state, limit)  # step 4
    kind = Reason.PENDING if action.hold else Reason.EARNED
    release_at = action.hold.release_at(action.at) if action.hold else None
    entries = tuple(  # step 7: the ledger
        LedgerEntry(
            number,
            award.points,
            reason.reason_id,
            reason.note,
            kind,
            release_at,
            explanations.details_of(award.shares, rules_version=state.rules.version, names=reason.names),
        )
        for number, (reason, award) in zip(state.numbers, result.earned, strict=False)
    )
    total = sum((entry.points for entry in entries), ZERO)
    awarded, pending = (ZERO, total) if action.hold else (total, ZERO)
    settled = min(state.owed, awarded)
    progress = advanced(action, state, [reason for reason, _award in result.earned]) if entries else ()  # steps 8, 9
    counted = state.counted + awarded
    level = state.current_level
    if entries:  # step 10: the level
        level = levels.level_after(levels=state.levels, name=level, lifetime=counted)
    next_level = levels.following(levels=state.levels, name=level, lifetime=counted)
    return AccrualResult(
        entries=entries,
        points_earned=awarded,
        new_balance=state.balance + awarded - settled,
        progress=progress,
        own_campaign_id=action.own_campaign_id,
        level_updated=level != state.current_level
        and levels.newly_reached(levels=state.levels, name=level, before=state.counted, after=counted),
        current_level=level,
        next_level_threshold=next_level.threshold if next_level else None,
        limit=limit,
        points_pending=pending,
        settled=settled,
        release_at=release_at,
        uses=rule_uses(result),
        level_change=level_change(state, level, counted, action.at) if level != state.current_level else None,
    )


def level_change(state: AccrualSnapshot, level: str, counted: Decimal, at: datetime) -> LevelRise | None:
    """What is recorded when a level is reached; None unless levels have periods."""
    rule = state.level_rule
    if rule is None:
        return None
    until = rule.last_day_of_level(rule.today(at)) if member_levels.ends(state.levels, level) else None
    return LevelRise(state.current_level, level, counted, until)
