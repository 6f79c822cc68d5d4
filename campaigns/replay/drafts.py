"""Drafts that can be tried on past actions: an earning rule, the brand's levels, or a campaign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from campaigns.accrual import scopes
from campaigns.earning import own_fields, rules
from campaigns.earning.conditions import ConditionsError
from campaigns.earning.limits import LimitsError
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from campaigns.models.replays import Replay
from core.errors import Invalid
from loyalty.models.levels import BrandLevel
from loyalty.points.level_periods.rules import rule_of
from loyalty.points.levels import Level

Kind = Replay.Kind
MAX_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Draft:
    """`content`: of a rule, see rules.content_of; of levels, {"levels": [[name, threshold, reward type, value], ...]};
    of a campaign, see `of_campaign`."""

    kind: str
    name: str
    content: Mapping[str, Any]
    rule_id: int | None = None
    campaign_id: int | None = None


def of_rule(rule: EarningRule) -> Draft:
    """The rule as it is now. Raises Invalid if it cannot be read, and for birthdays, which no event brings."""
    if rule.kind == EarningRule.Kind.BIRTHDAY:
        raise Invalid(_("Rules for birthdays cannot be tried on past actions."))
    content = rules.content_of(rule)
    try:
        rules.candidate_of(rule.pk, 0, content, own_fields.of_rule(rule))
    except (ConditionsError, LimitsError) as error:
        raise Invalid(str(error)) from error
    return Draft(Kind.RULE, rule.name, content, rule_id=rule.pk)


def of_levels(brand: Brand, levels: Sequence[Level]) -> Draft:
    """A draft of these levels. Raises Invalid if one is not valid, or if the brand's levels have an end."""
    if rule_of(brand):
        raise _wrong_levels(_("Levels that end cannot be tried on past actions. Try a rule or a campaign."))
    rows = sorted(levels, key=lambda level: level.threshold)
    if not rows or len(rows) > MAX_LEVELS:
        raise _wrong_levels(_("Give 1 to %(most)d levels.") % {"most": MAX_LEVELS})
    for each in rows:
        row = BrandLevel(
            brand=brand,
            name=each.name,
            threshold=each.threshold,
            scan_reward_type=each.scan_reward_type,
            scan_reward_value=each.scan_reward_value,
        )
        try:
            row.clean_fields(exclude=["brand", "translations"])
        except ValidationError as error:
            raise _wrong_levels(f"{each.name[:60]}: {'; '.join(error.messages)}") from error
    names, thresholds = {each.name.casefold() for each in rows}, {each.threshold for each in rows}
    if len(names) < len(rows) or len(thresholds) < len(rows):
        raise _wrong_levels(_("Each level needs a name and a threshold of its own."))
    texts = [[each.name, str(each.threshold), each.scan_reward_type, str(each.scan_reward_value)] for each in rows]
    return Draft(Kind.LEVELS, gettext_noop("Levels"), {"levels": texts})


def _wrong_levels(message: str) -> Invalid:
    return Invalid(message, details={"field": "levels"})


def of_campaign(campaign: Campaign, *, instead_of: Campaign | None = None) -> Draft:
    """The campaign as it is now, replacing itself and `instead_of`. Raises Invalid if it cannot be read, or has no
    milestones and so gives nothing."""
    problem = scopes.problem_of(campaign)
    if problem:
        raise Invalid(problem, details={"field": "campaign"})
    milestones = campaign.milestones.order_by("threshold")
    rows = [
        [each.pk, each.threshold, each.reward_name, str(each.reward_points), each.auto_claim] for each in milestones
    ]
    if not rows:
        raise Invalid(_("The campaign has no milestones, so it gives nothing."), details={"field": "campaign"})
    content = {
        "campaign_id": campaign.pk,
        "type": campaign.type,
        "target": campaign.target_value,
        "step_by": campaign.step_by,
        "is_repeatable": campaign.is_repeatable,
        "conditions": campaign.conditions,
        "budget": None if campaign.budget is None else str(campaign.budget),
        "milestones": rows,
        "replaces": sorted({campaign.pk, *([instead_of.pk] if instead_of else [])}),
    }
    return Draft(Kind.CAMPAIGN, campaign.campaign_name, content, campaign_id=campaign.pk)
