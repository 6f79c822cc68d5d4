"""A person's data in a brand's campaigns: progress and rewards, which the pseudonym keeps, and segments."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from core.personal_data import Topic, grouped, rows, table
from loyalty.models.programme.segments import SegmentMember

CAMPAIGNS = grouped(
    {
        "progress": table(
            UserLoyaltyCampaign,
            "campaign__campaign_name",
            "progress",
            "round",
            "products",
            "created_at",
            "updated_at",
            brand="campaign__brand_id",
            stays=True,
        ),
        "milestone_rewards": table(
            RewardClaim,
            "milestone__reward_name",
            "round",
            "points",
            "status",
            "created_at",
            "claimed_at",
            brand="milestone__campaign__brand_id",
            stays=True,
        ),
    }
)


def export_segments(user_id: int, brand_id: int) -> Iterator[Any]:
    members = SegmentMember.objects.filter(account__user=user_id, brand=brand_id)
    return rows(members.order_by("id").values("segment__name", "since"))


def erase_segments(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    """Call before the account is anonymised; it is blocked then, so no evaluation adds it to a segment again."""
    SegmentMember.objects.filter(account__user=user_id, brand=brand_id).delete()


SEGMENTS = Topic(export_segments, erase_segments)
