"""Budgets of campaigns: given out once, and what campaigns cost and brought."""

from decimal import Decimal

import pytest
from django.utils import timezone

from brands.staff_login.models import StaffMail
from campaigns.earning import budgets
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, RewardClaim, UserLoyaltyCampaign
from campaigns.progress import results
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from tests.campaigns.accrual.conftest import of_money, scanned
from tests.support import factories, shop
from tests.support.portal import staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_contradicts")]


@pytest.mark.usefixtures("recomputing")
def test_a_reward_that_is_withdrawn_goes_back_to_the_budget(brand, customer):
    campaign = of_money(brand, target=1000, budget=50)
    factories.milestone(campaign, 100, reward_points=40, auto_claim=False)
    shop.buy(brand, customer, subtotal="100.00")
    assert CampaignBudgetUse.objects.get().points == 40

    shop.cancel(brand, customer)

    assert (CampaignBudgetUse.objects.get().points, RewardClaim.objects.count()) == (0, 0)


# --- Budget


def test_a_budget_is_given_out_and_then_milestones_pay_nothing(brand):
    campaign = factories.campaign(brand, budget=25)
    factories.milestone(campaign, 1, reward_points=10)
    customers = [factories.customer(brand) for _ in range(3)]

    campaign_results = [scanned(brand, each, sku=each.email, title="S")["campaigns"][0] for each in customers]
    worker.drain()

    assert [each["milestone_achieved"] for each in campaign_results] == [True, True, False]
    assert CampaignBudgetUse.objects.get().points == 20
    assert LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").count() == 2
    assert all(each.milestones_achieved for each in UserLoyaltyCampaign.objects.all())


def test_things_cost_no_budget(brand, customer):
    campaign = factories.campaign(brand, budget=1, target_value=2)
    factories.milestone(campaign, 1, reward_points=2)
    factories.milestone(campaign, 2)

    campaign_results = [scanned(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(2)]

    assert [each["milestone_achieved"] for each in campaign_results] == [False, True]


def test_a_budget_that_is_set_later_counts_what_was_paid_before(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10)
    scanned(brand, customer, sku="A", title="A")
    assert CampaignBudgetUse.objects.get().points == 0

    Campaign.objects.update(budget=15)

    assert CampaignBudgetUse.objects.get().points == 10
    other = factories.customer(brand)
    assert not scanned(brand, other, sku="B", title="B")["campaigns"][0]["milestone_achieved"]


def test_a_claim_pays_what_the_milestone_paid_when_it_was_reached(api, brand, customer):
    campaign = factories.campaign(brand, budget=15)
    mug = factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    scanned(brand, customer, sku="A", title="A")
    mug.reward_points = 90
    mug.save()

    answer = api.as_customer(customer).post(f"customer/loyalty/milestones/{mug.pk}/claim").json()

    assert answer["data"]["points"] == 10
    worker.drain()
    assert LoyaltyTransaction.objects.get(reason_id=f"milestone:{mug.pk}").points_earned == 10


@pytest.mark.parametrize(("budget", "notified_counts"), [(25, [1, 0]), (100, [0, 0])])
def test_owners_hear_once_that_a_budget_is_used_up(brand, budget, notified_counts):
    owner = staff(brand, role="owner", email="olivia@example.com")
    campaign = factories.campaign(brand, budget=budget)
    factories.milestone(campaign, 1, reward_points=20)
    scanned(brand, factories.customer(brand), sku="A", title="A")

    assert [budgets.notify_used_up(at=timezone.now()) for _ in range(2)] == notified_counts
    mails = StaffMail.objects.filter(user=owner, kind="campaign_budget")
    assert ["“Scan and win” has paid 20 points" in each.text for each in mails] == [True] * notified_counts[0]
    Campaign.objects.update(budget=budget + 1)
    assert CampaignBudgetUse.objects.get().notified_at is None


# --- Results


def test_results_count_members_rewards_points_and_their_cost(brand):
    PointCost.objects.create(brand=brand, valid_from="2026-01-01", cost="0.01")
    campaign = factories.campaign(brand, target_value=1, is_repeatable=True)
    factories.milestone(campaign, 1, reward_points=10)
    first, second = factories.customer(brand), factories.customer(brand)
    for number, each in enumerate((first, first, second)):
        scanned(brand, each, sku=f"S{number}", title="S")

    got = results.results_of(campaign)

    assert (got.participants, got.reached, got.rounds) == (2, 2, 3)
    assert (got.claimed, got.waiting, got.points, got.points_waiting) == (3, 0, 30, 0)
    assert got.cost == Decimal("0.30")


def test_results_without_a_cost_say_so(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    scanned(brand, customer, sku="A", title="A")

    got = results.results_of(campaign)

    assert (got.reached, got.waiting, got.points, got.points_waiting) == (0, 1, 0, 10)
    assert got.cost == 0
    RewardClaim.objects.update(status="claimed", claimed_at=timezone.now())
    assert results.results_of(campaign).cost is None
