"""Replays of a campaign's draft: the milestones that members would have reached, and their rewards."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.replay import drafts
from core.errors import Invalid
from loyalty.models.ledger import LoyaltyTransaction
from tests.campaigns.earning.earning_rules import row, rule, scan
from tests.campaigns.replay.history import replay_draft, simulate_weeks
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    brand.levels.update(name="Bronze", scan_reward_value=1)
    return brand


def draft_campaign(brand, *milestones, **fields):
    """An inactive campaign with milestones as (threshold, points)."""
    new_campaign = factories.campaign(brand, **{"target_value": 3, "is_active": False, **fields})
    for threshold, points in milestones:
        factories.milestone(new_campaign, threshold, reward_points=points, auto_claim=True)
    return new_campaign


def replay_campaign(campaign, **options):
    return replay_draft(campaign.brand, drafts.of_campaign(campaign, **options))


def totals(result):
    return [sum(float(day[place]) for day in result["days"]) for place in (1, 2)]


def reached_milestones(result):
    return [(each["threshold"], each["reached"], float(each["points"])) for each in result["campaign"]["milestones"]]


def test_replay_counts_members_who_would_have_reached_milestones(brand, customer):
    other = factories.customer(brand)
    for _time in range(4):
        scan(brand, customer)
    scan(brand, other)

    result = replay_campaign(draft_campaign(brand, (1, 5), (3, 20)))

    assert (result["differences"], totals(result)) == (0, [5, 5 + 2 * 5 + 20])
    assert reached_milestones(result) == [(1, 2, 10), (3, 1, 20)]
    campaign_result = result["campaign"]
    assert (campaign_result["participants"], campaign_result["finishers"], campaign_result["rounds"]) == (2, 1, 1)
    assert result["gainers"] == 2


def test_replay_respects_rounds_and_a_budget(brand, customer):
    for _time in range(6):
        scan(brand, customer)
    draft = draft_campaign(brand, (2, 10), target_value=2, is_repeatable=True)

    assert reached_milestones(replay_campaign(draft)) == [(2, 3, 30)]
    draft.budget = 25
    result = replay_campaign(draft)
    assert reached_milestones(result) == [(2, 3, 20)]
    assert result["campaign"]["milestones"][0]["withheld"] == 1
    assert result["campaign"]["rounds"] == 3


def test_budget_is_shared_by_members_in_the_order_of_their_actions(brand, customer):
    other = factories.customer(brand)
    scan(brand, other)
    scan(brand, customer)

    result = replay_campaign(draft_campaign(brand, (1, 10), budget=10))

    assert [account for account, *_points in result["most"]] == [factories.account(other, brand).pk]


def test_replay_respects_conditions_amounts_and_products(brand, customer):
    serum = factories.product(brand, category="Serums")
    soap = factories.product(brand, category="Soaps")
    items = [
        {"productId": each.pk, "quantity": 1, "unitPrice": price} for each, price in ((serum, "30.00"), (soap, "70.00"))
    ]
    shop.buy(brand, customer, "A-1", "100.00", items=items)
    shop.buy(brand, customer, "A-2", "100.00", items=items)
    serums = {"all": [{"field": "category", "operator": "in", "value": ["Serums"]}]}
    fields = {"type": "order", "conditions": serums, "target_value": 60}

    assert reached_milestones(replay_campaign(draft_campaign(brand, (60, 5), step_by="amount", **fields))) == [
        (60, 1, 5)
    ]
    assert reached_milestones(
        replay_campaign(draft_campaign(brand, (61, 5), step_by="amount", **{**fields, "target_value": 61}))
    ) == [(61, 0, 0)]
    assert reached_milestones(
        replay_campaign(draft_campaign(brand, (1, 5), (2, 5), step_by="products", **{**fields, "target_value": 2}))
    ) == [
        (1, 1, 5),
        (2, 0, 0),
    ]


def test_rules_for_milestones_apply_to_the_draft(brand, customer):
    rule(brand, "milestone", 2, "multiplier")
    scan(brand, customer)

    assert reached_milestones(replay_campaign(draft_campaign(brand, (1, 7)))) == [(1, 1, 14)]


def test_actions_that_earned_nothing_count_once(brand, customer):
    """No login earned anything, as there is no rule for logins."""
    for _time in range(2):
        shop.report(brand, customer, "log-user-login", {"type": "login"})

    assert reached_milestones(replay_campaign(draft_campaign(brand, (1, 4), (2, 9), type="login"))) == [
        (1, 1, 4),
        (2, 0, 0),
    ]


def test_points_of_milestones_raise_levels(brand, customer):
    factories.level(brand, "Gold", 10, "points", 6)
    for _time in range(2):
        scan(brand, customer)

    assert totals(replay_campaign(draft_campaign(brand, (1, 20)))) == [2, 1 + 20 + 6]


def test_rewards_without_points_are_counted(brand, customer):
    scan(brand, customer)

    [milestone] = replay_campaign(draft_campaign(brand, (1, 0)))["campaign"]["milestones"]

    assert (milestone["things"], milestone["points"]) == (1, "0")


@pytest.mark.parametrize("seed", range(3))
def test_unchanged_campaign_reproduces_its_actual_rewards(brand, seed):
    """The control: the campaign began with the first action and never changed, and no order was returned."""
    history = simulate_weeks(
        brand,
        seed,
        changes=False,
        returns=False,
        target_value=3,
        is_repeatable=bool(seed % 2),
        budget=[None, 60, None][seed],
    )

    result = replay_campaign(history.campaign)

    assert (result["differences"], result["gainers"], result["losers"]) == (0, 0, 0), result["examples"]
    assert [day[1] for day in result["days"]] == [day[2] for day in result["days"]]
    paid = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:")
    [milestone] = result["campaign"]["milestones"]
    assert milestone["reached"] - milestone["withheld"] == milestone["actual_rewards"] == paid.count() > 0
    assert float(milestone["points"]) == float(milestone["actual_points"]) == sum(each.points_earned for each in paid)


def test_points_of_the_replaced_campaign_are_left_out(brand, customer):
    running = draft_campaign(brand, (1, 30), is_active=True)
    for _time in range(2):
        scan(brand, customer)
    draft = draft_campaign(brand, (2, 10))

    assert totals(replay_campaign(draft)) == [32, 42]
    assert totals(replay_campaign(draft, instead_of=running)) == [32, 12]


def test_actions_before_the_period_do_not_count(brand, customer):
    scan(brand, customer)
    since = timezone.now()
    scan(brand, customer)

    result = replay_draft(brand, drafts.of_campaign(draft_campaign(brand, (1, 5), (2, 9))), since=since)

    assert reached_milestones(result) == [(1, 1, 5), (2, 0, 0)]


def test_unreadable_or_empty_campaign_is_rejected(brand):
    empty = draft_campaign(brand)
    with pytest.raises(Invalid, match="no milestones"):
        drafts.of_campaign(empty)
    broken = draft_campaign(brand, (1, 5), conditions={"all": [row("nonsense", "in", [1])]})
    with pytest.raises(Invalid, match="nonsense"):
        drafts.of_campaign(broken)
    assert timezone.now() - empty.created_at < timedelta(minutes=1)
