"""A brand's rules as they were at any time, also with a draft rule added."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from campaigns.earning import own_fields, rules
from campaigns.earning.action_context import ActionContext
from campaigns.earning.limits import RULE, Limit
from campaigns.earning.own_fields import OwnFields
from campaigns.earning.rules import Candidate, RulesOfKind
from campaigns.earning.stacking import Rule
from campaigns.models.earning_rules import EarningRuleVersion

TRIED = 0  # the version of a rule that was never in force
# How many a replay keeps compiled, however often the rules have changed.
MAX_SETS, MAX_COMPILED = 200, 5_000
NO_RULES = RulesOfKind()


@dataclass(slots=True)
class RulesAsTheyStood:
    """A version of a brand's rules. Caches the last result, because the draft is tried on the same action next."""

    kinds: Mapping[str, RulesOfKind]
    limited: frozenset[str]  # kinds of actions for which a rule has limits
    last: ActionContext | None = None
    last_matching: list[Rule] = field(default_factory=list)

    def matching(self, context: ActionContext) -> list[Rule]:
        """The rules that apply to an action of a member."""
        if context is not self.last:
            of_kind = self.kinds.get(context.kind, NO_RULES)
            self.last_matching = [each.rule for each in of_kind.candidates(context) if each.rule.test(context)]
            self.last = context
        return self.last_matching


@dataclass(slots=True)
class RulesWithDraft:
    """The same version with the draft rule replacing its stored version; without a drafted rule, the same."""

    stood: RulesAsTheyStood
    draft: Candidate | None
    kind: str
    has_own: bool  # whether the draft's rule was in force in this version
    limited: frozenset[str]

    def matching(self, context: ActionContext) -> list[Rule]:
        result = self.stood.matching(context)
        if self.draft is None:
            return result
        if self.has_own:
            own = self.draft.rule.id
            result = [rule for rule in result if rule.id != own]
        if context.kind == self.kind and self.draft.rule.test(context):
            result = [*result, self.draft.rule]
        return result


class RuleHistory:
    """A brand's versions of the set of rules, compiled on first use; the least recently used are dropped.

    A draft rule, given as its ID and content, replaces its rule's own versions and runs all the time. Raises
    ConditionsError or LimitsError if it cannot be read.
    """

    def __init__(self, brand_id: int, *, rule_id: int | None = None, content: Mapping[str, Any] | None = None) -> None:
        self._brand_id = brand_id
        versions = EarningRuleVersion.objects.filter(brand=brand_id).order_by("set_version")
        rows = list(versions.values_list("set_version", "written_at").distinct())
        self._versions, self._moments = [row[0] for row in rows], [row[1] for row in rows]
        kinds = set(versions.filter(content__isnull=False).values_list("content__kind", flat=True).distinct())
        self.rule_id, self.kind = rule_id, str(content["kind"]) if content else ""
        self._own: OwnFields = own_fields.of_kinds(brand_id, [*kinds, self.kind])
        self.draft: Candidate | None = None
        if content is not None and rule_id is not None:
            always = {**content, "starts_at": None, "ends_at": None}
            self.draft = rules.candidate_of(rule_id, TRIED, always, self._own.get(self.kind, {}))
        self._sets: OrderedDict[int, RulesWithDraft] = OrderedDict()
        self._compiled: OrderedDict[tuple[int, int], Candidate | None] = OrderedDict()
        # By rule and version, for each compiled version that has limits.
        self.limits: dict[tuple[int, int], tuple[Limit, ...]] = {}

    def version_at(self, moment: datetime) -> int:
        """The version of the set that was in force; 0 before the first rule."""
        place = bisect_right(self._moments, moment)
        return self._versions[place - 1] if place else 0

    def with_draft(self, version: int) -> RulesWithDraft:
        result = self._sets.get(version)
        if result is None:
            result = self._sets[version] = self._compile(version)
            if len(self._sets) > MAX_SETS:
                self._sets.popitem(last=False)
        elif len(self._sets) >= MAX_SETS:
            self._sets.move_to_end(version)
        return result

    def _compile(self, version: int) -> RulesWithDraft:
        _number, contents = rules.contents_at(self._brand_id, version)
        kinds: dict[str, RulesOfKind] = {}
        for rule_id, number, content in contents:
            candidate = self._candidate(rule_id, number, content)
            if candidate is not None:
                kinds.setdefault(content["kind"], RulesOfKind()).add(candidate)
        limited = frozenset(kind for kind, own in kinds.items() if any(each.rule.limits for each in own.every))
        ids = frozenset(rule_id for rule_id, _number, _content in contents)
        draft_limits = self.draft.rule.limits if self.draft else ()
        self._note_limits(each for own in kinds.values() for each in own.every)
        return RulesWithDraft(
            RulesAsTheyStood(kinds, limited),
            self.draft,
            self.kind,
            has_own=self.rule_id in ids,
            limited=limited | {self.kind} if draft_limits else limited,
        )

    def _candidate(self, rule_id: int, number: int, content: Mapping[str, Any]) -> Candidate | None:
        """Compile a version of a rule once for all versions of the set that contain it. None: it cannot be read."""
        key = rule_id, number
        if key not in self._compiled:
            own = self._own.get(content["kind"], {})
            self._compiled[key] = rules.readable_candidate_of(rule_id, number, content, own)
            if len(self._compiled) > MAX_COMPILED:
                self._compiled.popitem(last=False)
        return self._compiled[key]

    def _note_limits(self, candidates: Iterable[Candidate]) -> None:
        for each in (*candidates, self.draft):
            if each and each.rule.limits:
                self.limits[each.rule.id, each.rule.version] = each.rule.limits

    def has_limits(self, since: datetime, until: datetime) -> tuple[bool, bool]:
        """Whether any rule in force in the period, or the draft, has limits; and whether any has a budget, by which
        earlier awards of one member reduce those of others."""
        own: list[Any] = [{"per": each.per} for each in self.draft.rule.limits] if self.draft else []
        versions = EarningRuleVersion.objects.filter(brand=self._brand_id, written_at__lt=until)
        rows = versions.order_by("rule_id", "set_version").values_list("rule_id", "written_at", "content__limits")
        before: tuple[int, list[Any]] | None = None
        for rule_id, written_at, limits in rows.iterator():
            # A rule's last version before the period was in force when the period began.
            if before and (before[0] != rule_id or written_at > since):
                own += before[1]
            before = rule_id, limits or []
        own += before[1] if before else []
        return bool(own), any(each["per"] == RULE for each in own)
