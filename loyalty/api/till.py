"""The till over HTTP: checking redemption codes and using them."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.api_keys import Caller
from brands.identity.authentication import for_brand_of_key
from core.api.idempotency import IDEMPOTENCY_HEADER, idempotency_key, idempotent_id
from core.api.inputs import Input
from core.api.openapi.endpoint import KEY, endpoint
from core.json_values import plain
from loyalty.api.redemptions import STATES, present_state, require_till
from loyalty.members.masking import masked
from loyalty.models.rewards import Redemption
from loyalty.rewards import till


class TillInput(Input):
    code = serializers.CharField(max_length=100, help_text="With or without separators, in any case.")


class TillData(serializers.Serializer[Any]):
    redemption_id = serializers.IntegerField()
    name = serializers.CharField(help_text="Of the reward.")
    cost = serializers.FloatField()
    member = serializers.CharField(help_text="Masked.")
    state = serializers.ChoiceField(choices=STATES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(allow_null=True)


class TillOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = TillData()  # type: ignore[assignment]


def present_till(redemption: Redemption) -> dict[str, Any]:
    return {
        "redemption_id": redemption.pk,
        "name": redemption.name,
        "cost": plain(redemption.cost),
        "member": masked(redemption.user_point),
        **present_state(redemption),
    }


class CheckRedemption(APIView):
    """What a code is worth."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "check_redemption",
        tag="Rewards",
        summary="Check a code",
        needs=[KEY],
        calls=[require_till, till.find],
        request=TillInput,
        responses=TillOutput,
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """For a till: what a customer's code is for, and whether it is still good. Needs a hub key.

        A member who is blocked gets nothing for a code that is otherwise good; its `state` is `blocked` then.
        The code may be typed with or without separators; a slip in it is noticed.
        """
        require_till(caller)
        given = TillInput.parse(request.data)
        found = till.find(brand_ids=[caller.brand_id], text=given["code"])
        return Response({"success": True, "data": present_till(found)})


class UseRedemption(APIView):
    """Hand the reward out: the code is used."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "use_redemption",
        tag="Rewards",
        summary="Use a code",
        needs=[KEY],
        calls=[require_till, till.find, till.use],
        parameters=[IDEMPOTENCY_HEADER],
        request=TillInput,
        responses=TillOutput,
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """For a till: mark a customer's code as used, once. Needs a hub key.

        With an Idempotency-Key the same request again is answered the same; otherwise a second one is REDEMPTION_USED.
        """
        require_till(caller)
        given = TillInput.parse(request.data)
        at = timezone.now()
        key = idempotency_key(request)
        found = till.find(brand_ids=[caller.brand_id], text=given["code"])
        asked = idempotent_id("use", caller.brand_id, found.pk, key or at.isoformat())
        used = till.use(redemption=found, at=at, key_id=caller.key_id, request=asked)
        return Response({"success": True, "data": present_till(used)})
