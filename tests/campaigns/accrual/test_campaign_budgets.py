"""Budgets of campaigns, and the figures of their results."""

from decimal import Decimal

import pytest
from django.utils import timezone

from brands.staff_login.models import StaffMail
from campaigns.earning import budgets
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, RewardClaim, UserLoyaltyCampaign
from campaigns.progress import results
from campaigns.progress.overview import campaign_statuses
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from tests.campaigns.accrual.conftest import amount_campaign, report_scan
from tests.support import factories, shop
from tests.support.portal import staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("progress_is_consistent")]


@pytest.mark.usefixtures("recompute_after_return")
def test_reward_withdrawn_after_a_return_frees_its_budget(brand, customer):
    campaign = amount_campaign(brand, target=1000, budget=50)
    factories.milestone(campaign, 100, reward_points=40, auto_claim=False)
    shop.buy(brand, customer, subtotal="100.00")
    assert CampaignBudgetUse.objects.get().points == 40

    shop.cancel(brand, customer)

    assert (CampaignBudgetUse.objects.get().points, RewardClaim.objects.count()) == (0, 0)


# --- Budget


def test_milestones_pay_nothing_once_the_budget_is_used_up(brand):
    campaign = factories.campaign(brand, budget=25)
    factories.milestone(campaign, 1, reward_points=10)
    customers = [factories.customer(brand) for _ in range(3)]

    campaign_results = [report_scan(brand, each, sku=each.email, title="S")["campaigns"][0] for each in customers]
    worker.drain()

    assert [each["milestone_achieved"] for each in campaign_results] == [True, True, False]
    assert CampaignBudgetUse.objects.get().points == 20
    assert LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").count() == 2
    assert all(each.milestones_achieved for each in UserLoyaltyCampaign.objects.all())
    [status] = campaign_statuses(brand_id=brand.pk, user_id=customers[-1].pk, at=timezone.now())
    [withheld] = status.milestones
    assert (withheld.achieved, withheld.claim, withheld.claimable) == (True, None, False)


def test_rewards_without_points_use_no_budget(brand, customer):
    campaign = factories.campaign(brand, budget=1, target_value=2)
    factories.milestone(campaign, 1, reward_points=2)
    factories.milestone(campaign, 2)

    campaign_results = [report_scan(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(2)]

    assert [each["milestone_achieved"] for each in campaign_results] == [False, True]


def test_budget_set_later_counts_points_paid_before(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10)
    report_scan(brand, customer, sku="A", title="A")
    assert CampaignBudgetUse.objects.get().points == 0

    Campaign.objects.update(budget=15)

    assert CampaignBudgetUse.objects.get().points == 10
    other = factories.customer(brand)
    assert not report_scan(brand, other, sku="B", title="B")["campaigns"][0]["milestone_achieved"]


def test_claim_pays_the_points_set_when_the_milestone_was_reached(api, brand, customer):
    campaign = factories.campaign(brand, budget=15)
    milestone = factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    report_scan(brand, customer, sku="A", title="A")
    milestone.reward_points = 90
    milestone.save()

    answer = api.as_customer(customer).post(f"customer/loyalty/milestones/{milestone.pk}/claim").json()

    assert answer["data"]["points"] == 10
    worker.drain()
    assert LoyaltyTransaction.objects.get(reason_id=f"milestone:{milestone.pk}").points_earned == 10


@pytest.mark.parametrize(("budget", "notified_counts"), [(25, [1, 0]), (100, [0, 0])])
def test_owners_are_notified_once_of_a_used_up_budget(brand, budget, notified_counts):
    owner = staff(brand, role="owner", email="olivia@example.com")
    campaign = factories.campaign(brand, budget=budget)
    factories.milestone(campaign, 1, reward_points=20)
    report_scan(brand, factories.customer(brand), sku="A", title="A")

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
        report_scan(brand, each, sku=f"S{number}", title="S")

    campaign_results = results.results_of(campaign)

    assert (campaign_results.participants, campaign_results.reached, campaign_results.rounds) == (2, 2, 3)
    assert (
        campaign_results.claimed,
        campaign_results.waiting,
        campaign_results.points,
        campaign_results.points_waiting,
    ) == (3, 0, 30, 0)
    assert campaign_results.cost == Decimal("0.30")


def test_cost_of_results_is_unknown_without_a_point_cost(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    report_scan(brand, customer, sku="A", title="A")

    campaign_results = results.results_of(campaign)

    assert (
        campaign_results.reached,
        campaign_results.waiting,
        campaign_results.points,
        campaign_results.points_waiting,
    ) == (0, 1, 0, 10)
    assert campaign_results.cost == 0
    RewardClaim.objects.update(status="claimed", claimed_at=timezone.now())
    assert results.results_of(campaign).cost is None
