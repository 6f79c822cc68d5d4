"""Own kinds of events and welcomes: the control covers them, and drafts of rules for them can be replayed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.accrual import welcome
from campaigns.models.earning_rules import EarningRule
from events import worker
from loyalty.models.accounts import OpeningBalance
from tests.campaigns.earning.earning_rules import row, rule
from tests.campaigns.replay.history import replay_rule
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(brand):
    return factories.event_kind(brand, store=["Bern", "Basel"], minutes="whole")


def visit(brand, customer, **payload):
    return shop.report(brand, customer, "store-visit", {"store": "Bern", **payload})


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def active_welcome_rule(brand, **fields):
    new_rule = rule(brand, "member-welcome", 50, "points", name="Welcome", **fields)
    EarningRule.objects.filter(pk=new_rule.pk).update(state_changed_at=timezone.now() - timedelta(days=1))
    return new_rule


def test_replay_decides_events_of_own_kinds(brand, customer, kind):
    visit_rule = rule(brand, "store-visit", 5, "points", all_of=[row("payload.minutes", "at_least", 10)])
    rule(brand, "store-visit", 7, "bonus", all_of=[row("nth", "every", 2)])
    for minutes in (5, 10, 15, 20):
        visit(brand, customer, minutes=minutes)

    result = replay_rule(visit_rule)

    assert (result["differences"], result["compared"], result["gone"]) == (0, 4, 0), result["examples"]
    assert totals(result)[0] == totals(result)[1] == 3 * 5 + 7


def test_draft_for_an_own_kind_uses_its_fields(brand, customer, kind):
    for minutes in (5, 10):
        visit(brand, customer, minutes=minutes)
    draft = rule(brand, "store-visit", 9, "points", all_of=[row("payload.minutes", "at_least", 10)], state="draft")

    assert totals(replay_rule(draft)) == [0, 9]


def test_counts_of_own_kinds_include_events_before_the_period(brand, customer, kind):
    visit_rule = rule(brand, "store-visit", 7, "points", all_of=[row("nth", "at_least", 2)])
    rule(brand, "store-visit", 1, "points")
    visit(brand, customer)
    since = timezone.now()
    visit(brand, customer)

    result = replay_rule(visit_rule, since=since)

    assert (result["differences"], totals(result)) == (0, [8, 8]), result["examples"]


def test_replay_decides_welcomes(brand, customer):
    welcome_rule = active_welcome_rule(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()

    result = replay_rule(welcome_rule, reward_value="80")

    assert (result["differences"], result["compared"], result["gone"]) == (0, 1, 0), result["examples"]
    assert totals(result) == [50, 80]


def test_first_welcome_rule_applies_to_all_members_in_a_replay(brand):
    for _number in range(3):
        factories.customer(brand)
    draft = rule(brand, "member-welcome", 50, "points", name="Welcome", state="draft")

    assert totals(replay_rule(draft)) == [0, 150]


@pytest.mark.parametrize("is_credited", [True, False])
def test_member_with_an_opening_balance_is_not_welcomed_in_a_replay(brand, customer, is_credited):
    migrated = factories.customer(brand)
    if is_credited:
        factories.points(migrated, brand, 100, reason_id="opening:old")
    else:
        OpeningBalance.objects.create(brand=brand, user=migrated, reason_id="opening:old", points=100)
    draft = rule(brand, "member-welcome", 50, "points", name="Welcome", state="draft")

    assert totals(replay_rule(draft)) == [0, 50]


def test_member_already_welcomed_counts_as_joining_only_once(brand, customer):
    welcome_rule = active_welcome_rule(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()
    EarningRule.objects.filter(pk=welcome_rule.pk).update(state="ended")
    factories.customer(brand)

    result = replay_rule(rule(brand, "member-welcome", 7, "points", name="Another", state="draft"))

    assert (result["differences"], totals(result)) == (0, [50, 57 + 7]), result["examples"]
