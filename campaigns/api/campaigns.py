"""What a customer reads of the brand's campaigns: how far they are, and what is next."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import for_own_brand, principal_of
from campaigns.models.campaigns import Campaign
from campaigns.progress.overview import CampaignStatus, standings
from core.api.openapi.endpoint import BEARER, endpoint
from core.json_values import iso
from core.redis import rate_limits


class MilestoneOutput(serializers.Serializer[Any]):
    milestone_id = serializers.IntegerField()
    threshold = serializers.IntegerField(help_text="The progress at which it is reached.")
    reward_name = serializers.CharField()
    achieved = serializers.BooleanField()
    claimed = serializers.BooleanField(help_text="The customer has its reward.")
    claimable = serializers.BooleanField(help_text="Its reward waits to be claimed.")


class CampaignOutput(serializers.Serializer[Any]):
    campaign_id = serializers.IntegerField()
    campaign_name = serializers.CharField()
    type = serializers.ChoiceField(choices=Campaign.Type.choices)
    progress = serializers.IntegerField()
    target = serializers.IntegerField()
    ends_at = serializers.DateTimeField(allow_null=True)
    milestones = MilestoneOutput(many=True)
    next_reward = serializers.CharField(allow_blank=True, help_text="Empty where none is left.")


class CampaignsOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = CampaignOutput(many=True)  # type: ignore[assignment]


class Campaigns(APIView):
    """The campaigns of the token's brand, as the customer finds them."""

    @endpoint(
        "list_campaigns",
        tag="Account",
        summary="List my campaigns",
        needs=[BEARER],
        responses=CampaignsOutput,
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """The running campaigns with the customer's progress, and ended ones that left a reward to claim.

        A reward that is `claimable` is claimed with `claim_reward`; the others are given when they are reached.
        """
        principal = principal_of(request)
        rate_limits.hit("read", principal.brand_id, principal.user_id)
        found = standings(brand_id=principal.brand_id, user_id=principal.user_id, at=timezone.now())
        return Response({"success": True, "data": [present_standing(each) for each in found]})


def present_standing(standing: CampaignStatus) -> dict[str, Any]:
    campaign = standing.campaign
    return {
        "campaign_id": campaign.pk,
        "campaign_name": campaign.campaign_name,
        "type": campaign.type,
        "progress": standing.progress,
        "target": campaign.target_value,
        "ends_at": iso(campaign.ends_at) if campaign.ends_at else None,
        "milestones": [
            {
                "milestone_id": step.milestone_id,
                "threshold": step.threshold,
                "reward_name": step.reward_name,
                "achieved": step.achieved,
                "claimed": step.claimed,
                "claimable": step.claimable,
            }
            for step in standing.steps
        ],
        "next_reward": standing.next_reward,
    }
