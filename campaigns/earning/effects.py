"""What a rule gives by itself, before stacking and limits: its points and their basis."""

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from campaigns.earning import points
from campaigns.earning.action_context import ActionContext, Item
from campaigns.earning.comparisons import Test
from campaigns.earning.points import MAX_POINTS
from campaigns.models.earning_rules import EarningRule
from loyalty.models.levels import RewardType
from loyalty.points.explanations import DEFAULT, LEVEL, OVERRIDE, REWARD, Share

ZERO, WHOLE = Decimal(0), Decimal(1)
Effect, Per, Basis = EarningRule.Effect, EarningRule.Per, EarningRule.Basis


class EffectResult(NamedTuple):
    """What an effect gives: the points, what they were calculated from, and how many times it counted."""

    points: Decimal
    basis: Decimal | None = None
    items: int = 1


def of_base(context: ActionContext) -> Share | None:
    """What the action earns without any rule: a scan by its level's four rules, a milestone what it pays."""
    if context.fixed_points is not None:
        return Share(REWARD, Effect.POINTS, context.fixed_points, context.fixed_points)
    if context.base is None:
        return None
    base, level = context.base, context.level
    worth = points.for_scan(
        redeem_point_value=base.redeem_point_value,
        reward_type=level.scan_reward_type if level else None,
        reward_value=level.scan_reward_value if level else None,
        retail_price=base.retail_price,
        ceiling=base.ceiling,
    )
    if base.redeem_point_value:
        return Share(OVERRIDE, Effect.POINTS, worth, worth)
    if level and level.scan_reward_type == RewardType.POINTS:
        return Share(LEVEL, Effect.POINTS, level.scan_reward_value, worth, name=level.name)
    if level and level.scan_reward_type == RewardType.PERCENTAGE and base.retail_price is not None:
        return Share(LEVEL, Effect.PERCENTAGE, level.scan_reward_value, worth, basis=base.retail_price, name=level.name)
    return Share(DEFAULT, Effect.POINTS, worth, worth)


def of_rule(effect: str, value: Decimal, per: str, basis: str, test: Test, context: ActionContext) -> EffectResult:
    """What points, a percentage or a bonus give. A multiplier depends on the other rules: see stacking."""
    if effect == Effect.PERCENTAGE:
        is_whole = basis == Basis.WHOLE
        amount = amount_of(context, [] if is_whole else matching(test, context), is_whole=is_whole)
        result = points.percentage(of=amount, percent=value)
        # Capped like a level's percentage: otherwise anyone who sends a product's price could set the points.
        return EffectResult(min(result, Decimal(context.base.ceiling)) if context.base else result, basis=amount)
    if per == Per.ITEM:
        times = sum(item.quantity for item in matching(test, context))
        return EffectResult(min(MAX_POINTS, value * times), items=times)
    return EffectResult(value)


def matching(test: Test, context: ActionContext) -> list[Item]:
    """The items that fulfil the rule's conditions when each is tested alone."""
    return [item for item in context.items if test(context.only(item))]


def amount_of(context: ActionContext, items: list[Item], *, is_whole: bool) -> Decimal:
    """What was paid for these items: a share of the order's amount by price, which distributes discounts."""
    if context.amount is None:
        return max(ZERO, sum((item.total for item in (context.items if is_whole else items)), ZERO))
    if is_whole:
        return context.amount
    if not context.subtotal:
        return ZERO
    listed = sum((item.total for item in items), ZERO)
    return min(
        context.amount, (context.amount * listed / context.subtotal).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    )


def whole(number: Decimal) -> Decimal:
    """Rounded to whole points, halves up, at most what a ledger entry can hold."""
    return min(number, MAX_POINTS).quantize(WHOLE, rounding=ROUND_HALF_UP) if number < MAX_POINTS else MAX_POINTS
