"""What an accrual costs with 50 and with 500 active earning rules of 5 conditions, beside one with none."""

from functools import partial
from statistics import median

from authcodes.models.codes import AuthCode
from bench import growth, world
from bench.growth import Place
from bench.harness import Figure, Scale, interleaved, ratio, say
from brands.models.tenants import Brand
from campaigns.models.earning_rules import EarningRule

PART = "rules"
KINDS = ("accrual", "accrual, its SQL")
GOALS = {50: 1.15, 500: 1.5}
# One in five rules asks for nothing that the action itself decides by, so each action is tried on it.
EVERY = 5


def measure(scale: Scale) -> list[Figure]:
    fresh, history = scale.pick((12_000, 120_000), (5_000, 50_000), (80, 160))
    rounds, times = scale.pick((8, 300), (6, 120), (1, 4))
    world.use_database("bench_rules", new=True)
    say(f"making {fresh + history:,} codes ...")
    brand = world.build(customers=history // 10, codes=fresh, history=history)
    place = Place("bench_rules", world.access_tokens(brand), codes_of(brand))
    ways = {f"{count} rules": partial(costs, brand, place, times, count) for count in (0, *GOALS)}
    found, others = interleaved(PART, rounds, ways)
    figures = [others]
    for count, goal in GOALS.items():
        for kind in KINDS:
            above, below = ([each[kind] for each in found[f"{rules} rules"]] for rules in (count, 0))
            wanted = {"goal": goal, "at_least": False} if kind == "accrual" else {}
            figures.append(ratio(PART, f"{kind}: {count} rules / none", above, below, **wanted))
    for way, results in found.items():
        figures.append(Figure(PART, f"accrual: {way}", median([each["accrual"] for each in results]), "ms"))
    return figures


def codes_of(brand: Brand) -> list[str]:
    return list(AuthCode.objects.filter(brand=brand, scan_count=0).order_by("?").values_list("code", flat=True))


def costs(brand: Brand, place: Place, times: int, count: int) -> dict[str, float]:
    """Milliseconds of accruals with so many rules."""
    EarningRule.objects.filter(brand=brand).delete()
    EarningRule.objects.bulk_create([rule(brand, number) for number in range(count)])
    return growth.costs(place, times)


def rule(brand: Brand, number: int) -> EarningRule:
    """Most are about a category that the product has not; of the others two match, and the last also has limits."""
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
