"""However often rules have changed, a replay holds few of them compiled, and decides the same."""

import pytest
from django.utils import timezone

from campaigns.models.earning_rules import EarningRule
from campaigns.replay import rule_history
from campaigns.replay.rule_history import RuleHistory
from tests.campaigns.earning.earning_rules import limit, rule
from tests.campaigns.replay.history import replay_rule, simulate_weeks

pytestmark = pytest.mark.django_db


def test_replay_with_few_compiled_versions_gives_the_same_result(brand, monkeypatch):
    simulate_weeks(brand, 2)
    replayed_rule = EarningRule.objects.filter(brand=brand).first()
    expected = replay_rule(replayed_rule)
    monkeypatch.setattr(rule_history, "MAX_SETS", 1)
    monkeypatch.setattr(rule_history, "MAX_COMPILED", 2)

    assert replay_rule(replayed_rule) == expected
    assert expected["differences"] == 0
    history = RuleHistory(brand.pk)
    for version in (1, 2, 3, 2):
        history.with_draft(version)
    assert (len(history._sets), len(history._compiled)) == (1, 2)


def test_rule_version_is_compiled_once_for_all_sets(brand):
    unchanged = rule(brand, "log-user-login", 2, name="Login")
    changed = rule(brand, "scan-auth", 2)
    for value in (3, 4):
        changed.reward_value = value
        changed.save()
    history = RuleHistory(brand.pk)

    sets = [history.with_draft(version).stood for version in (2, 3, 4)]

    [compiled_id] = {id(each) for rule_set in sets for each in rule_set.kinds["log-user-login"].every}
    assert compiled_id and unchanged.pk
    assert [rule_set.kinds["scan-auth"].every[0].rule.value for rule_set in sets] == [2, 3, 4]


def test_limits_are_known_without_compiling_rules(brand):
    at = timezone.now()
    new_rule = rule(brand, "scan-auth", 2, limits=[limit("rule")])
    between = timezone.now()
    new_rule.limits = [limit()]
    new_rule.save()
    changed = timezone.now()
    new_rule.limits = []
    new_rule.save()
    end = timezone.now()

    history = RuleHistory(brand.pk)
    assert history.has_limits(at, end) == (True, True)
    assert history.has_limits(between, end) == (True, True)
    assert history.has_limits(changed, end) == (True, False)
    assert history.has_limits(end, timezone.now()) == (False, False)
    assert not history._compiled
