"""A brand's rules as they stood at any time, and the same with a draft beside them."""

from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from campaigns.earning import rules
from campaigns.earning.limits import RULE, Limit
from campaigns.earning.rules import Candidate, RuleSet
from campaigns.models.earning_rules import EarningRuleVersion

TRIED = 0  # the version of a rule that never was in force


class RuleHistory:
    """Each version of the set is compiled once, when an action wants it.

    The draft, given as its rule's id and content, stands in place of its rule's own versions, and runs all the time.
    Raises ConditionsError or LimitsError if it cannot be read.
    """

    def __init__(self, brand_id: int, *, rule_id: int, content: Mapping[str, Any]) -> None:
        self._brand_id = brand_id
        versions = EarningRuleVersion.objects.filter(brand=brand_id).order_by("set_version")
        rows = list(versions.values_list("set_version", "written_at").distinct())
        self._versions, self._moments = [row[0] for row in rows], [row[1] for row in rows]
        self.rule_id = rule_id
        self._content = {**content, "starts_at": None, "ends_at": None}
        self.draft: Candidate = rules.candidate_of(rule_id, TRIED, self._content)
        self.kind: str = content["kind"]
        self._sets: dict[int, tuple[RuleSet, RuleSet]] = {}
        self._with_own: set[int] = set()  # versions in which the draft's own rule was in force itself
        self.limits: dict[tuple[int, int], tuple[Limit, ...]] = {}

    def version_at(self, moment: datetime) -> int:
        """The version of the set that was in force; 0 before there was any rule."""
        place = bisect_right(self._moments, moment)
        return self._versions[place - 1] if place else 0

    def as_it_stood(self, version: int) -> RuleSet:
        return self._both(version)[0]

    def with_draft(self, version: int) -> RuleSet:
        return self._both(version)[1]

    def has_own(self, version: int) -> bool:
        """Whether the draft's own rule was in force itself."""
        self._both(version)
        return version in self._with_own

    def _both(self, version: int) -> tuple[RuleSet, RuleSet]:
        if version not in self._sets:
            number, contents = rules.contents_at(self._brand_id, version)
            remaining = [each for each in contents if each[0] != self.rule_id]
            with_draft = [*remaining, (self.rule_id, TRIED, self._content)]
            both = (
                rules.compiled(contents, brand_id=self._brand_id, version=number),
                rules.compiled(with_draft, brand_id=self._brand_id, version=number),
            )
            self._sets[version] = both
            if len(remaining) < len(contents):
                self._with_own.add(version)
            self.limits.update(
                ((each.rule.id, each.rule.version), each.rule.limits) for rule_set in both for each in every(rule_set)
            )
        return self._sets[version]

    def versions(self, since: datetime, until: datetime) -> list[int]:
        """Those that were in force at any time of a period."""
        within = [number for number, at in zip(self._versions, self._moments, strict=True) if since < at < until]
        return [self.version_at(since), *within]

    def has_budgets(self, since: datetime, until: datetime) -> bool:
        """Whether what one member got left less for the next."""
        return any(
            limit.per == RULE
            for version in self.versions(since, until)
            for rule_set in self._both(version)
            for each in every(rule_set)
            for limit in each.rule.limits
        )


def every(rule_set: RuleSet) -> list[Candidate]:
    return [each for kind in rule_set.kinds.values() for each in kind.every]
