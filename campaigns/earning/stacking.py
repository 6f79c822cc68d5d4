"""Combines rules, in this order:

1. what the action earns by itself: the level's points of a scan, what a milestone pays;
2. fixed points and percentages are added;
3. multipliers, the highest priority first: one that adds gives its multiple of the points before all multipliers, one
   that multiplies gives its multiple of the current total; the result is in whole points, halves up;
4. bonuses are added, and never multiplied.

Of the rules in a group, only the one that gives this member most counts; on a tie, the higher priority, then the older
rule. Each share is cut by its rule's own limits before the next step sees it. Nothing is ever below 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from campaigns.earning import effects
from campaigns.earning.action_context import ActionContext
from campaigns.earning.comparisons import Test
from campaigns.earning.effects import Effect, EffectResult
from campaigns.earning.limits import Limit, LimitUsage
from campaigns.earning.points import MAX_POINTS
from campaigns.models.earning_rules import LEVEL_GROUP, EarningRule
from loyalty.points.explanations import RULE, Cut, Share

ZERO = Decimal(0)
Stacking = EarningRule.Stacking
FIXED = frozenset({Effect.POINTS.value, Effect.PERCENTAGE.value})


@dataclass(frozen=True, slots=True)
class Rule:
    """A version of a rule, ready to be tested."""

    id: int
    version: int
    name: str
    names: dict[str, dict[str, str]] | None
    effect: str
    value: Decimal
    per: str
    basis: str
    stacking: str
    group: str
    priority: int
    limits: tuple[Limit, ...]
    test: Test

    @property
    def order(self) -> tuple[int, int]:
        return -self.priority, self.id


class Award(NamedTuple):
    """What an action earns and why: the points are the sum of the shares."""

    points: Decimal
    shares: tuple[Share, ...]


@dataclass(slots=True)
class _Total:
    """`exact` is what multipliers multiply. `awarded` is the same rounded, and less if a limit cut it."""

    awarded: Decimal
    exact: Decimal

    def add(self, share: Share) -> None:
        self.awarded += share.points
        self.exact = self.awarded


def award(rules: Sequence[Rule], context: ActionContext, usage: LimitUsage) -> Award | None:
    """What the matching rules give an action together; None if neither a rule nor the action itself gives anything.

    Counts what it gives in `usage`.
    """
    base = effects.of_base(context)
    if not rules:
        return None if base is None else Award(base.points, (base,))
    if len(rules) > 1:
        rules = sorted(rules, key=lambda rule: rule.order)
    elif base is None and rules[0].effect in FIXED:  # the most frequent case: nothing to stack
        [rule] = rules
        share = _fixed(rule, context, usage)
        usage.record(rule.id, rule.limits, share.points)
        return _capped(share.points, (share,))
    total = _Total(ZERO, ZERO)
    shares: list[Share] = []

    def take(rule: Rule, share: Share) -> None:
        usage.record(rule.id, rule.limits, share.points)
        shares.append(share)

    fixed = [rule for rule in rules if rule.effect in FIXED]
    chosen = _chosen(fixed, lambda rule: _fixed(rule, context, usage), base)
    if base is not None and chosen.has_base:
        shares.append(base)
        total.add(base)
    for rule, share in chosen.shares:
        take(rule, share)
        total.add(share)
    if len(fixed) < len(rules):
        _multiply([rule for rule in rules if rule.effect == Effect.MULTIPLIER], total, usage, take)
        bonuses = [rule for rule in rules if rule.effect == Effect.BONUS]
        for rule, share in _chosen(bonuses, lambda rule: _fixed(rule, context, usage), None).shares:
            take(rule, share)
            total.awarded += share.points
    return _capped(total.awarded, shares)


class _Chosen(NamedTuple):
    shares: list[tuple[Rule, Share]]
    has_base: bool


def _chosen(rules: Sequence[Rule], share_of: Callable[[Rule], Share], base: Share | None) -> _Chosen:
    """The rules without those beaten within their group; `base` belongs to the level's group."""
    result = [(rule, share_of(rule)) for rule in rules]
    if all(rule.stacking != Stacking.BEST for rule in rules):
        return _Chosen(result, has_base=True)
    best: dict[str, int] = {}
    for at, (rule, share) in enumerate(result):
        if rule.stacking == Stacking.BEST:
            first = best.setdefault(rule.group, at)
            if share.points > result[first][1].points:
                best[rule.group] = at
    has_base = True
    if base is not None and LEVEL_GROUP in best:
        has_base = base.points >= result[best[LEVEL_GROUP]][1].points
        if has_base:
            best[LEVEL_GROUP] = -1
    saved = [each for at, each in enumerate(result) if each[0].stacking != Stacking.BEST or best[each[0].group] == at]
    return _Chosen(saved, has_base)


def _fixed(rule: Rule, context: ActionContext, usage: LimitUsage) -> Share:
    return _limited(rule, effects.of_rule(rule.effect, rule.value, rule.per, rule.basis, rule.test, context), usage)


def _limited(rule: Rule, outcome: EffectResult, usage: LimitUsage) -> Share:
    left, limit = usage.cut_to_limits(rule.id, rule.limits, outcome.points)
    return Share(
        source=RULE,
        effect=rule.effect,
        value=rule.value,
        points=left,
        basis=outcome.basis,
        items=outcome.items,
        name=rule.name,
        names=rule.names,
        rule_id=rule.id,
        version=rule.version,
        cut=Cut(limit.per, limit.what, limit.period, limit.most) if limit else None,
    )


def _multiply(rules: Sequence[Rule], total: _Total, usage: LimitUsage, take: Callable[[Rule, Share], None]) -> None:
    """Apply multipliers in turn. A group counts when its first rule's turn comes, by the rule that gives most."""
    before = total.awarded
    done: set[str] = set()
    for rule in rules:
        alike = [rule]
        if rule.stacking == Stacking.BEST:
            if rule.group in done:
                continue
            done.add(rule.group)
            alike = [each for each in rules if each.stacking == Stacking.BEST and each.group == rule.group]
        best = max((_multiplied(each, before, total, usage) for each in alike), key=lambda result: result.share.points)
        take(best.rule, best.share)
        total.awarded += best.share.points
        total.exact = total.awarded if best.share.cut else best.exact


class _Multiplied(NamedTuple):
    rule: Rule
    share: Share
    exact: Decimal


def _multiplied(rule: Rule, before: Decimal, total: _Total, usage: LimitUsage) -> _Multiplied:
    adds = rule.stacking == Stacking.ADD
    exact = min(MAX_POINTS, total.exact + before * (rule.value - 1) if adds else total.exact * rule.value)
    full = max(ZERO, effects.whole(exact) - total.awarded)
    basis = before if adds else total.awarded
    return _Multiplied(rule, _limited(rule, EffectResult(full, basis=basis), usage), exact)


def _capped(points: Decimal, shares: Sequence[Share]) -> Award:
    """Cut to what a ledger entry can hold."""
    if points <= MAX_POINTS:
        return Award(points, tuple(shares))
    return trimmed(Award(points, tuple(shares)), to=MAX_POINTS, cut=None)


def trimmed(award: Award, *, to: Decimal, cut: Cut | None) -> Award:
    """The award with fewer points, taken from the last shares first; `cut` names the limit responsible."""
    over = award.points - to
    if over <= 0:
        return award
    shares = list(award.shares)
    for at in range(len(shares) - 1, -1, -1):
        taken = min(over, shares[at].points)
        if taken:
            shares[at] = shares[at]._replace(points=shares[at].points - taken, cut=cut or shares[at].cut)
            over -= taken
    return Award(to, tuple(shares))
