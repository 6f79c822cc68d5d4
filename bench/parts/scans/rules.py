"""The cost of an accrual with 50 and with 500 active earning rules of 5 conditions, compared with none."""

from functools import partial
from statistics import median

from authcodes.models.codes import AuthCode
from bench import rule_set, world
from bench.harness import Figure, Scale, interleaved, ratio, say
from bench.parts.scans import growth
from bench.parts.scans.growth import Place
from brands.models.tenants import Brand
from campaigns.models.earning_rules import EarningRule

PART = "rules"
KINDS = ("accrual", "accrual, its SQL")
GOALS = {50: 1.15, 500: 1.5}


def measure(scale: Scale) -> list[Figure]:
    fresh, history = scale.pick((12_000, 120_000), (5_000, 50_000), (80, 160))
    rounds, times = scale.pick((8, 300), (6, 120), (1, 4))
    world.use_database("bench_rules", new=True)
    say(f"making {fresh + history:,} codes ...")
    brand = world.build(customers=history // 10, codes=fresh, history=history)
    place = Place("bench_rules", world.access_tokens(brand), codes_of(brand))
    ways = {f"{count} rules": partial(costs, brand, place, times, count) for count in (0, *GOALS)}
    results_by_name, other_load = interleaved(PART, rounds, ways)
    figures = [other_load]
    for count, goal in GOALS.items():
        for kind in KINDS:
            above, below = ([each[kind] for each in results_by_name[f"{rules} rules"]] for rules in (count, 0))
            limit = {"goal": goal, "at_least": False} if kind == "accrual" else {}
            figures.append(ratio(PART, f"{kind}: {count} rules / none", above, below, **limit))
    for way, results in results_by_name.items():
        figures.append(Figure(PART, f"accrual: {way}", median([each["accrual"] for each in results]), "ms"))
    return figures


def codes_of(brand: Brand) -> list[str]:
    return list(AuthCode.objects.filter(brand=brand, scan_count=0).order_by("?").values_list("code", flat=True))


def costs(brand: Brand, place: Place, times: int, count: int) -> dict[str, float]:
    """Milliseconds of accruals with this many rules."""
    EarningRule.objects.filter(brand=brand).delete()
    rule_set.add(brand, count)
    return growth.costs(place, times)
