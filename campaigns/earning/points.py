"""How many points an action earns without earning rules, and how points are rounded."""

from decimal import ROUND_HALF_UP, Decimal

from loyalty.models.levels import RewardType

WHOLE = Decimal(1)
BY_DEFAULT = Decimal(1)
# The most that a ledger entry can hold: decimal(10,2).
MAX_POINTS = Decimal("99999999.99")


def for_scan(
    *,
    redeem_point_value: int | Decimal | None,
    reward_type: str | None,
    reward_value: Decimal | None,
    retail_price: Decimal | None,
    ceiling: int,
) -> Decimal:
    """Points of a scan, by the first rule that applies: override, fixed, percentage of the price, else 1.

    A percentage pays at most the brand's `ceiling`: otherwise anyone who sets a price could set the points.
    """
    if redeem_point_value:
        return min(Decimal(redeem_point_value), MAX_POINTS)
    if reward_type == RewardType.POINTS and reward_value is not None:
        return reward_value
    if reward_type == RewardType.PERCENTAGE and reward_value is not None and retail_price is not None:
        return min(percentage(of=retail_price, percent=reward_value), Decimal(ceiling))
    return BY_DEFAULT


def percentage(*, of: Decimal, percent: Decimal) -> Decimal:
    """`percent` of an amount in whole points, halves rounded up; at most what a ledger entry can hold."""
    return min((of * percent / 100).quantize(WHOLE, rounding=ROUND_HALF_UP), MAX_POINTS)
