"""Replays of members whose accounts were merged: the entries of a merge are no actions, and nothing differs by them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models.earning_rules import EarningRule
from loyalty.merges import undo
from tests.campaigns.replay.history import History, a_week_passes, replayed
from tests.loyalty.merges.conftest import context
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(brand):
    made = History(brand, 3, members=2)
    made.rule("scan-auth", "bonus", 4, conditions={"all": [{"field": "nth", "operator": "every", "value": 3}]})
    made.rule("order-complete", "bonus", 7, conditions={"all": [{"field": "nth", "operator": "every", "value": 2}]})
    made.rule("order-complete", "percentage", 10)
    made.rule("log-user-login", "points", 2)
    return made


def actions(history, member, scans=4, orders=3):
    for _number in range(scans):
        history.scan(member)
    for _number in range(orders):
        history.order(member)


@pytest.mark.parametrize("since_days", [400, 3])
@pytest.mark.parametrize("is_undone", [False, True])
def test_nothing_differs(brand, history, since_days, is_undone):
    target, source = history.customers
    actions(history, target)
    actions(history, source)
    made = factories.merge(target, source, brand)
    actions(history, source, scans=2, orders=1)
    actions(history, target, scans=2, orders=1)
    a_week_passes()
    actions(history, source, scans=2, orders=2)
    actions(history, target)
    if is_undone:
        type(made).objects.filter(pk=made.pk).update(created_at=timezone.now())
        made.refresh_from_db()
        undo.undo(made=made, audit_context=context("A mistake"))
        actions(history, source)
        actions(history, target)
    rule = EarningRule.objects.filter(brand=brand).first()

    result = replayed(rule, since=timezone.now() - timedelta(days=since_days))

    assert result["differences"] == 0, result["examples"]
    assert result["compared"] > 8
    assert result["without_event"] == 0
