"""Events over HTTP: the campaign-event request (spec 4.1) and the hub's envelope (spec 6)."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.errors import BrandMismatch, OriginNotAllowed
from brands.identity import guessing
from brands.identity.api_keys import Caller
from brands.identity.authentication import BearerToken, required_caller
from brands.identity.guessing import Exemptions, Guesser
from brands.identity.tokens import Principal
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from brands.scanned import read
from brands.tenants import origins, quotas
from campaigns.intake import campaign_event
from campaigns.intake.payloads import KIND_OF_TYPE, PAYLOADS, LoginPayload, OrderPayload, ProfilePayload, ScanPayload
from core.api.idempotency import IDEMPOTENCY_HEADER, idempotency_key
from core.api.inputs import ID, Input
from core.api.openapi.endpoint import KEY_AND_BEARER, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import ORDER, SCANNED_PRODUCT
from core.api.outputs import Output, PointsField, SuccessField, TimestampField
from core.api.tokenless_views import TokenlessView
from core.errors import AuthenticationRequired, DomainError, Forbidden
from core.redis import rate_limits
from core.web import client_address
from loyalty.points import accounts

ORIGIN_HEADER = OpenApiParameter(
    "origin",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="A hostname of the key's brand, bare or as an origin, or one of its web origins. Browsers send it.",
)


def example_action(kind: str, **payload: Any) -> dict[str, Any]:
    return {"user_id": 42, "brand_id": 7, "type": kind, **payload}


PROGRESS = {
    "campaign_id": 5,
    "campaign_name": "Ten scans",
    "progress": 3,
    "target": 10,
    "milestone_achieved": False,
    "next_reward": "A mug",
}
CREDITED = {
    "points_earned": 50,
    "new_balance": 320,
    "transaction_id": "90210",
    "campaign_progress": PROGRESS,
    "campaigns": [PROGRESS],
    "level_updated": True,
    "current_level": "Silver",
    "next_level_threshold": 1000,
}
CUT = {
    "points_earned": 20,
    "new_balance": 340,
    "transaction_id": "90211",
    "level_updated": False,
    "current_level": "Silver",
    "next_level_threshold": 1000,
    "limit": {"period": "day", "max": 100, "used": 80, "resets_at": "2026-03-15T00:00:00.000Z"},
}


class CampaignEventInput(Input):
    user_id = serializers.IntegerField(**ID)
    brand_id = serializers.IntegerField(**ID)
    type = serializers.ChoiceField(choices=sorted(KIND_OF_TYPE))


class ScanAction(ScanPayload, CampaignEventInput):
    """A product scan."""


class OrderAction(OrderPayload, CampaignEventInput):
    """An order; hub keys only."""


class ProfileAction(ProfilePayload, CampaignEventInput):
    """Completed fields of the profile; hub keys only."""


class LoginAction(LoginPayload, CampaignEventInput):
    """A login; hub keys only."""


# Only for the schema: the view reads the common fields first, then the payload for `type`.
ACTION = PolymorphicProxySerializer(
    component_name="Action",
    serializers={
        "authenticator_scan": ScanAction,
        "order": OrderAction,
        "profile": ProfileAction,
        "login": LoginAction,
    },
    resource_type_field_name="type",
)


class ProgressOutput(Output):
    campaign_id = serializers.IntegerField()
    campaign_name = serializers.CharField()
    progress = serializers.IntegerField()
    target = serializers.IntegerField()
    milestone_achieved = serializers.BooleanField()
    next_reward = serializers.CharField(allow_blank=True)
    exact_progress = PointsField(
        required=False,
        help_text="`progress` with its fraction. Only for campaigns that count money or products, or are repeatable.",
    )
    step = PointsField(
        required=False,
        help_text="How much this action added. Only for the same campaigns as `exact_progress`.",
    )
    round = serializers.IntegerField(
        required=False, help_text="The current round. Only for the same campaigns as `exact_progress`."
    )
    products = serializers.ListField(
        child=serializers.IntegerField(), required=False, help_text="Products that were counted for the first time."
    )


class LimitOutput(Output):
    period = serializers.ChoiceField(choices=["day", "month"])
    max = PointsField()
    used = PointsField()
    resets_at = TimestampField()


class AccrualData(Output):
    points_earned = PointsField()
    new_balance = PointsField()
    transaction_id = serializers.CharField(allow_null=True)
    campaign_progress = ProgressOutput(required=False)
    campaigns = ProgressOutput(many=True, required=False)
    level_updated = serializers.BooleanField()
    current_level = serializers.CharField(allow_blank=True)
    next_level_threshold = PointsField(allow_null=True)
    limit = LimitOutput(required=False)


class AccrualOutput(Output):
    success = SuccessField()
    message = serializers.CharField()
    data = AccrualData()  # type: ignore[assignment]


def bearer_of(request: Request, caller: Caller) -> Principal:
    """The principal of an active user's access token. Raises AuthenticationRequired, TokenInvalid, BrandMismatch."""
    result = BearerToken().authenticate(request)
    if result is None:
        raise AuthenticationRequired
    _user, principal = result
    if principal.brand_id != caller.brand_id:
        raise BrandMismatch
    return principal


CREDIT_ACTION_EXAMPLES = [
    request_example("A scan", example_action("authenticator_scan", product={"authCode": "ALP0000004711"})),
    request_example(
        "A scan with product data (hub)",
        example_action("authenticator_scan", product={**SCANNED_PRODUCT, "redeem_point_value": 50}),
    ),
    request_example("An order (hub)", example_action("order", order=ORDER)),
    request_example(
        "A completed profile (hub)", example_action("profile", changedFields=["birthday"], completedFields=["birthday"])
    ),
    request_example("A login (hub)", example_action("login", sessionId="b2f3", channel="web")),
    answer_example("Credited", {"success": True, "message": "50 points credited.", "data": CREDITED}),
    answer_example(
        "Reduced by a point limit",
        {
            "success": True,
            "message": "The point limit of this day is reached; 20 points credited.",
            "data": CUT,
        },
    ),
]


class CampaignEvent(TokenlessView):
    """4.1: check and advance campaigns and credit points, at once."""

    @endpoint(
        "credit_action",
        tag="Points",
        summary="Credit an action at once",
        needs=[KEY_AND_BEARER],
        calls=[campaign_event.process_campaign_event],
        raises=[OriginNotAllowed, Forbidden],
        delivers=KIND_OF_TYPE.values(),
        parameters=[ORIGIN_HEADER, IDEMPOTENCY_HEADER],
        request=ACTION,
        responses=AccrualOutput,
        examples=CREDIT_ACTION_EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        """Credit the points of an action, advance the campaigns it counts for, and return the result.

        With a **hub key** that has the scope `events`, the caller may send prices, points and every type of action, for
        any customer of the brand. With an **app key**, which anyone can extract from the app, only a scan by the
        token's own user is credited, and all product data come from the catalogue.

        An auth code earns points once per customer, and only with an accepted scan. Without one, this call is the scan:
        it uses one of the code's remaining scans, or fails with SCAN_LIMIT_REACHED. A new request for a code that has
        already earned fails with POINTS_ALREADY_CLAIMED. To repeat a request safely, send an Idempotency-Key with it.

        An order is credited to one customer of the brand; for another it fails with ORDER_ALREADY_CREDITED. It counts
        in the brand's currency. A currency for which the brand has set no rate fails with CURRENCY_NOT_ACCEPTED.

        `campaign_progress` is for the code's own campaign, otherwise for the first that matched. Without a match, it
        and `campaigns` are absent. Above the brand's daily or monthly point limit, `points_earned` is reduced, and
        `limit` gives the reason.

        A brand's external loyalty system may have to approve the points first. If it rejects them for good, the error
        is EXTERNALLY_REFUSED. If the brand prefers to wait, the error is UNAVAILABLE: the request is stored and
        retried, without being sent again.
        """
        caller = required_caller(request)
        origins.check(origin=request.headers.get("origin"), brand_id=caller.brand_id)
        principal = bearer_of(request, caller)
        if caller.is_hub:
            caller.require(ApiKey.Scope.EVENTS)
        else:
            rate_limits.hit("campaign_event", caller.brand_id, principal.user_id)
        body = CampaignEventInput.parse(request.data)
        if body["brand_id"] != caller.brand_id:
            raise BrandMismatch
        if caller.is_hub:  # a hub sends for many users, so the limit is per user
            rate_limits.hit("campaign_event", caller.brand_id, body["user_id"])
            quotas.count_event(caller.brand_id)
        action = self.read_action(request, caller, principal, body)
        data = campaign_event.process_campaign_event(action) if caller.is_hub else self.credit_guarded(request, action)
        return Response({"success": True, "message": message_of(data), "data": data})

    def credit_guarded(self, request: Request, action: campaign_event.Action) -> dict[str, Any]:
        """Apply the lockout: codes can be guessed here as at the other endpoints."""
        guesser = Guesser(f"user:{action.bearer_id}", client_address.client_address(request), action.brand.pk)
        reading = read(action.payload["product"]["authCode"])
        guessing.check(guesser, reading=reading, exemptions=exemptions(action), calls=None)
        try:
            return campaign_event.process_campaign_event(action)
        except DomainError as error:
            if error.code == "AUTH_CODE_INVALID":
                guessing.count_unknown(guesser)
            raise

    def read_action(
        self, request: Request, caller: Caller, principal: Principal, data: dict[str, Any]
    ) -> campaign_event.Action:
        kind = KIND_OF_TYPE[data["type"]]
        if not caller.is_hub and kind != "scan-auth":
            raise Forbidden("Only a hub key may report this kind of action.")
        payload = PAYLOADS[kind].parse(request.data)
        if not caller.is_hub:  # anyone can change what an app sends, so product data come from the catalogue
            payload = {"type": payload["type"], "product": {"authCode": payload["product"]["authCode"]}}
        return campaign_event.Action(
            brand=Brand.objects.get(pk=caller.brand_id),
            key_kind=caller.kind,
            bearer_id=principal.user_id,
            user_id=data["user_id"],
            kind=kind,
            payload=payload,
            idempotency_key=idempotency_key(request),
            at=timezone.now(),
        )


def exemptions(action: campaign_event.Action) -> Exemptions:
    """No exemption by tag: apps scan elsewhere. Customers with an accepted scan are exempt from a network's lockout."""
    exempt = {"user_id": action.bearer_id, "brand_id": action.brand.pk}
    return Exemptions(
        has_good_tag=lambda: False,
        has_earned=lambda: accounts.has_earned(**exempt, before=action.at),
        is_established=lambda: accounts.is_established(**exempt, at=action.at),
    )


def message_of(data: dict[str, Any]) -> str:
    points = data["points_earned"]
    credited = f"{points} {'point' if points == 1 else 'points'} credited."
    if "limit" in data:
        return f"The point limit of this {data['limit']['period']} is reached; {credited}"
    return credited
