"""What a draft would have given by day, level, rule and member, and what a replay never does."""

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
from tests.campaigns.replay.history import replay_rule, simulate_weeks
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    brand.levels.update(name="Bronze", scan_reward_value=1)
    return brand


def draft_rule(brand, *arguments, **fields):
    return rule(brand, *arguments, state="draft", name="The draft", **fields)


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def member_points(result, name="most"):
    return [(account, float(paid), float(drafted)) for account, paid, drafted in result[name]]


def test_draft_is_compared_with_the_points_paid(brand, customer):
    scan(brand, customer, category="Serums")
    scan(brand, customer, category="Soaps")
    draft = draft_rule(brand, "scan-auth", 5, "bonus", all_of=[row("category", "in", ["Serums"])])

    result = replay_rule(draft)

    assert (result["differences"], totals(result)) == (0, [2, 7])
    account = factories.account(customer, brand)
    assert member_points(result) == [(account.pk, 2, 7)]
    assert (result["gainers"], result["losers"], result["members"]) == (1, 0, 1)
    assert [[name, float(paid), float(drafted)] for name, paid, drafted, *_cost in result["levels"]] == [
        ["Bronze", 2, 7]
    ]
    by_rule = {
        (source, rule_id): (float(paid), float(drafted)) for source, rule_id, _, paid, drafted, *_ in result["rules"]
    }
    assert by_rule == {("level", 0): (2, 2), ("rule", draft.pk): (0, 5)}


def test_replay_writes_nothing(brand, customer):
    scan(brand, customer)
    draft = draft_rule(brand, limits=[limit(), limit("rule")])

    def stored_rows():
        return [
            list(model.objects.order_by("pk").values())
            for model in (LoyaltyTransaction, UserPoints, Event, EarningRule, EarningRuleUse)
        ]

    before = stored_rows()
    replay_rule(draft)
    assert stored_rows() == before


def test_points_are_priced_at_the_cost_of_their_day(brand, customer):
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.02")
    scan(brand, customer)

    result = replay_rule(draft_rule(brand, "scan-auth", 3, "bonus"))

    assert result["has_costs"]
    assert [float(number) for number in result["days"][0][1:]] == [1, 4, 0.02, 0.08]


def test_draft_that_raises_a_level_changes_later_actions(brand, customer):
    factories.level(brand, "Gold", 10, "points", 7)
    for _time in range(3):
        scan(brand, customer)

    result = replay_rule(draft_rule(brand, "scan-auth", 9, "bonus"))

    assert totals(result) == [3, 10 + 16 + 16]
    assert {name: (float(paid), float(drafted)) for name, paid, drafted, *_ in result["levels"]} == {
        "Bronze": (3, 10),
        "Gold": (0, 32),
    }


def test_limits_of_the_draft_and_the_programme_cut_points(brand, customer):
    for _time in range(4):
        scan(brand, customer)
    draft = draft_rule(brand, "scan-auth", 5, "bonus", limits=[limit(most=8)])

    assert totals(replay_rule(draft)) == [4, 4 + 8]
    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=6)
    scan(brand, customer)
    # The limit did not exist yet for four actions; it leaves nothing of the last, as the member has 12 already.
    assert totals(replay_rule(draft)) == [5, 12]


def test_budget_is_shared_by_all_members(brand, customer):
    other = factories.customer(brand)
    for member in (customer, other, customer, other):
        scan(brand, member)

    result = replay_rule(draft_rule(brand, "scan-auth", 5, "bonus", limits=[limit("rule", most=12)]))

    assert totals(result) == [4, 4 + 12]
    assert sorted(points for _account, _paid, points in member_points(result)) == [7, 9]


def test_actions_that_earned_nothing_count_for_a_draft(brand, customer):
    for _time in range(2):
        event = shop.report(brand, customer, "log-user-login", {"type": "login"})
        assert event.status == "refused"

    result = replay_rule(draft_rule(brand, "log-user-login", 4, "points"))

    assert (result["differences"], totals(result)) == (0, [0, 4])  # the first login of the day


def test_action_that_earned_later_does_not_count_twice(brand, customer):
    payload = {"type": "profile", "completedFields": ["birthday"]}
    shop.report(brand, customer, "log-user-profile-update", payload)
    real_rule = rule(brand, "log-user-profile-update", 4, "points", name="Real")
    shop.report(brand, customer, "log-user-profile-update", payload)

    assert totals(replay_rule(real_rule)) == [4, 4]


def test_draft_for_a_profile_field_counts_next_to_a_field_that_earned_before(brand, customer):
    rule(brand, "log-user-profile-update", 4, "points", name="Real")
    for fields in (["phone"], ["phone", "birthday"]):
        payload = {"type": "profile", "completedFields": fields}
        shop.report(brand, customer, "log-user-profile-update", payload)

    condition = row("profile_field", "in", ["birthday"])
    draft = draft_rule(brand, "log-user-profile-update", 3, "points", all_of=[condition])

    assert totals(replay_rule(draft)) == [8, 11]


def test_members_who_would_lose_points_are_listed(brand, customer):
    double = rule(brand, "scan-auth", 5, "bonus", name="Real")
    scan(brand, customer)

    result = replay_rule(double, reward_value="2")

    assert (result["differences"], totals(result)) == (0, [6, 3])
    assert member_points(result, "least") == [(factories.account(customer, brand).pk, 6, 3)]
    assert member_points(result) == []


def test_extra_points_of_the_draft_are_released_with_pending_points(brand, customer):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_delivery", order_points_days=0)
    factories.level(brand, "Gold", 15, "points", 7)
    rule(brand, "order-complete", 10, "percentage", name="Real")
    shop.buy(brand, customer, subtotal="100.00")
    shop.deliver(brand, customer)
    scan(brand, customer)

    result = replay_rule(draft_rule(brand, "order-complete", 6, "bonus"))

    assert (result["differences"], totals(result)) == (0, [10 + 1, 16 + 7])


def test_draft_applies_regardless_of_its_dates(brand, customer):
    scan(brand, customer)
    draft = draft_rule(brand, "scan-auth", 5, "bonus", starts_at=timezone.now() + timedelta(days=9))

    assert totals(replay_rule(draft)) == [1, 6]


def test_only_the_period_is_replayed_with_the_history_before_it(brand, customer):
    scan(brand, customer)
    begin = timezone.now()
    scan(brand, customer)
    draft = draft_rule(brand, "scan-auth", 5, "bonus", all_of=[row("nth", "every", 2)])

    result = replay_rule(draft, since=begin)

    assert (result["actions"], totals(result)) == (1, [1, 6])
    assert replay_rule(draft, until=begin)["actions"] == 1


def test_replay_ignores_other_brands(brand, customer):
    other = factories.brand()
    factories.level(other, value=1)
    foreign_customer = factories.customer(other)
    scan(other, foreign_customer)
    rule(other, "scan-auth", 3, "bonus", limits=[limit("rule", most=5)])
    scan(brand, customer)

    result = replay_rule(draft_rule(brand, "scan-auth", 5, "bonus", limits=[limit("rule", most=100)]))

    assert (result["actions"], result["members"], totals(result)) == (1, 1, [1, 6])
    assert result["without_event"] == 0


def test_action_without_its_event_is_skipped_and_counted(brand, customer):
    scan(brand, customer)
    scan(brand, customer)
    Event.objects.filter(detail_type="scan-auth").earliest("pk").delete()

    result = replay_rule(draft_rule(brand, "scan-auth", 5, "bonus"))

    assert (result["actions"], result["without_event"]) == (1, 1)


def test_query_count_does_not_grow_with_actions(brand):
    draft = draft_rule(brand, "scan-auth", 5, "bonus", limits=[limit(period="week")])
    simulate_weeks(brand, 3, weeks=1, actions=15)
    query_count = queries_of(draft)
    customer = factories.customer(brand)
    for _time in range(30):
        scan(brand, customer)

    assert queries_of(draft) == query_count


def queries_of(draft):
    replay_rule(draft)
    with CaptureQueriesContext(connection) as queries:
        replay_rule(draft)
    return len(queries)
