"""Active earning rules of a benchmark's brand: each has five conditions, two match a scan, one of these has a limit."""

import os

from bench.harness import RULES
from brands.models.tenants import Brand
from campaigns.models.earning_rules import EarningRule

# One in five rules has no condition on the action itself, so it is evaluated for each action.
EVERY = 5


def requested_count() -> int:
    """The number of rules from `--rules`."""
    return int(os.environ.get(RULES) or 0)


def add(brand: Brand, count: int) -> None:
    EarningRule.objects.bulk_create([rule(brand, number) for number in range(count)])


def rule(brand: Brand, number: int) -> EarningRule:
    """Most rules are for a category that the product does not have. Of the others two match; the last has limits."""
    conditions = [
        {"field": "weekday", "operator": "in", "value": [1, 2, 3, 4, 5, 6, 7]},
        {"field": "channel", "operator": "not_in", "value": ["shop", "till"]},
        {"field": "item_price", "operator": "between", "value": ["1", "1000"]},
        {"field": "day", "operator": "between", "value": ["2020-01-01", "2090-12-31"]},
    ]
    if number % EVERY:
        conditions.append({"field": "category", "operator": "in", "value": [f"Category {number}"]})
    elif number < 2 * EVERY:
        conditions.append({"field": "level", "operator": "in", "value": ["Bronze", "Silver", "Gold"]})
    else:
        conditions.append({"field": "item_price", "operator": "at_least", "value": str(500 + number)})
    return EarningRule(
        brand=brand,
        name=f"Rule {number}",
        kind=EarningRule.Kind.SCAN,
        reward_type=EarningRule.Effect.BONUS,
        reward_value=1,
        conditions={"all": conditions},
        limits=[{"per": "member", "what": "points", "period": "month", "most": 500}] if number == EVERY else [],
        without_end=True,
    )
