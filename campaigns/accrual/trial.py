"""What an action would earn, tried by the very functions that accrue: nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from brands.errors import UserNotFound
from campaigns.accrual import decide, snapshot
from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.accrual.types import AccrualReason, QualifyingAction
from campaigns.earning import conditions, own_fields, rules
from campaigns.earning.action_context import ActionContext
from campaigns.earning.conditions import Row
from campaigns.earning.rules import RuleSet
from campaigns.earning.stacking import Award
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule

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


def try_rule(rule: EarningRule, *, user_id: int, context: ActionContext, at: datetime | None = None) -> Trial:
    """Raises UserNotFound, ConditionsError and LimitsError; a rule that was never saved may be tried."""
    action = QualifyingAction(
        brand_id=rule.brand_id,
        user_id=user_id,
        campaign_type=TYPES.get(context.kind, "reward"),
        reasons=[AccrualReason("trial:", "", context.profile_field)],
        context=context,
        at=at or timezone.now(),
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


def points_by_rules(action: QualifyingAction, *, version: int) -> Decimal | None:
    """What the action would earn by the rules as a version of their set has them; None where none of them could match.

    One statement; a process that does not know that version of the rules reads them first.
    """
    rule_set = rules.cached(action.brand_id)
    if rule_set.version != version:
        rule_set = rules.load(action.brand_id)
    if not rule_set.candidates(action.context):
        return None
    state = snapshot.fetch_with(action, rule_set)
    return decide.awards(action, state).points if state else None
