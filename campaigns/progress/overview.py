"""Where a customer stands in a brand's campaigns, for reading: progress, milestones, what is theirs to claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from campaigns.models.campaigns import Campaign, Milestone, RewardClaim, UserLoyaltyCampaign

CLAIMED, AVAILABLE = RewardClaim.Status.CLAIMED.value, RewardClaim.Status.AVAILABLE.value


@dataclass(frozen=True, slots=True)
class MilestoneStatus:
    """A milestone as one customer finds it; `claim` is the state of its reward, None while it is not theirs."""

    milestone: Milestone
    achieved: bool
    claim: str | None

    @property
    def claimed(self) -> bool:
        return self.claim == CLAIMED

    @property
    def claimable(self) -> bool:
        return self.claim == AVAILABLE


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A campaign and one customer's progress in it; the steps with the lowest threshold first."""

    campaign: Campaign
    progress: int
    steps: Sequence[MilestoneStatus]

    @property
    def next_milestone(self) -> Milestone | None:
        return next((step.milestone for step in self.steps if step.milestone.threshold > self.progress), None)


def standings(*, brand_id: int, user_id: int, at: datetime) -> list[CampaignStatus]:
    """In the campaigns that run at `at`, and in those that ended with something left to claim; newest first.

    Four queries, however many campaigns there are.
    """
    running = Campaign.objects.running(at).filter(brand_id=brand_id)
    left = RewardClaim.objects.filter(user_id=user_id, status=AVAILABLE, milestone__campaign__brand_id=brand_id)
    conditions = Q(pk__in=running.values("pk")) | Q(pk__in=left.values("milestone__campaign_id"))
    campaigns = list(Campaign.objects.filter(conditions).prefetch_related("milestones"))
    rows = UserLoyaltyCampaign.objects.filter(user_id=user_id, campaign__in=campaigns)
    progress = {row.campaign_id: row for row in rows}
    claims = dict(
        RewardClaim.objects.filter(user_id=user_id, milestone__campaign__in=campaigns).values_list(
            "milestone_id", "status"
        )
    )
    return [_standing(campaign, progress.get(campaign.pk), claims) for campaign in campaigns]


def _standing(campaign: Campaign, progress_row: UserLoyaltyCampaign | None, claims: dict[int, str]) -> CampaignStatus:
    achieved = set(progress_row.milestones_achieved) if progress_row else set()
    steps = [MilestoneStatus(each, each.pk in achieved, claims.get(each.pk)) for each in campaign.milestones.all()]
    return CampaignStatus(campaign, min(progress_row.progress, campaign.target_value) if progress_row else 0, steps)
