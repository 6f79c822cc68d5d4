"""However often rules have changed, a replay keeps few of them compiled, and decides the same."""

import pytest
from django.utils import timezone

from campaigns.models.earning_rules import EarningRule
from campaigns.replay import rule_history
from campaigns.replay.rule_history import RuleHistory
from tests.campaigns.earning.earning_rules import limit, rule
from tests.campaigns.replay.history import replayed, some_weeks

pytestmark = pytest.mark.django_db


def test_few_versions_are_kept_and_the_control_holds(brand, monkeypatch):
    some_weeks(brand, 2)
    tried = EarningRule.objects.filter(brand=brand).first()
    expected = replayed(tried)
    monkeypatch.setattr(rule_history, "MAX_SETS", 1)
    monkeypatch.setattr(rule_history, "MAX_COMPILED", 2)

    assert replayed(tried) == expected
    assert expected["differences"] == 0
    history = RuleHistory(brand.pk)
    for version in (1, 2, 3, 2):
        history.with_draft(version)
    assert (len(history._sets), len(history._compiled)) == (1, 2)


def test_a_version_of_a_rule_is_compiled_once_for_all_sets_that_have_it(brand):
    kept = rule(brand, "log-user-login", 2, name="Login")
    changed = rule(brand, "scan-auth", 2)
    for value in (3, 4):
        changed.reward_value = value
        changed.save()
    history = RuleHistory(brand.pk)

    sets = [history.with_draft(version).stood for version in (2, 3, 4)]

    [one] = {id(each) for own in sets for each in own.kinds["log-user-login"].every}
    assert one and kept.pk
    assert [own.kinds["scan-auth"].every[0].rule.value for own in sets] == [2, 3, 4]


def test_limits_are_known_before_anything_is_compiled(brand):
    at = timezone.now()
    made = rule(brand, "scan-auth", 2, limits=[limit("rule")])
    between = timezone.now()
    made.limits = [limit()]
    made.save()
    changed = timezone.now()
    made.limits = []
    made.save()
    end = timezone.now()

    history = RuleHistory(brand.pk)
    assert history.has_limits(at, end) == (True, True)
    assert history.has_limits(between, end) == (True, True)
    assert history.has_limits(changed, end) == (True, False)
    assert history.has_limits(end, timezone.now()) == (False, False)
    assert not history._compiled
