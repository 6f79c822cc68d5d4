"""Own kinds of events and joining: the control covers them, and rules for them are tried as all others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.accrual import welcome
from campaigns.models.earning_rules import EarningRule
from events import worker
from tests.campaigns.earning.earning_rules import row, rule
from tests.campaigns.replay.history import replayed
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(brand):
    return factories.event_kind(brand, store=["Bern", "Basel"], minutes="whole")


def visit(brand, customer, **payload):
    return shop.report(brand, customer, "store-visit", {"store": "Bern", **payload})


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def joined(brand, **fields):
    rows = rule(brand, "member-welcome", 50, "points", name="Welcome", **fields)
    EarningRule.objects.filter(pk=rows.pk).update(state_changed_at=timezone.now() - timedelta(days=1))
    return rows


def test_events_of_own_kinds_are_decided_again(brand, customer, kind):
    own = rule(brand, "store-visit", 5, "points", all_of=[row("payload.minutes", "at_least", 10)])
    rule(brand, "store-visit", 7, "bonus", all_of=[row("nth", "every", 2)])
    for minutes in (5, 10, 15, 20):
        visit(brand, customer, minutes=minutes)

    result = replayed(own)

    assert (result["differences"], result["compared"], result["gone"]) == (0, 4, 0), result["examples"]
    assert totals(result)[0] == totals(result)[1] == 3 * 5 + 7


def test_a_rule_for_an_own_kind_is_tried_by_its_own_fields(brand, customer, kind):
    for minutes in (5, 10):
        visit(brand, customer, minutes=minutes)
    draft = rule(brand, "store-visit", 9, "points", all_of=[row("payload.minutes", "at_least", 10)], state="draft")

    assert totals(replayed(draft)) == [0, 9]


def test_counts_of_own_kinds_go_on_from_before_the_period(brand, customer, kind):
    own = rule(brand, "store-visit", 7, "points", all_of=[row("nth", "at_least", 2)])
    rule(brand, "store-visit", 1, "points")
    visit(brand, customer)
    since = timezone.now()
    visit(brand, customer)

    result = replayed(own, since=since)

    assert (result["differences"], totals(result)) == (0, [8, 8]), result["examples"]


def test_joining_is_decided_again(brand, customer):
    welcoming = joined(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()

    result = replayed(welcoming, reward_value="80")

    assert (result["differences"], result["compared"], result["gone"]) == (0, 1, 0), result["examples"]
    assert totals(result) == [50, 80]


def test_a_first_rule_for_joining_is_tried_on_all_who_joined(brand):
    for _number in range(3):
        factories.customer(brand)
    draft = rule(brand, "member-welcome", 50, "points", name="Welcome", state="draft")

    assert totals(replayed(draft)) == [0, 150]


def test_who_was_welcomed_or_brought_along_joins_no_second_time(brand, customer):
    welcoming = joined(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()
    EarningRule.objects.filter(pk=welcoming.pk).update(state="ended")
    factories.customer(brand)

    result = replayed(rule(brand, "member-welcome", 7, "points", name="Another", state="draft"))

    assert (result["differences"], totals(result)) == (0, [50, 57 + 7]), result["examples"]
