"""Computes what an action would earn with the functions that accrue, without writing anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils import timezone

from brands.errors import UserNotFound
from campaigns.accrual import decide, snapshot
from campaigns.accrual.snapshot import AccrualSnapshot, LevelRow, UseRow, parse_levels, usage_at
from campaigns.accrual.types import AccrualReason, QualifyingAction
from campaigns.earning import conditions, own_fields, rules
from campaigns.earning.action_context import NO_HISTORY, ActionContext
from campaigns.earning.conditions import Row
from campaigns.earning.fields import Needs
from campaigns.earning.limits import MEMBER
from campaigns.earning.rules import Candidate, RuleSet
from campaigns.earning.stacking import Award
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from loyalty.points import levels

TYPES: dict[str, str] = {
    EarningRule.Kind.SCAN: Campaign.Type.SCAN,
    EarningRule.Kind.ORDER: Campaign.Type.ORDER,
    EarningRule.Kind.PROFILE: Campaign.Type.PROFILE,
    EarningRule.Kind.LOGIN: Campaign.Type.LOGIN,
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What the action earns by the rules in force (`now`), and what it would earn with the tried rule too (`then`).
    `failed`: its conditions that do not hold; `runs`: whether it runs at the action's moment."""

    now: Award
    then: Award
    failed: Sequence[Row]
    runs: bool


def with_rule(brand_id: int, rule: EarningRule) -> RuleSet:
    """The rules in force, with the given state of `rule` in place of its stored version."""
    _number, contents = rules.contents_at(brand_id)
    own = rule.pk or 0
    remaining = [each for each in contents if each[0] != own]
    return rules.compiled([*remaining, (own, 0, rules.content_of(rule))], brand_id=brand_id)


def try_rule(rule: EarningRule, *, user_id: int, context: ActionContext) -> Trial:
    """Try a rule, saved or not, on an action. Raises UserNotFound, ConditionsError and LimitsError."""
    action = QualifyingAction(
        brand_id=rule.brand_id,
        user_id=user_id,
        campaign_type=TYPES.get(context.kind, "reward"),
        reasons=[AccrualReason("trial:", "", context.profile_field)],
        context=context,
        at=timezone.now(),
    )
    candidate = rules.candidate_of(rule.pk or 0, 0, rules.content_of(rule), own_fields.of_rule(rule))
    now, then = (
        _state(action, rule_set) for rule_set in (rules.at_version(rule.brand_id), with_rule(rule.brand_id, rule))
    )
    failed = conditions.failed(candidate.group, then.of_member(context))
    awards = [decide.awards(action, state).earned[0][1] for state in (now, then)]
    return Trial(awards[0], awards[1], failed, candidate.runs_at(context.happened_at))


def _state(action: QualifyingAction, rule_set: RuleSet) -> AccrualSnapshot:
    result = snapshot.fetch_with(action, rule_set)
    if result is None:
        raise UserNotFound
    return result


# The name of the current level, the brand's levels, and what rules with limits have given the member.
MemberState = tuple[str, Sequence[LevelRow] | None, Sequence[UseRow] | None]


ANSWERED_BY_SCAN = frozenset({Needs.NOTHING, Needs.CATALOGUE})


@dataclass(frozen=True, slots=True)
class KnownMember:
    """What the scan has already read about the member."""

    zone: ZoneInfo
    state: MemberState

    def is_enough_for(self, candidates: Iterable[Candidate]) -> bool:
        """Whether these rules need neither the member's history or segments nor budgets. A scan's action already
        contains the catalogue data of its product."""
        return all(
            each.needs in ANSWERED_BY_SCAN and all(limit.per == MEMBER for limit in each.rule.limits)
            for each in candidates
        )

    def points(self, action: QualifyingAction, rule_set: RuleSet) -> Decimal:
        """What the action would earn if nobody has claimed it yet."""
        name, level_rows, uses = self.state
        all_levels = parse_levels(level_rows)
        level = levels.current_level(levels=all_levels, name=name)
        context = action.context.of_member(zone=self.zone, level=level, levels=all_levels, history=NO_HISTORY)
        usage = usage_at(action.at.astimezone(self.zone), uses, {})
        return decide.award_each(action.reasons, context, rule_set, usage).points


def points_by_rules(action: QualifyingAction, *, version: int, member: KnownMember | None = None) -> Decimal | None:
    """What the action would earn by this version of the brand's rules; None if no rule could match.

    Runs one statement unless the data in `member` suffices. A process that has not cached this version of the rules
    loads it first.
    """
    rule_set = rules.cached(action.brand_id)
    if rule_set.version != version:
        rule_set = rules.load(action.brand_id)
    candidates = rule_set.candidates(action.context)
    if not candidates:
        return None
    if member and member.is_enough_for(candidates):
        return member.points(action, rule_set)
    state = snapshot.fetch_with(action, rule_set)
    return decide.awards(action, state).points if state else None
