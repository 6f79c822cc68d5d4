"""Replays of merged members: the ledger entries of a merge are not actions, and cause no differences."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models.earning_rules import EarningRule
from loyalty.merges import undo
from tests.campaigns.replay.history import History, replay_rule, shift_one_week_back
from tests.loyalty.merges.conftest import context
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(brand):
    new_history = History(brand, 3, members=2)
    new_history.rule("scan-auth", "bonus", 4, conditions={"all": [{"field": "nth", "operator": "every", "value": 3}]})
    new_history.rule(
        "order-complete", "bonus", 7, conditions={"all": [{"field": "nth", "operator": "every", "value": 2}]}
    )
    new_history.rule("order-complete", "percentage", 10)
    new_history.rule("log-user-login", "points", 2)
    return new_history


def act(history, member, scans=4, orders=3):
    for _number in range(scans):
        history.scan(member)
    for _number in range(orders):
        history.order(member)


@pytest.mark.parametrize("since_days", [400, 3])
@pytest.mark.parametrize("is_undone", [False, True])
def test_merge_causes_no_differences(brand, history, since_days, is_undone):
    target, source = history.customers
    act(history, target)
    act(history, source)
    merge = factories.merge(target, source, brand)
    act(history, source, scans=2, orders=1)
    act(history, target, scans=2, orders=1)
    shift_one_week_back()
    act(history, source, scans=2, orders=2)
    act(history, target)
    if is_undone:
        type(merge).objects.filter(pk=merge.pk).update(created_at=timezone.now())
        merge.refresh_from_db()
        undo.undo(made=merge, audit_context=context("A mistake"))
        act(history, source)
        act(history, target)
    rule = EarningRule.objects.filter(brand=brand).first()

    result = replay_rule(rule, since=timezone.now() - timedelta(days=since_days))

    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 8
    assert result["without_event"] == 0
