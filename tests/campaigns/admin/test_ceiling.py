"""A milestone pays at most the brand's ceiling, whichever way it is set."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, Milestone
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db
DATABASE_ERROR = "at most 1000 points for a milestone"


def save_milestone(user, campaign, points, **fields):
    """Save the first milestone, or a new one, in the campaign's form."""
    url, client = address("campaigns.campaign", "change", campaign.pk), browser(user)
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}
    data |= {"milestones-TOTAL_FORMS": "1", "milestones-0-campaign": campaign.pk, "milestones-0-threshold": "1"}
    data |= {"milestones-0-reward_name": "Bonus", "milestones-0-reward_points": points, "milestones-0-auto_claim": "on"}
    return client.post(url, {**data, **fields})


def test_milestone_above_the_ceiling_is_rejected_with_a_message(brand):
    """The attack is a campaign that pays 99,999,999 points to anyone who logs in."""
    campaign = factories.campaign(brand, type=Campaign.Type.LOGIN, target_value=1)
    owner = staff(brand)

    rejected = save_milestone(owner, campaign, "1000.01")

    message = "At most 1,000 points; ask the operator to raise the ceiling."
    assert rejected.status_code == 200
    assert message in text(rejected)
    assert not Milestone.objects.exists()
    assert save_milestone(owner, campaign, "1000").status_code == 302
    assert Milestone.objects.get().reward_points == 1000


def test_new_campaign_with_a_milestone_above_the_ceiling_is_rejected(brand):
    data = {"brand": brand.pk, "campaign_name": "Hello", "type": "login", "target_value": 1, "is_active": "on"}
    data |= {"milestones-TOTAL_FORMS": "1", "milestones-INITIAL_FORMS": "0", "milestones-0-threshold": "1"}
    data |= {"milestones-0-reward_name": "Bonus", "milestones-0-reward_points": "99999999"}

    rejected = browser(staff(brand)).post(address("campaigns.campaign", "add"), data)

    assert "ask the operator to raise the ceiling" in text(rejected)
    assert not Campaign.objects.exists()


def test_milestone_above_a_lowered_ceiling_stays_but_cannot_be_raised(brand):
    milestone = factories.milestone(factories.campaign(brand), 1, reward_points=900)
    Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=100)
    owner, fields = staff(brand), {"milestones-INITIAL_FORMS": "1", "milestones-0-milestone_id": milestone.pk}

    assert save_milestone(owner, milestone.campaign, "900", **fields).status_code == 302
    rejected = save_milestone(owner, milestone.campaign, "901", **fields)
    assert "At most 900 points; ask the operator to raise the ceiling." in text(rejected)
    assert save_milestone(owner, milestone.campaign, "800", **fields).status_code == 302

    milestone.refresh_from_db()
    assert milestone.reward_points == 800


def test_database_rejects_a_milestone_above_the_ceiling(brand):
    other_brand = factories.brand(max_points_per_scan=5000)
    milestone, foreign_milestone = (
        factories.milestone(factories.campaign(brand), 1),
        factories.milestone(factories.campaign(other_brand), 1),
    )
    Milestone.objects.filter(pk=foreign_milestone.pk).update(reward_points=5000)
    writes = [
        lambda: Milestone.objects.filter(pk=milestone.pk).update(reward_points=Decimal("1000.01")),
        lambda: factories.milestone(milestone.campaign, 2, reward_points=99_999_999),
        lambda: Milestone.objects.filter(pk=foreign_milestone.pk).update(campaign=milestone.campaign, threshold=3),
    ]

    for write in writes:
        with pytest.raises(IntegrityError, match=DATABASE_ERROR), transaction.atomic():
            write()
