"""How rules combine: effects, order, groups and limits, and properties that hold for any rules."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns.earning import limits, stacking
from campaigns.earning.action_context import ActionContext, Item, ScanBase
from campaigns.earning.limits import BEGINNING, LimitUsage, Used
from campaigns.earning.points import MAX_POINTS
from campaigns.earning.stacking import Award, Rule
from loyalty.points.explanations import Cut
from loyalty.points.levels import Level

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
STARTS = {"day": date(2026, 12, 1), "week": date(2026, 11, 30), "month": date(2026, 12, 1), "ever": BEGINNING}
TEN = Level("Gold", Decimal(0), "points", Decimal(10))
_numbers = count(1)


def rule(effect="points", value=5, *, test=lambda _context: True, at_most=(), **fields):
    defaults = {"per": "event", "basis": "whole", "stacking": "add", "group": "", "priority": 100}
    number = next(_numbers)
    return Rule(
        **{
            "id": number,
            "version": 1,
            "name": f"Rule {number}",
            "names": None,
            "effect": effect,
            "value": Decimal(str(value)),
            "limits": limits.read(list(at_most)),
            "test": test,
            **defaults,
            **fields,
        }
    )


def scan(level=TEN, override=None, price="49.90"):
    item = Item(1, "A", "Serums", frozenset(), 1, Decimal(price))
    base = ScanBase(override, Decimal(price), ceiling=1000)
    return ActionContext("scan-auth", AT, items=(item,), base=base, level=level)


SERUMS = Item(1, "A", "Serums", frozenset(), 2, Decimal(20))
SOAP = Item(2, "B", "Soaps", frozenset(), 3, Decimal(20))


def order(subtotal=100, amount=50):
    return ActionContext("order-complete", AT, items=(SERUMS, SOAP), subtotal=Decimal(subtotal), amount=Decimal(amount))


def in_serums(context):
    return any(item.category == "Serums" for item in context.items)


def usage(**used):
    return LimitUsage(STARTS, **used)


def points(*rules, context=None, limit_usage=None):
    award = stacking.award(rules, context or scan(), limit_usage or usage())
    assert sum(share.points for share in award.shares) == award.points
    return award.points


def limit(per="member", what="points", period="ever", most=5, **more):
    return {"per": per, "what": what, "period": period, "most": most, **more}


SCAN_CASES = {
    "without a rule the level's points": ([], 10),
    "points are added": ([rule(value=5)], 15),
    "a percentage of the price is added": ([rule("percentage", 10)], 15),
    "a multiplier counts points and percentages": ([rule(value=5), rule("multiplier", 2)], 30),
    "a bonus is not multiplied": ([rule("bonus", 7), rule("multiplier", 2)], 27),
    "multipliers that add count what stood before": ([rule("multiplier", 2), rule("multiplier", 3)], 40),
    "multipliers that multiply count what stands": (
        [rule("multiplier", 2, stacking="multiply"), rule("multiplier", 3, stacking="multiply")],
        60,
    ),
    "the higher priority comes first": (
        [rule("multiplier", 2, priority=1), rule("multiplier", 3, stacking="multiply", priority=2)],
        40,
    ),
    "the result of a multiplier is whole, halves up": ([rule("multiplier", "1.25")], 13),
    "the best of a group": (
        [rule(value=v, stacking="best", group="a") for v in (3, 8, 5)],
        18,
    ),
    "groups do not touch each other": (
        [rule(value=v, stacking="best", group=g) for v, g in ((3, "a"), (8, "b"))],
        21,
    ),
    "the best multiplier of a group": (
        [rule("multiplier", v, stacking="best", group="a") for v in (2, 4, 3)],
        40,
    ),
    "the level's points may be the better": ([rule(value=9, stacking="best", group="level")], 10),
    "or the rule": ([rule(value=11, stacking="best", group="level")], 11),
    "at most so much at a time": ([rule("multiplier", 5, at_most=[limit(period="event", most=25)])], 35),
    "of the level's group the rule's limit counts": (
        [rule(value=11, stacking="best", group="level", at_most=[limit(period="event", most=3)])],
        10,
    ),
}


@pytest.mark.parametrize(("rules", "expected"), SCAN_CASES.values(), ids=list(SCAN_CASES))
def test_points_of_a_scan_by_its_rules(rules, expected):
    for arrangement in permutations(rules):
        assert points(*arrangement) == expected


ORDER_CASES = {
    "nothing": ([rule(value=0)], 0),
    "percent of what was paid": ([rule("percentage", 10)], 5),
    "percent of the items that match, with their part of the discount": (
        [rule("percentage", 10, basis="matching", test=in_serums)],
        2,
    ),
    "points for each item": ([rule(value=4, per="item", test=in_serums)], 8),
    "points for each of all items": ([rule(value=4, per="item")], 20),
    "once for the action": ([rule(value=4, test=in_serums)], 4),
    "a bonus for each item": ([rule("bonus", 1, per="item", test=in_serums)], 2),
}


@pytest.mark.parametrize(("rules", "expected"), ORDER_CASES.values(), ids=list(ORDER_CASES))
def test_points_of_an_order_by_its_rules(rules, expected):
    assert points(*rules, context=order()) == expected


def test_multiplier_without_base_points_gives_nothing():
    assert points(rule("multiplier", 3), context=order()) == 0
    assert stacking.award([], order(), usage()) is None


def test_matching_items_never_earn_more_than_was_paid():
    cheap = order(subtotal=10, amount=10)  # items at 100 in all

    assert points(rule("percentage", 100, basis="matching"), context=cheap) == 10


def test_percentage_of_a_scan_is_capped_at_the_ceiling():
    assert points(rule("percentage", 100), context=scan(price="50000")) == 10 + 1000


@pytest.mark.parametrize("override", [3, 300])
def test_rules_multiply_the_points_of_the_product(override):
    assert points(rule("multiplier", 2), context=scan(override=override)) == 2 * override


LIMITS = {
    "points of a member": ([limit(most=12)], {"uses": {("ever",): Used(Decimal(10), 3)}}, 2),
    "events of a member": ([limit(what="events", most=3)], {"uses": {("ever",): Used(Decimal(1), 3)}}, 0),
    "events left": ([limit(what="events", most=4)], {"uses": {("ever",): Used(Decimal(1), 3)}}, 5),
    "a day": ([limit(period="day", most=6)], {"uses": {("day",): Used(Decimal(3), 1)}}, 3),
    "a week": ([limit(period="week", most=6)], {"uses": {("week",): Used(Decimal(6), 1)}}, 0),
    "a month": ([limit(period="month", most=6)], {"uses": {("month",): Used(Decimal(2), 1)}}, 4),
    "the lowest counts": ([limit(period="day", most=4), limit(most=2)], {}, 2),
    "points of the rule": ([limit("rule", most=100)], {"budget": Used(Decimal(99), 1)}, 1),
    "events of the rule": ([limit("rule", "events", most=7)], {"budget": Used(Decimal(9), 7)}, 0),
    "money of the rule": (
        [limit("rule", "money", most="1.00", point_cost="0.01")],
        {"budget": Used(Decimal("97.5"), 1)},
        "2.5",
    ),
    "what was given beyond a limit that was lowered": ([limit(most=1)], {"uses": {("ever",): Used(Decimal(9), 1)}}, 0),
}


@pytest.mark.parametrize(("at_most", "used", "expected"), LIMITS.values(), ids=list(LIMITS))
def test_limit_cuts_the_points_of_a_rule(at_most, used, expected):
    limited = rule(value=5, at_most=at_most)
    current_usage = usage(
        uses={(limited.id, *period): each for period, each in used.get("uses", {}).items()},
        budgets={limited.id: used["budget"]} if "budget" in used else {},
    )

    award = stacking.award([limited], order(), current_usage)

    assert award.points == Decimal(expected)
    assert (award.shares[0].cut is None) == (award.points == 5)
    assert (limited.id in current_usage.added) == (award.points > 0)


def test_cut_names_the_limit_that_applied():
    limited = rule("multiplier", 2, at_most=[limit(most=500, period="month"), limit("rule", most=4)])

    [_level, share] = stacking.award([limited], scan(), usage()).shares

    assert share.cut == Cut("rule", "points", "ever", Decimal(4))
    assert (share.points, share.basis) == (4, 10)


def test_later_multiplier_applies_to_the_points_after_a_limit():
    first = rule("multiplier", 2, stacking="multiply", priority=900, at_most=[limit(most=5)])

    assert points(first, rule("multiplier", 2, stacking="multiply")) == 30


def test_best_rule_of_a_group_ignores_rules_out_of_budget():
    exhausted = rule("multiplier", 5, stacking="best", group="a", at_most=[limit("rule", most=9)])
    available = rule("multiplier", 2, stacking="best", group="a")

    assert points(exhausted, available, limit_usage=usage(budgets={exhausted.id: Used(Decimal(9), 1)})) == 20


def test_trimming_reduces_the_last_shares_first():
    award = stacking.award([rule(value=5), rule("bonus", 3)], scan(), usage())

    cut = stacking.trimmed(award, to=Decimal(12), cut=Cut("brand", "points", "day", Decimal(12)))

    assert [share.points for share in cut.shares] == [10, 2, 0]
    assert stacking.trimmed(award, to=Decimal(99), cut=None) is award


values = st.decimals(min_value=0, max_value=10_000, places=2)
multipliers = st.decimals(min_value="1.01", max_value=10, places=2)
effects = st.one_of(
    st.tuples(st.sampled_from(["points", "percentage", "bonus"]), values),
    st.tuples(st.just("multiplier"), multipliers),
)
limit_lists = st.lists(
    st.builds(
        limit,
        per=st.just("member"),
        period=st.sampled_from(["event", "day", "ever"]),
        most=st.decimals(min_value="0.01", max_value=50, places=2),
    ),
    max_size=2,
    unique_by=lambda each: each["period"],
)


@st.composite
def rules(draw, **fields):
    effect, value = draw(effects)
    group = draw(st.sampled_from(["", "", "a", "b", "level"]))
    modes = ["add", "multiply"] if effect == "multiplier" else ["add"]
    mode = "best" if group else draw(st.sampled_from(modes))
    return rule(
        effect,
        value,
        stacking=mode,
        group=group,
        priority=draw(st.integers(0, 5)),
        at_most=draw(limit_lists),
        **fields,
    )


@given(st.lists(rules(), max_size=12), st.sampled_from([scan(), order(), scan(override=99)]))
@settings(deadline=None, max_examples=300)
def test_award_of_any_rules_is_bounded_and_explained_by_its_shares(drawn_rules, context):
    award = stacking.award(drawn_rules, context, usage())

    if award is None:
        assert not drawn_rules
        return
    assert 0 <= award.points <= MAX_POINTS
    assert sum(share.points for share in award.shares) == award.points
    assert all(share.points >= 0 for share in award.shares)
    by_id = {each.id: each for each in drawn_rules}
    for share in award.shares:
        for each in by_id[share.rule_id].limits if share.rule_id else ():
            assert share.points <= each.amount


@given(st.lists(rules(), max_size=6), st.randoms())
@settings(deadline=None, max_examples=200)
def test_order_of_reading_rules_does_not_matter(drawn_rules, random):
    shuffled = random.sample(drawn_rules, len(drawn_rules))

    assert stacking.award(drawn_rules, scan(), usage()) == stacking.award(shuffled, scan(), usage())


@given(st.lists(multipliers, min_size=2, max_size=6), st.randoms())
@settings(deadline=None, max_examples=200)
def test_multipliers_of_one_mode_give_the_same_in_any_priority(drawn_multipliers, random):
    for mode in ("add", "multiply"):
        orders = [random.sample(range(len(drawn_multipliers)), len(drawn_multipliers)) for _ in range(2)]
        results = {
            points(
                *(
                    rule("multiplier", value, stacking=mode, priority=priority)
                    for value, priority in zip(drawn_multipliers, each, strict=True)
                )
            )
            for each in orders
        }

        assert len(results) == 1


@given(st.lists(st.lists(rules(), max_size=4), min_size=1, max_size=5))
@settings(deadline=None, max_examples=100)
def test_no_limit_is_exceeded_by_any_number_of_actions(actions):
    all_rules = [each for action_rules in actions for each in action_rules]
    current_usage, points_by_rule = usage(), {}
    for _again in range(3):
        for award in (stacking.award(all_rules, scan(), current_usage) or Award(Decimal(0), ()),):
            for share in award.shares:
                if share.rule_id:
                    points_by_rule[share.rule_id] = points_by_rule.get(share.rule_id, 0) + share.points
    for each in all_rules:
        for bound in each.limits:
            if bound.period != "event":
                assert points_by_rule.get(each.id, 0) <= bound.amount
