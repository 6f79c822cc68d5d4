"""Progress in campaigns and the rewards on the way."""

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
# Of the statement that writes accruals what it writes of progress, for an account that nobody else changes.
STEP = f"""
    WITH locked AS (SELECT 0 AS item), {WRITE[WRITE.index("advanced_progress AS (") : WRITE.index(", finished_events")]}
    SELECT 1
"""


def running(brand, customer, campaign_type="authenticator_scan"):
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
        reached = progress.advance(running(brand, customer))
        sql.rows(STEP, {"at": timezone.now(), **progress.steps([(customer.pk, reached)])})
    return reached


def test_the_first_action_starts_at_one_and_each_adds_one(brand, customer):
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


def test_a_milestone_is_achieved_once_and_noted(brand, customer):
    campaign = factories.campaign(brand)
    mug = factories.milestone(campaign, 2)

    given = [[stop.milestone_id for stop in advance(brand, customer)[0].newly_reached] for _ in range(3)]

    assert given == [[], [mug.pk], []]
    assert UserLoyaltyCampaign.objects.get().milestones_achieved == [mug.pk]


@pytest.mark.parametrize(
    ("auto_claim", "reward_points", "status"),
    [(True, 5, "claimed"), (False, 5, "available"), (True, 0, "claimed"), (False, 0, "available")],
)
def test_what_is_claimed_automatically_does_not_wait(brand, customer, auto_claim, reward_points, status):
    factories.milestone(factories.campaign(brand), 1, auto_claim=auto_claim, reward_points=reward_points)

    [reached] = advance(brand, customer)

    claim = RewardClaim.objects.get()
    assert (claim.status, claim.claimed_at is not None) == (status, status == "claimed")
    assert reached.newly_reached[0].reward_points == Decimal(reward_points)


def test_a_milestone_added_below_the_progress_is_given_at_the_next_action(brand, customer):
    campaign = factories.campaign(brand)
    advance(brand, customer, times=3)
    late = factories.milestone(campaign, 2)

    assert [stop.milestone_id for stop in advance(brand, customer)[0].newly_reached] == [late.pk]


def test_a_reward_that_the_customer_has_is_not_given_again(brand, customer):
    mug = factories.milestone(factories.campaign(brand), 1)
    RewardClaim.objects.create(milestone=mug, user=customer)

    [reached] = advance(brand, customer)

    assert ([stop.milestone_id for stop in reached.reached], reached.newly_reached) == ([mug.pk], ())
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


def test_progress_goes_on_when_the_goal_is_raised(brand, customer):
    campaign = factories.campaign(brand, target_value=2)
    advance(brand, customer, times=3)
    Campaign.objects.filter(pk=campaign.pk).update(target_value=4)

    assert [advance(brand, customer)[0].progress for _ in range(3)] == [3, 4, 4]


def test_progress_beyond_a_lowered_goal_is_shown_at_the_goal_and_kept(brand, customer):
    campaign = factories.campaign(brand, target_value=5)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign, progress=20)

    assert advance(brand, customer)[0].progress == 5
    row = UserLoyaltyCampaign.objects.get()
    assert (row.progress, row.displayed_progress) == (20, 5)
    [status] = campaign_statuses(brand_id=brand.pk, user_id=customer.pk, at=timezone.now())
    assert status.progress == 5


def test_milestone_added_at_the_goal_is_still_given_to_those_who_are_there(brand, customer):
    campaign = factories.campaign(brand, target_value=2)
    advance(brand, customer, times=2)
    late = factories.milestone(campaign, 2)

    assert [stop.milestone_id for stop in advance(brand, customer)[0].newly_reached] == [late.pk]
    assert advance(brand, customer)[0].newly_reached == ()
