"""Validates a rule before it is saved: problems by field, for the page, spreadsheet imports and brand files."""

from datetime import datetime
from decimal import Decimal

from django.db.models import Q
from django.utils.translation import gettext as _

from campaigns.earning import conditions, limits, own_fields, segment_references
from campaigns.earning.conditions import ConditionsError, Group
from campaigns.earning.fields import DAY_OF_ACTION
from campaigns.earning.limits import EVENTS, RULE, Limit, LimitsError
from campaigns.models.earning_rules import LEVEL_GROUP, EarningRule, EarningRuleBudgetUse
from core.numbers import grouped

Problems = dict[str, str]
Effect, Kind, Stacking = EarningRule.Effect, EarningRule.Kind, EarningRule.Stacking


def problems_of(rule: EarningRule) -> Problems:
    """Why the rule cannot be saved as it is, by field; empty if it can. Call once the model's constraints are met."""
    problems: Problems = {}
    group: Group | None = None
    result: tuple[Limit, ...] = ()
    try:
        group = conditions.read(rule.conditions, kind=rule.kind, own=own_fields.of_rule(rule))
    except ConditionsError as error:
        problems["conditions"] = str(error)
    try:
        result = limits.read(rule.limits)
    except LimitsError as error:
        problems["limits"] = str(error)
    problems |= _per_item(rule)
    if group is not None:
        problems |= _dates(rule, group) | _segments(rule)
    if "limits" not in problems:
        problems |= _without_end(rule, result) | _spent(rule, result)
    if not problems and rule.brand_id and rule.is_active:
        problems |= _with_other_rules(rule)
    return problems


def _per_item(rule: EarningRule) -> Problems:
    if rule.per != EarningRule.Per.ITEM:
        return {}
    if rule.reward_type == Effect.MULTIPLIER:
        return {"per": _("A multiplier counts once; only points and bonuses are given for each item.")}
    if rule.kind not in {Kind.ORDER, Kind.SCAN} or rule.reward_type == Effect.PERCENTAGE:
        return {"per": _("Only points and bonuses of orders and scans are given for each item.")}
    return {}


def _dates(rule: EarningRule, group: Group) -> Problems:
    """Reject days in conditions that lie outside the rule's own period."""
    if group.kind != conditions.ALL or not rule.brand_id:
        return {}
    zone = rule.brand.zone
    for row in group.parts:
        if isinstance(row, Group) or row.field.name != DAY_OF_ACTION:
            continue
        first, last = conditions.range_of(row)
        too_late = first and rule.ends_at and first > rule.ends_at.astimezone(zone).date()
        too_early = last and rule.starts_at and last < rule.starts_at.astimezone(zone).date()
        if too_late or too_early:
            return {"conditions": _("The days of the conditions lie outside of the time in which the rule runs.")}
    return {}


def _segments(rule: EarningRule) -> Problems:
    """Reject segments that the brand does not have; a rule that has ended no longer evaluates any."""
    if not rule.brand_id or rule.state == EarningRule.State.ENDED:
        return {}
    if segment_references.unknown(rule.brand_id, segment_references.ids_in(rule.conditions)):
        return {"conditions": _("One of the segments is gone. Remove it from the conditions.")}
    return {}


def _without_end(rule: EarningRule, rule_limits: tuple[Limit, ...]) -> Problems:
    """Require an end, a limit or `without_end`, except for points or a percentage without conditions."""
    is_simple = not rule.conditions and rule.reward_type in {Effect.POINTS, Effect.PERCENTAGE}
    if is_simple or rule.ends_at or rule_limits or rule.without_end or rule.state in {"draft", "ended"}:
        return {}
    return {"ends_at": _("Give the rule an end or a limit, or say that it runs until somebody ends it.")}


def _spent(rule: EarningRule, rule_limits: tuple[Limit, ...]) -> Problems:
    """Reject a budget below what the rule has given already."""
    own = [each for each in rule_limits if each.per == RULE]
    budget = EarningRuleBudgetUse.objects.filter(rule=rule.pk).first() if own and rule.pk else None
    for limit in own if budget else ():
        assert budget is not None  # noqa: S101 - without one the loop has no items
        spent = Decimal(budget.events) if limit.what == EVENTS else budget.points
        if limit.amount < spent:
            message = _("The rule has already given %(spent)s. Enter at least that amount, or end the rule.")
            in_unit = spent * (limit.point_cost or 1)
            return {"limits": message % {"spent": grouped(in_unit.normalize())}}
    return {}


def _with_other_rules(rule: EarningRule) -> Problems:
    """Reject combinations of rules that cannot be in force together."""
    for other in rules_in_force(rule):
        if rule.stacking == Stacking.BEST == other.stacking and rule.group == other.group:
            kinds = {stage(rule.reward_type), stage(other.reward_type)}
            if len(kinds) > 1:
                message = _(
                    "“%(name)s” of this group gives something else. Rules of a group are alike: all of them points "
                    "and percentages, all multipliers, or all bonuses."
                )
                return {"group": message % {"name": other}}
        same = (
            other.conditions == rule.conditions
            and (other.reward_type, other.reward_value) == (rule.reward_type, rule.reward_value)
            and (other.per, other.basis) == (rule.per, rule.basis)
            and Stacking.BEST not in {rule.stacking, other.stacking}
        )
        if same:
            message = _(
                "“%(name)s” gives the same for the same actions at the same time. Change or end one of the two rules."
            )
            return {"conditions": message % {"name": other}}
    if rule.group == LEVEL_GROUP and stage(rule.reward_type) != "points":
        return {"group": _("Only points and percentages can replace the level's points.")}
    return {}


def stage(effect: str) -> str:
    """The stacking step of an effect: points and percentages share one."""
    return "points" if effect in {Effect.POINTS, Effect.PERCENTAGE} else effect


def rules_in_force(rule: EarningRule) -> list[EarningRule]:
    """Other active rules of the brand for the same kind of action whose time overlaps the rule's."""
    remaining = EarningRule.objects.filter(brand=rule.brand_id, kind=rule.kind, state=EarningRule.State.ACTIVE)
    if rule.pk:
        remaining = remaining.exclude(pk=rule.pk)
    return list(remaining.filter(_overlapping(rule.starts_at, rule.ends_at)).order_by("-priority", "pk")[:500])


def _overlapping(starts_at: datetime | None, ends_at: datetime | None) -> Q:
    rows = Q()
    if ends_at:
        rows &= Q(starts_at__isnull=True) | Q(starts_at__lt=ends_at)
    if starts_at:
        rows &= Q(ends_at__isnull=True) | Q(ends_at__gt=starts_at)
    return rows
