"""Events over HTTP: the campaign-event request (spec 4.1) and the hub's envelope (spec 6)."""

import re
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands import limits, origins, tokens
from brands.authentication import BearerToken, bearer, required_caller
from brands.inputs import Input
from brands.keys import Caller
from brands.models import Brand
from brands.refusals import AuthenticationRequired, BrandMismatch, Forbidden, Invalid
from brands.tokens import Principal
from loyalty import doors
from loyalty.payloads import ID, KIND_OF_TYPE, PAYLOADS, OrderInput, ProductInput

IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
KEY_HEADERS = [
    OpenApiParameter("api-key", str, OpenApiParameter.HEADER, required=True),
    OpenApiParameter("origin", str, OpenApiParameter.HEADER, required=True, description="The brand's hostname."),
]
IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key again gets the same answer."
)


class CampaignEventInput(Input):
    user_id = serializers.IntegerField(**ID)
    brand_id = serializers.IntegerField(**ID)
    type = serializers.ChoiceField(choices=sorted(KIND_OF_TYPE))


class CampaignEventSchema(CampaignEventInput):
    """What the schema shows; the view checks the part that belongs to `type`."""

    product = ProductInput(required=False, help_text="Required for authenticator_scan.")
    order = OrderInput(required=False, help_text="Required for order; hub keys only.")


class ProgressOutput(serializers.Serializer[Any]):
    campaign_id = serializers.IntegerField()
    campaign_name = serializers.CharField()
    progress = serializers.IntegerField()
    target = serializers.IntegerField()
    milestone_achieved = serializers.BooleanField()
    next_reward = serializers.CharField(allow_blank=True)


class LimitOutput(serializers.Serializer[Any]):
    period = serializers.ChoiceField(choices=["day", "month"])
    max = serializers.FloatField()
    used = serializers.FloatField()
    resets_at = serializers.DateTimeField()


class AccrualData(serializers.Serializer[Any]):
    points_earned = serializers.FloatField()
    new_balance = serializers.FloatField()
    transaction_id = serializers.CharField(allow_null=True)
    campaign_progress = ProgressOutput(required=False)
    campaigns = ProgressOutput(many=True, required=False)
    level_updated = serializers.BooleanField()
    current_level = serializers.CharField(allow_blank=True)
    next_level_threshold = serializers.FloatField(allow_null=True)
    limit = LimitOutput(required=False)


class AccrualOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    message = serializers.CharField()
    data = AccrualData()  # type: ignore[assignment]


def idempotency_key(request: Request) -> str:
    """The header's value, or "". Raises Invalid for one that cannot be a key."""
    key = request.headers.get("Idempotency-Key", "")
    if key and not IDEMPOTENCY_KEY.fullmatch(key):
        raise Invalid("An Idempotency-Key has 1 to 255 printable ASCII characters without spaces.")
    return key


def bearer_of(request: Request, caller: Caller) -> Principal:
    """The access token's principal, of an active user. Raises AuthenticationRequired, TokenInvalid, BrandMismatch."""
    found = BearerToken().authenticate(request)
    if found is None:
        raise AuthenticationRequired
    _user, principal = found
    if principal.brand_id != caller.brand_id:
        raise BrandMismatch
    return principal


class CampaignEvent(APIView):
    """4.1: check and advance campaigns and credit points, at once."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(parameters=[*KEY_HEADERS, IDEMPOTENCY_HEADER], request=CampaignEventSchema, responses=AccrualOutput)
    def post(self, request: Request) -> Response:
        caller = required_caller(request)
        origins.check(origin=request.headers.get("origin"), brand_id=caller.brand_id)
        principal = bearer_of(request, caller)
        if not caller.is_hub:
            limits.hit("campaign_event", str(principal.user_id))
        given = CampaignEventInput.parse(request.data)
        if caller.is_hub:  # a hub speaks for many users; each has the limit
            limits.hit("campaign_event", str(given["user_id"]))
        if given["brand_id"] != caller.brand_id:
            raise BrandMismatch
        asked = self.asked(request, caller, principal, given)
        data = doors.credit_now(asked)
        return Response({"success": True, "message": message_of(data), "data": data})

    def asked(self, request: Request, caller: Caller, principal: Principal, given: dict[str, Any]) -> doors.Asked:
        kind = KIND_OF_TYPE[given["type"]]
        if not caller.is_hub and kind != "scan-auth":
            raise Forbidden("Only a hub key may report this kind of action.")
        payload = PAYLOADS[kind].parse(request.data)
        if not caller.is_hub:  # what an app ships anybody can change: facts come from the catalogue
            payload = {"type": payload["type"], "product": {"authCode": payload["product"]["authCode"]}}
        return doors.Asked(
            brand=Brand.objects.get(pk=caller.brand_id),
            key_kind=caller.kind,
            bearer_id=principal.user_id,
            user_id=given["user_id"],
            kind=kind,
            payload=payload,
            idempotency_key=idempotency_key(request),
            at=timezone.now(),
        )


def message_of(data: dict[str, Any]) -> str:
    if "limit" in data:
        return f"The point limit of this {data['limit']['period']} is reached; {data['points_earned']} points credited."
    return f"{data['points_earned']} points credited."


class ArgumentsInput(Input):
    brand_id = serializers.IntegerField(**ID)
    user_id = serializers.IntegerField(**ID)
    authorization = serializers.CharField(required=False, max_length=16_384)


class DetailInput(Input):
    arguments = ArgumentsInput()
    payload = serializers.DictField()


class EnvelopeInput(Input):
    """Spec section 6; `detail-type` is read apart, as it is no Python name."""

    version = serializers.CharField(max_length=16)
    id = serializers.UUIDField()
    source = serializers.RegexField(r"^[A-Za-z0-9_.-]{1,107}\.customer-app$")  # type: ignore[assignment]
    account = serializers.CharField(max_length=64, allow_blank=True)
    time = serializers.DateTimeField()
    region = serializers.CharField(max_length=64, allow_blank=True)
    resources = serializers.ListField(max_length=0)
    detail = DetailInput()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"detail-type": serializers.CharField(max_length=64), **super().get_fields()}


class IngestedOutput(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["accepted", "duplicate"])


class Ingest(APIView):
    """Take an event in from the hub. It is stored before the answer goes out, and delivered from there."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(parameters=KEY_HEADERS[:1], request=EnvelopeInput, responses={202: IngestedOutput})
    def post(self, request: Request) -> Response:
        caller = required_caller(request)
        if not caller.is_hub:
            raise Forbidden("Events are taken from hub keys only.")
        limits.hit("ingest", str(caller.brand_id))
        envelope = EnvelopeInput.parse(request.data)
        arguments = envelope["detail"]["arguments"]
        if arguments["brand_id"] != caller.brand_id:
            raise BrandMismatch
        kind = envelope["detail_type"] = envelope.pop("detail-type")
        payload = envelope["detail"]["payload"]
        if kind in PAYLOADS:
            payload = PAYLOADS[kind].parse(payload)
        new = doors.ingest(
            brand=Brand.objects.get(pk=caller.brand_id),
            user_id=arguments["user_id"],
            vouched=self.vouched(arguments),
            envelope=envelope,
            payload=payload,
        )
        return Response({"event_id": str(envelope["id"]), "status": "accepted" if new else "duplicate"}, status=202)

    def vouched(self, arguments: dict[str, Any]) -> bool:
        """Whether the event carries its user's good token, which is read here and kept nowhere."""
        if "authorization" not in arguments:
            return False
        principal = tokens.read_access(bearer(arguments["authorization"]))
        if (principal.user_id, principal.brand_id) != (arguments["user_id"], arguments["brand_id"]):
            raise BrandMismatch("The event's token belongs to another user or brand.")
        return True
