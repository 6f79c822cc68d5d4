"""Claims a milestone's reward."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, principal_of
from campaigns.api.campaigns import MilestonePictureField
from campaigns.progress import claims
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example
from core.api.openapi.shared_examples import CODE
from core.api.outputs import Output, PointsField, data_output
from core.translations import TranslatedField

CLAIMED = {
    "milestone_id": 8,
    "reward_name": "A sticker",
    "picture": None,
    "points": 0,
    "redemption_id": 4712,
    "code": CODE,
}


class ClaimedData(Output):
    milestone_id = serializers.IntegerField(source="milestone.pk")
    reward_name = TranslatedField(source="milestone.reward_name")
    picture = MilestonePictureField(allow_null=True, help_text="The path of its picture on this host, if it has one.")
    points = PointsField(help_text="Points that it pays, credited a moment later. 0 for any other reward.")
    redemption_id = serializers.IntegerField(allow_null=True)
    code = serializers.CharField(allow_null=True, help_text="The code for the till; null if the reward is points.")


ClaimedOutput = data_output(ClaimedData)


class Claim(APIView):
    """Claim a milestone's reward."""

    @endpoint(
        "claim_reward",
        tag="Rewards",
        summary="Claim a milestone's reward",
        needs=[BEARER],
        calls=[claims.claim],
        request=None,
        responses=ClaimedOutput,
        examples=[
            data_example("A reward with a code", CLAIMED),
            data_example("Points", {**CLAIMED, "points": 100, "redemption_id": None, "code": None}),
        ],
    )
    @changing_own_brand
    def post(self, request: Request, milestone_id: int) -> Response:
        """Claim the reward of a milestone that is `claimable` in `list_campaigns`, by its `milestone_id`.

        Points are credited a moment later; any other reward gets a code for the till. A reward is given once:
        repeating the call returns the same answer.
        """
        return claim(request, milestone_id)


class ClaimAsReward(APIView):
    """Claim a reward under the former path."""

    @endpoint(
        "claim_reward_by_old_path",
        tag="Rewards",
        summary="Claim a milestone's reward (old path)",
        needs=[BEARER],
        calls=[claims.claim],
        request=None,
        responses=ClaimedOutput,
        deprecated=True,
        examples=[data_example("A reward with a code", CLAIMED)],
    )
    @changing_own_brand
    def post(self, request: Request, milestone_id: int) -> Response:
        """Claim a reward as `claim_reward` does, under its former path, whose number is a milestone's, not a reward's.

        The answers are the same. Use `claim_reward` instead.
        """
        return claim(request, milestone_id)


def claim(request: Request, milestone_id: int) -> Response:
    principal = principal_of(request, rate_limit="redeem")
    claimed = claims.claim(
        brand_id=principal.brand_id, user_id=principal.user_id, milestone_id=milestone_id, at=timezone.now()
    )
    return Response(ClaimedOutput.serialize(claimed))
