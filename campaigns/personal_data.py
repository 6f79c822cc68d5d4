"""How far a person is in a brand's campaigns, and what they won; it stays, as the pseudonym's."""

from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from core.personal_data import grouped, table

CAMPAIGNS = grouped(
    {
        "progress": table(
            UserLoyaltyCampaign,
            "campaign__campaign_name",
            "progress",
            "created_at",
            "updated_at",
            brand="campaign__brand_id",
            stays=True,
        ),
        "milestone_rewards": table(
            RewardClaim,
            "milestone__reward_name",
            "status",
            "created_at",
            "claimed_at",
            brand="milestone__campaign__brand_id",
            stays=True,
        ),
    }
)
