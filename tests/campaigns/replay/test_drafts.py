"""What a draft would have given: by day, level and rule, to whom, and what a replay never does."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.models.earning_rules import EarningRule, EarningRuleUse
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from tests.campaigns.earning.earning_rules import limit, row, rule, scan
from tests.campaigns.replay.history import replayed, some_weeks
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    brand.levels.update(name="Bronze", scan_reward_value=1)
    return brand


def draft(brand, *arguments, **fields):
    return rule(brand, *arguments, state="draft", name="The draft", **fields)


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def members(result, name="most"):
    return [(account, float(paid), float(tried)) for account, paid, tried in result[name]]


def test_a_draft_is_tried_beside_what_was_paid(brand, customer):
    scan(brand, customer, category="Serums")
    scan(brand, customer, category="Soaps")
    made = draft(brand, "scan-auth", 5, "bonus", all_of=[row("category", "in", ["Serums"])])

    result = replayed(made)

    assert (result["differences"], totals(result)) == (0, [2, 7])
    account = factories.account(customer, brand)
    assert members(result) == [(account.pk, 2, 7)]
    assert (result["gainers"], result["losers"], result["members"]) == (1, 0, 1)
    assert [[name, float(paid), float(tried)] for name, paid, tried, *_cost in result["levels"]] == [["Bronze", 2, 7]]
    by_rule = {
        (source, rule_id): (float(paid), float(tried)) for source, rule_id, _, paid, tried, *_ in result["rules"]
    }
    assert by_rule == {("level", 0): (2, 2), ("rule", made.pk): (0, 5)}


def test_nothing_is_written(brand, customer):
    scan(brand, customer)
    made = draft(brand, limits=[limit(), limit("rule")])

    def everything():
        return [
            list(model.objects.order_by("pk").values())
            for model in (LoyaltyTransaction, UserPoints, Event, EarningRule, EarningRuleUse)
        ]

    before = everything()
    replayed(made)
    assert everything() == before


def test_points_cost_what_a_point_cost_on_the_day(brand, customer):
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.02")
    scan(brand, customer)

    result = replayed(draft(brand, "scan-auth", 3, "bonus"))

    assert result["has_costs"]
    assert [float(number) for number in result["days"][0][1:]] == [1, 4, 0.02, 0.08]


def test_a_draft_that_would_lift_a_level_changes_what_comes_after(brand, customer):
    factories.level(brand, "Gold", 10, "points", 7)
    for _time in range(3):
        scan(brand, customer)

    result = replayed(draft(brand, "scan-auth", 9, "bonus"))

    assert totals(result) == [3, 10 + 16 + 16]
    assert {name: (float(paid), float(tried)) for name, paid, tried, *_ in result["levels"]} == {
        "Bronze": (3, 10),
        "Gold": (0, 32),
    }


def test_limits_of_a_draft_and_of_the_programme_cut_it(brand, customer):
    for _time in range(4):
        scan(brand, customer)
    made = draft(brand, "scan-auth", 5, "bonus", limits=[limit(most=8)])

    assert totals(replayed(made)) == [4, 4 + 8]
    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=6)
    scan(brand, customer)
    # Of four actions the limit was not there yet; of the last one it leaves nothing to who has 12 already.
    assert totals(replayed(made)) == [5, 12]


def test_a_budget_is_one_for_all_members(brand, customer):
    other = factories.customer(brand)
    for person in (customer, other, customer, other):
        scan(brand, person)

    result = replayed(draft(brand, "scan-auth", 5, "bonus", limits=[limit("rule", most=12)]))

    assert totals(result) == [4, 4 + 12]
    assert sorted(points for _account, _paid, points in members(result)) == [7, 9]


def test_actions_that_nothing_was_for_count_for_a_draft(brand, customer):
    for _time in range(2):
        event = shop.report(brand, customer, "log-user-login", {"type": "login"})
        assert event.status == "refused"

    result = replayed(draft(brand, "log-user-login", 4, "points"))

    assert (result["differences"], totals(result)) == (0, [0, 4])  # the first login of the day


def test_what_earned_at_another_time_does_not_count_twice(brand, customer):
    payload = {"type": "profile", "completedFields": ["birthday"]}
    shop.report(brand, customer, "log-user-profile-update", payload)
    made = rule(brand, "log-user-profile-update", 4, "points", name="Real")
    shop.report(brand, customer, "log-user-profile-update", payload)

    assert totals(replayed(made)) == [4, 4]


def test_who_loses_is_named_too(brand, customer):
    double = rule(brand, "scan-auth", 5, "bonus", name="Real")
    scan(brand, customer)

    result = replayed(double, reward_value="2")

    assert (result["differences"], totals(result)) == (0, [6, 3])
    assert members(result, "least") == [(factories.account(customer, brand).pk, 6, 3)]
    assert members(result) == []


def test_pending_points_are_released_with_what_the_draft_gave_more(brand, customer):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_delivery", order_points_days=0)
    factories.level(brand, "Gold", 15, "points", 7)
    rule(brand, "order-complete", 10, "percentage", name="Real")
    shop.buy(brand, customer, subtotal="100.00")
    shop.deliver(brand, customer)
    scan(brand, customer)

    result = replayed(draft(brand, "order-complete", 6, "bonus"))

    assert (result["differences"], totals(result)) == (0, [10 + 1, 16 + 7])


def test_a_draft_runs_all_the_time_whatever_its_dates(brand, customer):
    scan(brand, customer)
    made = draft(brand, "scan-auth", 5, "bonus", starts_at=timezone.now() + timedelta(days=9))

    assert totals(replayed(made)) == [1, 6]


def test_only_the_period_is_decided_again_from_what_came_before(brand, customer):
    scan(brand, customer)
    begin = timezone.now()
    scan(brand, customer)
    made = draft(brand, "scan-auth", 5, "bonus", all_of=[row("nth", "every", 2)])

    result = replayed(made, since=begin)

    assert (result["actions"], totals(result)) == (1, [1, 6])
    assert replayed(made, until=begin)["actions"] == 1


def test_of_another_brand_nothing_is_seen(brand, customer):
    other = factories.brand()
    factories.level(other, value=1)
    stranger = factories.customer(other)
    scan(other, stranger)
    rule(other, "scan-auth", 3, "bonus", limits=[limit("rule", most=5)])
    scan(brand, customer)

    result = replayed(draft(brand, "scan-auth", 5, "bonus", limits=[limit("rule", most=100)]))

    assert (result["actions"], result["members"], totals(result)) == (1, 1, [1, 6])
    assert result["without_event"] == 0


def test_an_action_whose_event_is_gone_is_left_out_and_counted(brand, customer):
    scan(brand, customer)
    scan(brand, customer)
    Event.objects.filter(detail_type="scan-auth").earliest("pk").delete()

    result = replayed(draft(brand, "scan-auth", 5, "bonus"))

    assert (result["actions"], result["without_event"]) == (1, 1)


def test_more_actions_ask_no_more_questions_of_the_database(brand):
    made = draft(brand, "scan-auth", 5, "bonus", limits=[limit(period="week")])
    some_weeks(brand, 3, weeks=1, actions=15)
    few = queries_of(made)
    some = factories.customer(brand)
    for _time in range(30):
        scan(brand, some)

    assert queries_of(made) == few


def queries_of(made):
    replayed(made)
    with CaptureQueriesContext(connection) as queries:
        replayed(made)
    return len(queries)
