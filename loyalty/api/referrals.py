"""A customer's referral code, and the code of the customer's referrer."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, principal_of
from core.api.inputs import Input
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, SuccessField, TimestampField, data_output
from core.redis import rate_limits
from core.web import client_address
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.referrals import overview, referrals

OWN = {
    "code": "K7QM-3WXD",
    "link": "https://shop.example.com/s/?ref=K7QM3WXD",
    "referrer_points": 100,
    "friend_points": 50,
    "action": "either",
    "waiting": 1,
    "rewarded": 3,
    "points_earned": 300,
    "may_give_code": False,
}
OF_FRIEND = {"state": "waiting", "friend_points": 50, "action": "either", "created_at": WHEN}


class ReferralData(Output):
    code = serializers.CharField(help_text="The customer's own code, which reveals nothing about them.")
    link = serializers.CharField(
        allow_blank=True, help_text="Where friends register with the code; empty for a brand without a hostname."
    )
    referrer_points = PointsField(help_text="Points that the customer gets for each friend.")
    friend_points = PointsField(help_text="Points that the friend gets.")
    action = serializers.ChoiceField(
        choices=ReferralProgramme.Action.values, help_text="What the friend must do first, and earn points with."
    )
    waiting = serializers.IntegerField(help_text="Friends who joined, but for whom no points were credited yet.")
    rewarded = serializers.IntegerField(help_text="Friends for whom points were credited.")
    points_earned = PointsField(help_text="Points that the customer earned for all of them.")
    may_give_code = serializers.BooleanField(help_text="Whether the customer can still enter a friend's code.")


class ReferralOutput(Output):
    success = SuccessField()
    data = ReferralData(  # type: ignore[assignment]
        source="own",
        allow_null=True,
        help_text="Null if the brand offers no referrals, or the customer is not a member.",
    )


class ReferralCodeInput(Input):
    code = serializers.CharField(max_length=40, help_text="Spaces, hyphens and case do not matter.")


class FriendReferralData(Output):
    state = serializers.SerializerMethodField()
    friend_points = PointsField(help_text="Points that the customer gets after the first action.")
    action = serializers.ChoiceField(choices=ReferralProgramme.Action.values)
    created_at = TimestampField()

    def get_state(self, row: dict[str, Any]) -> str:
        """The state of the referral; a rejected one is returned as `waiting`."""
        state = row["state"]
        return Referral.State.WAITING.value if state == Referral.State.REJECTED else str(state)


FriendReferralOutput = data_output(FriendReferralData)


class Referrals(APIView):
    """The customer's own code, and their referrer's."""

    @endpoint(
        "read_referral",
        tag="Points",
        summary="Read my referral code",
        needs=[BEARER],
        calls=[overview.of_member],
        responses=ReferralOutput,
        examples=[
            data_example("A customer", OWN),
            data_example("No referral programme", None),
        ],
    )
    @changing_own_brand
    def get(self, request: Request) -> Response:
        """Return the customer's code at the token's brand, its link, what both sides get, and the results so far.

        The code is generated at random on the first call, and does not change.
        """
        principal = principal_of(request, rate_limit="read")
        own = overview.of_member(brand_id=principal.brand_id, user_id=principal.user_id, at=timezone.now())
        return Response(ReferralOutput.serialize({"own": own}))

    @endpoint(
        "give_referral_code",
        tag="Points",
        summary="Enter a friend's referral code",
        needs=[BEARER],
        calls=[referrals.begin],
        request=ReferralCodeInput,
        responses={201: FriendReferralOutput},
        examples=[
            request_example("A friend's code", {"code": "K7QM-3WXD"}),
            data_example("Recorded", OF_FRIEND),
        ],
    )
    @changing_own_brand
    def post(self, request: Request) -> Response:
        """Record who referred the customer, by that member's code. The same code again returns the same answer.

        It is possible once, within the days after joining that the brand allows, and before the customer's first scan
        or order. Both get their points after the customer's first action. The answer does not reveal whose code it is.
        """
        principal = principal_of(request)
        rate_limits.hit("referral_code", client_address.client_address(request))
        rate_limits.hit("referral_code_customer", principal.brand_id, principal.user_id)
        data = ReferralCodeInput.parse(request.data)
        referral = referrals.begin(
            brand_id=principal.brand_id, user_id=principal.user_id, code=data["code"], at=timezone.now()
        )
        return Response(FriendReferralOutput.serialize(overview.of_friend(referral)), status=201)
