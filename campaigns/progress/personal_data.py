"""How far a person is in a brand's campaigns, and what they won: handed out, and taken out of the person's name."""

from datetime import datetime
from typing import Any

from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from loyalty.members.personal_data import rows


def export(user_id: int, brand_id: int) -> dict[str, Any]:
    progress = UserLoyaltyCampaign.objects.filter(user_id=user_id, campaign__brand_id=brand_id)
    claims = RewardClaim.objects.filter(user_id=user_id, milestone__campaign__brand_id=brand_id)
    return {
        "progress": rows(progress.values("campaign__campaign_name", "progress", "created_at", "updated_at")),
        "milestone_rewards": rows(claims.values("milestone__reward_name", "status", "created_at", "claimed_at")),
    }


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - as every module's
    """How far they came, and what they won, is the pseudonym's."""
    UserLoyaltyCampaign.objects.filter(user_id=user_id, campaign__brand_id=brand_id).update(user_id=to)
    RewardClaim.objects.filter(user_id=user_id, milestone__campaign__brand_id=brand_id).update(user_id=to)
