"""What an action would earn, tried by the very functions that accrue: nothing is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils import timezone

from brands.errors import UserNotFound
from campaigns.accrual import decide, snapshot
from campaigns.accrual.snapshot import AccrualSnapshot, LevelRow, UseRow, levels_of, usage_at
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
    """What the action earns by the rules in force, what it would earn with the rule that is tried beside them, and why
    that one does not count: the conditions that do not hold, or that it does not run then."""

    now: Award
    then: Award
    failed: Sequence[Row]
    runs: bool


def with_rule(brand_id: int, rule: EarningRule) -> RuleSet:
    """The rules in force, with this one as it stands in place of its own version."""
    _number, contents = rules.contents_at(brand_id)
    own = rule.pk or 0
    remaining = [each for each in contents if each[0] != own]
    return rules.compiled([*remaining, (own, 0, rules.content_of(rule))], brand_id=brand_id)


def try_rule(rule: EarningRule, *, user_id: int, context: ActionContext) -> Trial:
    """Raises UserNotFound, ConditionsError and LimitsError; a rule that was never saved may be tried."""
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
    """What whoever scans has read of the member already."""

    zone: ZoneInfo
    state: MemberState

    def is_enough_for(self, candidates: Iterable[Candidate]) -> bool:
        """Whether these rules ask neither for the member's past and segments nor for budgets. A scan's action says
        itself what the catalogue does of its product."""
        return all(
            each.needs in ANSWERED_BY_SCAN and all(limit.per == MEMBER for limit in each.rule.limits)
            for each in candidates
        )

    def points(self, action: QualifyingAction, rule_set: RuleSet) -> Decimal:
        """What the action, which nobody has claimed yet, would earn."""
        name, level_rows, uses = self.state
        all_levels = levels_of(level_rows)
        level = levels.current_level(levels=all_levels, name=name)
        context = action.context.of_member(zone=self.zone, level=level, levels=all_levels, history=NO_HISTORY)
        usage = usage_at(action.at.astimezone(self.zone), uses, {})
        return decide.award_each(action.reasons, context, rule_set, usage).points


def points_by_rules(action: QualifyingAction, *, version: int, member: KnownMember | None = None) -> Decimal | None:
    """What the action would earn by the rules as a version of their set has them; None where none of them could match.

    One statement, where what is known of the `member` is not enough; a process that does not know that version of the
    rules reads them first.
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
