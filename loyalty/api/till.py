"""The till over HTTP: checking redemption codes and using them."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.identity.api_keys import Caller
from brands.identity.authentication import for_brand_of_hub
from brands.models.credentials import ApiKey
from core.api.idempotency import IDEMPOTENCY_HEADER, idempotency_key, idempotent_id
from core.api.inputs import Input
from core.api.openapi.endpoint import KEY, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import CODE, GOOD, WHEN
from core.api.outputs import Output, PointsField, TimestampField, data_output
from core.api.tokenless_views import TokenlessView
from loyalty.api.redemptions import StateField
from loyalty.members.masking import masked
from loyalty.rewards import till

AT_THE_TILL = {
    "redemption_id": 4711,
    "name": "Enamel mug",
    "cost": 250,
    "member": "A••• L•••, a•••@example.com",
}


class TillInput(Input):
    code = serializers.CharField(
        max_length=100, help_text="The code, with or without separators, in upper or lower case."
    )


class MaskedMemberField(serializers.CharField):
    """A member's name and address, masked but recognisable."""

    def to_representation(self, value: Any) -> str:
        return masked(value)


class TillData(Output):
    redemption_id = serializers.IntegerField(source="pk")
    name = serializers.CharField(help_text="The reward's name.")
    cost = PointsField()
    member = MaskedMemberField(source="user_point", help_text="The member's name and address, masked.")
    state = StateField()
    created_at = TimestampField()
    expires_at = TimestampField(allow_null=True)
    used_at = TimestampField(allow_null=True)


TillOutput = data_output(TillData)


class CheckRedemption(TokenlessView):
    """Whether a code is valid, and for what."""

    @endpoint(
        "check_redemption",
        tag="Rewards",
        summary="Check a code",
        needs=[KEY],
        calls=[Caller.require, till.find],
        request=TillInput,
        responses=TillOutput,
        examples=[
            request_example("A code", {"code": CODE}),
            data_example("Valid", {**AT_THE_TILL, **GOOD}),
        ],
    )
    @for_brand_of_hub(ApiKey.Scope.TILL)
    def post(self, request: Request, caller: Caller) -> Response:
        """Check at a till what a customer's redemption code is for, and whether it is still valid.

        Needs a hub key with the scope `till`. The `state` of a blocked member's otherwise valid code is `blocked`, and
        the code cannot be used. It may be sent with or without separators; a typing error is detected.
        """
        data = TillInput.parse(request.data)
        redemption = till.find(brand_ids=[caller.brand_id], text=data["code"])
        return Response(TillOutput.serialize(redemption))


class UseRedemption(TokenlessView):
    """Hand the reward over: mark the code as used."""

    @endpoint(
        "use_redemption",
        tag="Rewards",
        summary="Use a code",
        needs=[KEY],
        calls=[Caller.require, till.find, till.use],
        parameters=[IDEMPOTENCY_HEADER],
        request=TillInput,
        responses=TillOutput,
        examples=[
            request_example("A code", {"code": CODE}),
            data_example("Used", {**AT_THE_TILL, **GOOD, "state": "used", "used_at": WHEN}),
        ],
    )
    @for_brand_of_hub(ApiKey.Scope.TILL)
    def post(self, request: Request, caller: Caller) -> Response:
        """Mark a customer's redemption code as used at a till, once. Needs a hub key with the scope `till`.

        With an Idempotency-Key, repeating the request returns the same answer; without one, it fails with
        REDEMPTION_USED.
        """
        data = TillInput.parse(request.data)
        at = timezone.now()
        key = idempotency_key(request)
        redemption = till.find(brand_ids=[caller.brand_id], text=data["code"])
        use_id = idempotent_id("use", caller.brand_id, redemption.pk, key or at.isoformat())
        used = till.use(redemption=redemption, at=at, key_id=caller.key_id, request=use_id)
        return Response(TillOutput.serialize(used))
