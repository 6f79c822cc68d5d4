"""Reads a customer's campaigns of a brand: progress, milestones, and rewards that can be claimed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Prefetch, Q

from campaigns.models.campaigns import Campaign, Milestone, RewardClaim, UserLoyaltyCampaign

ZERO = Decimal(0)
CLAIMED, AVAILABLE = RewardClaim.Status.CLAIMED.value, RewardClaim.Status.AVAILABLE.value


@dataclass(frozen=True, slots=True)
class MilestoneStatus:
    """A milestone for one customer in the current round.

    `claim`: the state of its reward in this round; None if the milestone was not reached, or the campaign's budget no
    longer sufficed. `claimable`: its reward of any round can be claimed.
    """

    milestone: Milestone
    achieved: bool
    claim: str | None
    claimable: bool

    @property
    def claimed(self) -> bool:
        return self.claim == CLAIMED


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A campaign and one customer's progress in it; `milestones` with the lowest threshold first."""

    campaign: Campaign
    exact_progress: Decimal
    milestones: Sequence[MilestoneStatus]
    round: int

    @property
    def progress(self) -> int:
        """In whole steps or units of the currency, rounded down."""
        return int(self.exact_progress)

    @property
    def next_milestone(self) -> Milestone | None:
        following = (each.milestone for each in self.milestones if each.milestone.threshold > self.exact_progress)
        return next(following, None)


def campaign_statuses(*, brand_id: int, user_id: int, at: datetime) -> list[CampaignStatus]:
    """Campaigns that run at `at`, and ended ones with a reward left to claim; newest first.

    Runs at most four queries, regardless of the number of campaigns.
    """
    running = Campaign.objects.running(at).filter(brand_id=brand_id)
    left = RewardClaim.objects.filter(user_id=user_id, status=AVAILABLE, milestone__campaign__brand_id=brand_id)
    conditions = Q(pk__in=running.values("pk")) | Q(pk__in=left.values("milestone__campaign_id"))
    milestones = Prefetch("milestones", Milestone.objects.select_related("reward"))
    campaigns = list(Campaign.objects.filter(conditions).prefetch_related(milestones))
    rows = UserLoyaltyCampaign.objects.filter(user_id=user_id, campaign__in=campaigns)
    progress = {row.campaign_id: row for row in rows}
    claims: dict[int, list[RewardClaim]] = {}
    for claim in RewardClaim.objects.filter(user_id=user_id, milestone__campaign__in=campaigns):
        claims.setdefault(claim.milestone_id, []).append(claim)
    return [_status_of(campaign, progress.get(campaign.pk), claims) for campaign in campaigns]


def _status_of(
    campaign: Campaign, progress_row: UserLoyaltyCampaign | None, claims: dict[int, list[RewardClaim]]
) -> CampaignStatus:
    achieved = set(progress_row.milestones_achieved) if progress_row else set()
    current = progress_row.round if progress_row else 1
    milestones = []
    for each in campaign.milestones.all():
        by_round = {claim.round: claim.status for claim in claims.get(each.pk, ())}
        claimable = AVAILABLE in by_round.values()
        milestones.append(MilestoneStatus(each, each.pk in achieved, by_round.get(current), claimable))
    progress = min(progress_row.progress, Decimal(campaign.target_value)) if progress_row else ZERO
    return CampaignStatus(campaign, progress, milestones, current)
