"""Campaigns in the customer API: progress, milestones and rewards to be claimed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from tests.support import factories


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


def campaigns(customer_api):
    return customer_api.get("customer/loyalty/campaigns").json()["data"]


def test_campaign_is_shown_with_progress_and_milestones(customer_api, brand, customer, deliver_events):
    campaign = factories.campaign(brand, target_value=5)
    first = factories.milestone(campaign, 1, reward_name="A sticker", auto_claim=False)
    second = factories.milestone(campaign, 5, reward_name="A mug")
    customer_api.verify(factories.code(brand))
    deliver_events()

    assert campaigns(customer_api) == [
        {
            "campaign_id": campaign.pk,
            "campaign_name": "Scan and win",
            "type": "authenticator_scan",
            "progress": 1,
            "exact_progress": 1,
            "target": 5,
            "step_by": "count",
            "is_repeatable": False,
            "round": 1,
            "ends_at": None,
            "milestones": [
                {
                    "milestone_id": first.pk,
                    "threshold": 1,
                    "reward_name": "A sticker",
                    "reward_description": "",
                    "reward_id": None,
                    "picture": None,
                    "achieved": True,
                    "claimed": False,
                    "claimable": True,
                },
                {
                    "milestone_id": second.pk,
                    "threshold": 5,
                    "reward_name": "A mug",
                    "reward_description": "",
                    "reward_id": None,
                    "picture": None,
                    "achieved": False,
                    "claimed": False,
                    "claimable": False,
                },
            ],
            "next_reward": "A mug",
        }
    ]


def test_ended_campaign_is_listed_while_a_reward_can_be_claimed(customer_api, brand, customer):
    past = {"ends_at": timezone.now() - timedelta(days=1)}
    factories.milestone(factories.campaign(brand, campaign_name="Over", **past), 1)
    milestone = factories.milestone(
        factories.campaign(brand, campaign_name="Over, with a reward", **past), 1, auto_claim=False
    )
    RewardClaim.objects.create(milestone=milestone, user=customer)

    assert [each["campaign_name"] for each in campaigns(customer_api)] == ["Over, with a reward"]


def test_campaigns_of_other_brands_and_progress_of_others_are_hidden(api, brand, customer):
    campaign = factories.campaign(brand)
    factories.campaign(factories.brand(), campaign_name="Elsewhere")
    UserLoyaltyCampaign.objects.create(user=factories.customer(brand), campaign=campaign, progress=4)

    assert [(each["campaign_id"], each["progress"]) for each in campaigns(api.as_customer(customer))] == [
        (campaign.pk, 0)
    ]


def test_query_count_is_the_same_for_1_and_30_campaigns(customer_api, brand, django_assert_num_queries):
    factories.milestone(factories.campaign(brand), 1)
    with django_assert_num_queries(5):  # the user, campaigns, milestones, progress, claims
        campaigns(customer_api)
    for _ in range(29):
        factories.milestone(factories.campaign(brand), 1)

    with django_assert_num_queries(5):
        campaigns(customer_api)
