"""Progress in campaigns, and the milestones reached on the way."""

from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.utils import timezone

from campaigns.accrual import snapshot
from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from campaigns.progress import advance as progress
from campaigns.progress.overview import campaign_statuses
from core.db import sql
from tests.support import factories

WRITE = (Path(settings.BASE_DIR) / "campaigns/accrual/sql/write_accruals.sql").read_text()
# The part of the accrual statement that writes progress, for an account without concurrent changes.
STEP = f"""
    WITH locked AS (SELECT 0 AS item), {WRITE[WRITE.index("advanced_progress AS (") : WRITE.index(", finished_events")]}
    SELECT 1
"""


def running_campaigns(brand, customer, campaign_type="authenticator_scan"):
    lookup = SimpleNamespace(
        brand_id=brand.pk,
        user_id=customer.pk,
        campaign_type=campaign_type,
        happened_at=timezone.now(),
        reason_ids=[],
        requested_contexts=[],
    )
    return snapshot.fetch_one(lookup).campaigns


def advance(brand, customer, times=1):
    for _ in range(times):
        reached = progress.advance(running_campaigns(brand, customer))
        sql.rows(STEP, {"at": timezone.now(), **progress.steps([(customer.pk, reached)])})
    return reached


def test_each_action_adds_one_to_the_progress(brand, customer):
    factories.campaign(brand)

    assert [advance(brand, customer)[0].progress for _ in range(3)] == [1, 2, 3]
    assert UserLoyaltyCampaign.objects.get().milestones_achieved == []


def test_all_running_campaigns_of_the_type_advance_in_id_order(brand, customer):
    first, second = factories.campaign(brand), factories.campaign(brand)
    factories.campaign(brand, type="order")
    factories.campaign(brand, is_active=False)
    factories.campaign(brand, ends_at=timezone.now())
    factories.campaign(factories.brand())

    assert [each.campaign.campaign_id for each in advance(brand, customer)] == [first.pk, second.pk]


def test_without_campaigns_nothing_is_written(brand, customer):
    assert advance(brand, customer) == ()
    assert not UserLoyaltyCampaign.objects.exists()


def test_milestone_is_achieved_and_recorded_once(brand, customer):
    campaign = factories.campaign(brand)
    milestone = factories.milestone(campaign, 2)

    reached_ids = [
        [new_milestone.milestone_id for new_milestone in advance(brand, customer)[0].newly_reached] for _ in range(3)
    ]

    assert reached_ids == [[], [milestone.pk], []]
    assert UserLoyaltyCampaign.objects.get().milestones_achieved == [milestone.pk]


@pytest.mark.parametrize(
    ("auto_claim", "reward_points", "status"),
    [(True, 5, "claimed"), (False, 5, "available"), (True, 0, "claimed"), (False, 0, "available")],
)
def test_auto_claim_decides_whether_a_reward_waits(brand, customer, auto_claim, reward_points, status):
    factories.milestone(factories.campaign(brand), 1, auto_claim=auto_claim, reward_points=reward_points)

    [reached] = advance(brand, customer)

    claim = RewardClaim.objects.get()
    assert (claim.status, claim.claimed_at is not None) == (status, status == "claimed")
    assert reached.newly_reached[0].reward_points == Decimal(reward_points)


def test_milestone_added_below_the_progress_is_reached_at_the_next_action(brand, customer):
    campaign = factories.campaign(brand)
    advance(brand, customer, times=3)
    late_milestone = factories.milestone(campaign, 2)

    assert [new_milestone.milestone_id for new_milestone in advance(brand, customer)[0].newly_reached] == [
        late_milestone.pk
    ]


def test_reward_already_claimed_is_not_granted_again(brand, customer):
    milestone = factories.milestone(factories.campaign(brand), 1)
    RewardClaim.objects.create(milestone=milestone, user=customer)

    [reached] = advance(brand, customer)

    assert ([new_milestone.milestone_id for new_milestone in reached.reached], reached.newly_reached) == (
        [milestone.pk],
        (),
    )
    assert RewardClaim.objects.count() == 1


def test_the_next_reward_is_the_nearest_one_ahead(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 2, reward_name="A mug")
    factories.milestone(campaign, 4, reward_name="A bag")

    assert [advance(brand, customer)[0].next_reward for _ in range(4)] == ["A mug", "A bag", "A bag", ""]


def test_progress_stops_at_the_goal(brand, customer):
    factories.campaign(brand, target_value=2)

    assert [advance(brand, customer)[0].progress for _ in range(4)] == [1, 2, 2, 2]
    assert UserLoyaltyCampaign.objects.get().progress == 2


def test_progress_continues_when_the_goal_is_raised(brand, customer):
    campaign = factories.campaign(brand, target_value=2)
    advance(brand, customer, times=3)
    Campaign.objects.filter(pk=campaign.pk).update(target_value=4)

    assert [advance(brand, customer)[0].progress for _ in range(3)] == [3, 4, 4]


def test_progress_beyond_a_lowered_goal_is_stored_but_displayed_at_the_goal(brand, customer):
    campaign = factories.campaign(brand, target_value=5)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign, progress=20)

    assert advance(brand, customer)[0].progress == 5
    row = UserLoyaltyCampaign.objects.get()
    assert (row.progress, row.displayed_progress) == (20, 5)
    [status] = campaign_statuses(brand_id=brand.pk, user_id=customer.pk, at=timezone.now())
    assert status.progress == 5


def test_milestone_added_at_the_goal_is_reached_by_members_already_there(brand, customer):
    campaign = factories.campaign(brand, target_value=2)
    advance(brand, customer, times=2)
    late_milestone = factories.milestone(campaign, 2)

    assert [new_milestone.milestone_id for new_milestone in advance(brand, customer)[0].newly_reached] == [
        late_milestone.pk
    ]
    assert advance(brand, customer)[0].newly_reached == ()
