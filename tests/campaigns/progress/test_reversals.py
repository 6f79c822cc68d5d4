"""A returned order reverses campaign progress, also past milestones that the campaign's budget could not pay."""

from decimal import Decimal

import pytest

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(brand):
    """Its milestone at 50 pays 20 points, more than the budget has."""
    Brand.objects.filter(pk=brand.pk).update(after_return=Brand.AfterReturn.RECOMPUTE)
    campaign = factories.campaign(brand, type="order", step_by="amount", target_value=1000, budget=5)
    factories.milestone(campaign, 50, reward_points=20, auto_claim=True)
    return campaign


def test_withheld_milestone_is_paid_when_it_is_reached_again(brand, customer, campaign):
    shop.buy(brand, customer, "A-1", subtotal="60.00")
    assert not RewardClaim.objects.exists()

    shop.cancel(brand, customer, "A-1")
    assert UserLoyaltyCampaign.objects.get().milestones_achieved == []
    Campaign.objects.filter(pk=campaign.pk).update(budget=100)
    shop.buy(brand, customer, "A-2", subtotal="60.00")

    assert RewardClaim.objects.get().points == Decimal(20)
    assert factories.account(customer, brand).points == 20


def test_paid_milestone_stays_achieved_and_is_not_paid_twice(brand, customer, campaign):
    Campaign.objects.filter(pk=campaign.pk).update(budget=100)
    shop.buy(brand, customer, "A-1", subtotal="60.00")

    shop.cancel(brand, customer, "A-1")
    shop.buy(brand, customer, "A-2", subtotal="60.00")

    assert RewardClaim.objects.get().points == Decimal(20)
    assert factories.account(customer, brand).points == 20


def test_milestone_paid_before_a_merge_is_not_paid_again(brand, customer, campaign):
    Campaign.objects.filter(pk=campaign.pk).update(budget=100)
    target = factories.customer(brand)
    shop.buy(brand, customer, "A-1", subtotal="60.00")
    factories.merge(target, customer, brand)

    shop.cancel(brand, target, "A-1")
    progress = UserLoyaltyCampaign.objects.get(user=target)
    shop.buy(brand, target, "A-2", subtotal="60.00")

    assert (progress.progress, progress.milestones_achieved) == (0, [campaign.milestones.get().pk])
    assert RewardClaim.objects.get().points == Decimal(20)
    assert factories.account(target, brand).points == 20
