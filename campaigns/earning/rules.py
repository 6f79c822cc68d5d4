"""A brand's rules in force: compiled once in a process, and indexed by what an action is about.

A snapshot has the current version of the set, so the next accrual uses changed rules. Rules that need no more data than
the action cost an accrual no extra query.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from campaigns.earning import conditions, limits, own_fields
from campaigns.earning.action_context import ActionContext
from campaigns.earning.comparisons import Test
from campaigns.earning.conditions import ConditionsError, Group
from campaigns.earning.fields import FIELDS, ORDER, Field, Needs
from campaigns.earning.limits import LimitsError
from campaigns.earning.stacking import Rule
from campaigns.models.earning_rules import EarningRule, EarningRuleVersion

MAX_BRANDS = 1_000  # cached in a process
Content = tuple[int, int, Mapping[str, Any]]  # a rule's ID, its version and its content


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule with its period and conditions."""

    rule: Rule
    starts_at: datetime | None
    ends_at: datetime | None
    group: Group
    needs: Needs

    def runs_at(self, at: datetime) -> bool:
        return (self.starts_at is None or self.starts_at <= at) and (self.ends_at is None or at < self.ends_at)


@dataclass(slots=True)
class RulesOfKind:
    """Rules for one kind of action: those tested for each action, and those indexed by an anchor's value."""

    always: list[Candidate] = field(default_factory=list)
    by_anchor: dict[str, dict[Any, list[Candidate]]] = field(default_factory=dict)

    every: list[Candidate] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        self.every.append(candidate)
        anchors = conditions.anchors_of(candidate.group)
        if not anchors:
            self.always.append(candidate)
        for name, value in anchors:
            self.by_anchor.setdefault(name, {}).setdefault(value, []).append(candidate)

    def running(self, at: datetime) -> list[Candidate]:
        return [each for each in self.every if each.runs_at(at)]

    def candidates(self, context: ActionContext) -> list[Candidate]:
        """Rules that could match and run at the action's moment, each once."""
        anchored: dict[int, Candidate] = {}
        for name, listed in self.by_anchor.items():
            for value in FIELDS[name].read(context):
                key = value.casefold() if isinstance(value, str) else value
                if key in listed:
                    anchored.update((id(each), each) for each in listed[key])
        candidates = [*self.always, *anchored.values()] if anchored else self.always
        return [each for each in candidates if each.runs_at(context.happened_at)]


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an accrual must also read: the usage of these limited rules, and the data that conditions need."""

    limited: tuple[int, ...] = ()
    needs: Needs = Needs.NOTHING

    def and_also(self, other: "Requirements") -> "Requirements":
        return Requirements(tuple(dict.fromkeys((*self.limited, *other.limited))), self.needs | other.needs)


NO_REQUIREMENTS = Requirements()


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A brand's rules in one version of the set. `broken`: IDs of rules that can no longer be read."""

    version: int = 0
    kinds: Mapping[str, RulesOfKind] = field(default_factory=dict)
    broken: tuple[int, ...] = ()

    def candidates(self, context: ActionContext) -> list[Candidate]:
        of_kind = self.kinds.get(context.kind)
        return of_kind.candidates(context) if of_kind else []

    def requirements(self, context: ActionContext) -> Requirements:
        """What possible rules need: for an order, whose items lack catalogue data, all running rules."""
        of_kind = self.kinds.get(context.kind)
        if of_kind is None:
            return NO_REQUIREMENTS
        result = of_kind.running(context.happened_at) if context.kind == ORDER else of_kind.candidates(context)
        if not result:
            return NO_REQUIREMENTS
        needs = Needs.NOTHING
        for each in result:
            needs |= each.needs
        return Requirements(tuple(each.rule.id for each in result if each.rule.limits), needs)

    def matching(self, context: ActionContext) -> list[Rule]:
        """The rules that apply to a member's action."""
        return [each.rule for each in self.candidates(context) if each.rule.test(context)]


NO_RULES = RuleSet()
# By brand ID, the most recently used last.
_cached: "OrderedDict[int, RuleSet]" = OrderedDict()


def cached(brand_id: int) -> RuleSet:
    """The rules that this process has cached, possibly outdated: a snapshot shows whether they are."""
    return _cached.get(brand_id, NO_RULES)


def load(brand_id: int) -> RuleSet:
    """Load the rules in force now from the database, and cache them."""
    result = at_version(brand_id)
    _cached[brand_id] = result
    _cached.move_to_end(brand_id)
    while len(_cached) > MAX_BRANDS:
        _cached.popitem(last=False)
    return result


def reset_cache() -> None:
    """Empty the cache, as in a new process."""
    _cached.clear()


def at_version(brand_id: int, version: int | None = None) -> RuleSet:
    """The rules in a version of the set, or in the current one. Runs one statement."""
    number, contents = contents_at(brand_id, version)
    return compiled(contents, brand_id=brand_id, version=number)


def contents_at(brand_id: int, version: int | None = None) -> tuple[int, list[Content]]:
    """The number and the rules of a version of the set, or of the current one. Runs one statement."""
    rows = EarningRuleVersion.objects.filter(brand=brand_id)
    if version is not None:
        rows = rows.filter(set_version__lte=version)
    latest = list(rows.order_by("rule_id", "-set_version").distinct("rule_id"))
    number = max((row.set_version for row in latest), default=0)
    return number, [(row.rule_id, row.number, row.content) for row in latest if row.content is not None]


def compiled(contents: Iterable[Content], *, brand_id: int | None = None, version: int = 0) -> RuleSet:
    """Compile a set of rules, given as ID, version and content. Unreadable rules are only listed in `broken`.

    `brand_id`: the brand whose own kinds the rules may be for. Kinds only gain fields, so these fit each version.
    """
    kinds: dict[str, RulesOfKind] = {}
    broken = []
    contents = list(contents)
    own = own_fields.of_kinds(brand_id, (content["kind"] for _id, _number, content in contents)) if brand_id else {}
    for rule_id, number, content in contents:
        candidate = readable_candidate_of(rule_id, number, content, own.get(content["kind"], {}))
        if candidate is None:
            broken.append(rule_id)
        else:
            kinds.setdefault(content["kind"], RulesOfKind()).add(candidate)
    return RuleSet(version, kinds, tuple(broken))


def readable_candidate_of(
    rule_id: int, number: int, content: Mapping[str, Any], own: Mapping[str, Field] = conditions.NO_FIELDS
) -> Candidate | None:
    """None for a rule that can no longer be read."""
    try:
        return candidate_of(rule_id, number, content, own)
    except (ConditionsError, LimitsError):
        return None


def candidate_of(
    rule_id: int, number: int, content: Mapping[str, Any], own: Mapping[str, Field] = conditions.NO_FIELDS
) -> Candidate:
    """`own`: the fields that only the rule's kind has. Raises ConditionsError or LimitsError."""
    group = conditions.read(content["conditions"], kind=content["kind"], own=own)
    test: Test = group.test()
    result = limits.read(content["limits"])
    rule = Rule(
        id=rule_id,
        version=number,
        name=content["name"],
        names=content["translations"] or None,
        effect=content["reward_type"],
        value=Decimal(str(content["reward_value"])),
        per=content["per"],
        basis=content["basis"],
        stacking=content["stacking"],
        group=content["group"],
        priority=content["priority"],
        limits=result,
        test=test,
    )
    return Candidate(
        rule, _moment(content["starts_at"]), _moment(content["ends_at"]), group, conditions.needs_of(group)
    )


def content_of(rule: EarningRule) -> dict[str, Any]:
    """The content that a version stores; also for rules that are not in force, such as a draft."""
    return {
        "kind": rule.kind,
        "name": rule.name,
        "translations": rule.translations,
        "reward_type": rule.reward_type,
        "reward_value": str(rule.reward_value),
        "per": rule.per,
        "basis": rule.basis,
        "conditions": rule.conditions,
        "limits": rule.limits,
        "stacking": rule.stacking,
        "group": rule.group,
        "priority": rule.priority,
        "starts_at": rule.starts_at.isoformat() if rule.starts_at else None,
        "ends_at": rule.ends_at.isoformat() if rule.ends_at else None,
    }


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
