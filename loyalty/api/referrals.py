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
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, SuccessField, TimestampField
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
    code = serializers.CharField(help_text="The customer's own. Says nothing about them.")
    link = serializers.CharField(
        allow_blank=True, help_text="Where friends register with it; empty for a brand without a hostname."
    )
    referrer_points = PointsField(help_text="What the customer gets for each friend.")
    friend_points = PointsField(help_text="What the friend gets.")
    action = serializers.ChoiceField(
        choices=ReferralProgramme.Action.values, help_text="What the friend has to do first, and earn points with."
    )
    waiting = serializers.IntegerField(help_text="Friends who joined, and for whom no points came yet.")
    rewarded = serializers.IntegerField(help_text="Friends for whom points came.")
    points_earned = PointsField(help_text="The customer's, for all of them.")
    may_give_code = serializers.BooleanField(help_text="Whether the customer can still give the code of a friend.")


class ReferralOutput(Output):
    success = SuccessField()
    data = ReferralData(  # type: ignore[assignment]
        source="own", allow_null=True, help_text="Null where the brand gives nothing for friends."
    )


class ReferralCodeInput(Input):
    code = serializers.CharField(max_length=40, help_text="Spaces, hyphens and case do not matter.")


class FriendReferralData(Output):
    state = serializers.SerializerMethodField()
    friend_points = PointsField(help_text="What the customer gets once they have done it.")
    action = serializers.ChoiceField(choices=ReferralProgramme.Action.values)
    created_at = TimestampField()

    def get_state(self, row: dict[str, Any]) -> str:
        """One person's second account waits like any other."""
        state = row["state"]
        return Referral.State.WAITING.value if state == Referral.State.REJECTED else str(state)


class FriendReferralOutput(Output):
    success = SuccessField()
    data = FriendReferralData(source="*")  # type: ignore[assignment]


class Referrals(APIView):
    """The customer's own code, and their referrer's."""

    @endpoint(
        "read_referral",
        tag="Points",
        summary="Read my code for friends",
        needs=[BEARER],
        calls=[overview.of_member],
        responses=ReferralOutput,
        examples=[
            answer_example("A customer", {"success": True, "data": OWN}),
            answer_example("Where friends bring nothing", {"success": True, "data": None}),
        ],
    )
    @changing_own_brand
    def get(self, request: Request) -> Response:
        """The customer's code at the token's brand and its link, what friends and they get, and what came of it.

        The code is drawn at random when it is first asked for, and stays.
        """
        principal = principal_of(request)
        rate_limits.hit("read", principal.brand_id, principal.user_id)
        own = overview.of_member(brand_id=principal.brand_id, user_id=principal.user_id, at=timezone.now())
        return Response(ReferralOutput.serialize({"own": own}))

    @endpoint(
        "give_referral_code",
        tag="Points",
        summary="Give the code of a friend",
        needs=[BEARER],
        calls=[referrals.begin],
        request=ReferralCodeInput,
        responses={201: FriendReferralOutput},
        examples=[
            request_example("A friend's code", {"code": "K7QM-3WXD"}),
            answer_example("Noted", {"success": True, "data": OF_FRIEND}),
        ],
    )
    @changing_own_brand
    def post(self, request: Request) -> Response:
        """Say who brought the customer here, by that member's code: once, in the brand's days after joining, and
        before the customer's first scan or order. The same code again gets the same answer.

        Both get their points after the customer's first action. The answer says nothing about whose code it is.
        """
        principal = principal_of(request)
        rate_limits.hit("referral_code", client_address.client_address(request))
        rate_limits.hit("referral_code_customer", principal.brand_id, principal.user_id)
        data = ReferralCodeInput.parse(request.data)
        referral = referrals.begin(
            brand_id=principal.brand_id, user_id=principal.user_id, code=data["code"], at=timezone.now()
        )
        return Response(FriendReferralOutput.serialize(overview.of_friend(referral)), status=201)
