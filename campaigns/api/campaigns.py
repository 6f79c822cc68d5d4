"""The brand's campaigns as a customer reads them: their progress, and the next reward."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import for_own_brand, principal_of
from campaigns.models.campaigns import Campaign
from campaigns.progress.overview import CampaignStatus, MilestoneStatus, campaign_statuses
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example
from core.api.outputs import Output, PictureField, PointsField, SuccessField, TimestampField
from core.translations import TranslatedField, in_language

STATUS_EXAMPLE = {
    "campaign_id": 5,
    "campaign_name": "Ten scans",
    "type": "authenticator_scan",
    "progress": 3,
    "exact_progress": 3,
    "target": 10,
    "step_by": "count",
    "is_repeatable": False,
    "round": 1,
    "ends_at": None,
    "milestones": [
        {
            "milestone_id": 8,
            "threshold": 3,
            "reward_name": "A sticker",
            "reward_description": "",
            "reward_id": None,
            "picture": None,
            "achieved": True,
            "claimed": False,
            "claimable": True,
        },
        {
            "milestone_id": 9,
            "threshold": 10,
            "reward_name": "A mug",
            "reward_description": "With the brand's mountain.",
            "reward_id": 12,
            "picture": "/pictures/0f3a1a52-53b1-4f6e-9a53-6c1a2f0f9f11/small",
            "achieved": False,
            "claimed": False,
            "claimable": False,
        },
    ],
    "next_reward": "A mug",
}


class NextRewardField(serializers.CharField):
    """What the next milestone gives, in the language of the answer."""

    def get_attribute(self, instance: CampaignStatus) -> str:
        following = instance.next_milestone
        return in_language(following, "reward_name") if following else ""


class DescriptionField(serializers.CharField):
    """The catalogue's description of a milestone's reward, in the language of the answer."""

    def get_attribute(self, instance: MilestoneStatus) -> str:
        reward = instance.milestone.reward
        return in_language(reward, "description") if reward else ""


class MilestonePictureField(PictureField):
    """The picture of a milestone's reward; also for rows with a `milestone`, such as a claim."""

    def get_attribute(self, instance: MilestoneStatus) -> Any:
        reward = instance.milestone.reward
        return reward.picture_id if reward else None


class MilestoneOutput(Output):
    milestone_id = serializers.IntegerField(source="milestone.pk")
    threshold = serializers.IntegerField(
        source="milestone.threshold", help_text="The progress at which the milestone is reached."
    )
    reward_name = TranslatedField(source="milestone.reward_name")
    reward_description = DescriptionField(
        allow_blank=True, help_text="The description in the brand's catalogue; empty if the reward is not in it."
    )
    reward_id = serializers.IntegerField(
        source="milestone.reward_id",
        allow_null=True,
        help_text="The reward in the brand's catalogue; null if it is not in it.",
    )
    picture = MilestonePictureField(
        allow_null=True, help_text="The path of its picture on this host, if the catalogue has one."
    )
    achieved = serializers.BooleanField()
    claimed = serializers.BooleanField(help_text="Whether the customer has its reward.")
    claimable = serializers.BooleanField(help_text="Whether its reward can be claimed now.")


class CampaignOutput(Output):
    campaign_id = serializers.IntegerField(source="campaign.pk")
    campaign_name = TranslatedField(source="campaign.campaign_name")
    type = serializers.ChoiceField(source="campaign.type", choices=Campaign.Type.choices)
    progress = serializers.IntegerField(help_text="In whole steps, or whole units of the currency, rounded down.")
    exact_progress = PointsField(help_text="Like `progress`, but with the fraction of an amount of money.")
    target = serializers.IntegerField(source="campaign.target_value")
    step_by = serializers.ChoiceField(
        source="campaign.step_by",
        choices=Campaign.StepBy.choices,
        help_text="What is counted: actions, money spent, or different products.",
    )
    is_repeatable = serializers.BooleanField(
        source="campaign.is_repeatable", help_text="Whether customers who reach the goal start a new round."
    )
    round = serializers.IntegerField(help_text="The current round, starting at 1.")
    ends_at = TimestampField(source="campaign.ends_at", allow_null=True)
    milestones = MilestoneOutput(many=True)
    next_reward = NextRewardField(
        allow_blank=True, help_text="The reward of the next milestone; empty if none is left."
    )


class CampaignsOutput(Output):
    success = SuccessField()
    data = CampaignOutput(many=True, source="*")  # type: ignore[assignment]


class Campaigns(APIView):
    """The campaigns of the token's brand, with the customer's progress."""

    @endpoint(
        "list_campaigns",
        tag="Account",
        summary="List my campaigns",
        needs=[BEARER],
        responses=CampaignsOutput,
        examples=[data_example("One campaign", [STATUS_EXAMPLE])],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """List the running campaigns with the customer's progress, and ended ones with a reward left to claim.

        Claim a `claimable` reward with `claim_reward`. Other rewards are given when their milestone is reached.
        """
        principal = principal_of(request, rate_limit="read")
        result = campaign_statuses(brand_id=principal.brand_id, user_id=principal.user_id, at=timezone.now())
        return Response(CampaignsOutput.serialize(result))
