"""Events from outside, over HTTP or SQS: validates an envelope and stores its event."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from brands.errors import BrandMismatch, UserNotFound
from brands.identity import tokens
from brands.identity.authentication import active_user, bearer
from brands.models.tenants import Brand
from campaigns.intake import campaign_event, own_kinds
from campaigns.intake.payloads import PAYLOADS
from core.api.inputs import ID, Input, MomentInput, one_line
from core.db import row_guard
from core.errors import Invalid, TokenInvalid, raises
from events.models import OWN_SOURCE

PAYLOAD = PolymorphicProxySerializer(
    component_name="Payload", serializers=list(PAYLOADS.values()), resource_type_field_name=None
)

TOKENS = {"authorization", "access_token", "refresh_token", "token"}


def without_tokens(value: Any) -> Any:
    """A payload of an unknown kind, without fields that may be secrets."""
    if isinstance(value, dict):
        return {name: without_tokens(content) for name, content in value.items() if name.lower() not in TOKENS}
    return [without_tokens(each) for each in value] if isinstance(value, list) else value


class ArgumentsInput(Input):
    brand_id = serializers.IntegerField(**ID)
    user_id = serializers.IntegerField(**ID)
    authorization = serializers.CharField(required=False, max_length=16_384)


class DetailInput(Input):
    arguments = ArgumentsInput()
    payload = extend_schema_field(PAYLOAD)(serializers.DictField)()


def from_outside(source: str) -> None:
    """Validator: raises ValidationError for the source of the service's own events, which lists of events leave out."""
    if source == OWN_SOURCE:
        message = f"{OWN_SOURCE} is the source of the service's own events. Use another name before .customer-app."
        raise serializers.ValidationError(message)


class EnvelopeInput(Input):
    """An event in the format of the event bus."""

    version = serializers.CharField(max_length=16, validators=[one_line])
    id = serializers.UUIDField()
    source = serializers.RegexField(  # type: ignore[assignment]
        r"^[A-Za-z0-9_.-]{1,107}\.customer-app$", trim_whitespace=False, validators=[one_line, from_outside]
    )
    account = serializers.CharField(max_length=64, allow_blank=True, validators=[one_line])
    time = MomentInput()
    region = serializers.CharField(max_length=64, allow_blank=True, validators=[one_line])
    resources = serializers.ListField(max_length=0)
    detail = DetailInput()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"detail-type": serializers.CharField(max_length=64, validators=[one_line]), **super().get_fields()}


@raises(TokenInvalid, BrandMismatch, UserNotFound)
def store_event(envelope: dict[str, Any], *, tokens_may_be_old: bool = False) -> bool:
    """Store the validated event of a brand that the sender may act for. False: it was stored before.

    With `tokens_may_be_old`, the user's token may have expired in transit. It then proves nothing, and the user must be
    the brand's customer. Raises Invalid, UserNotFound, BrandMismatch, TokenInvalid.
    """
    arguments = envelope["detail"]["arguments"]
    kind = envelope["detail_type"] = envelope.pop("detail-type")
    payload = envelope["detail"]["payload"]
    if kind in PAYLOADS:
        payload = PAYLOADS[kind].parse(payload)
    elif kind in settings.EVENT_HANDLERS:
        raise Invalid("The service publishes this kind itself.", details={"field": "detail-type"})
    brand = Brand.objects.filter(pk=arguments["brand_id"]).first()
    if brand is None:
        raise BrandMismatch
    own_kind = None if kind in PAYLOADS else own_kinds.registered(brand, kind)
    if own_kind is not None:
        payload = own_kinds.parse(payload, own_kind)
    elif kind not in PAYLOADS:
        payload = without_tokens(payload)
    try:
        token_verified = is_token_verified(arguments)
    except TokenInvalid:
        if not tokens_may_be_old:
            raise
        token_verified = False
    return campaign_event.ingest(
        brand=brand,
        user_id=arguments["user_id"],
        token_verified=token_verified,
        envelope=envelope,
        payload=payload,
        is_own_kind=own_kind is not None,
    )


def is_token_verified(arguments: dict[str, Any]) -> bool:
    """Whether the event carries its user's token, which is not stored. Raises TokenInvalid, BrandMismatch."""
    if "authorization" not in arguments:
        return False
    principal = tokens.verify_access(bearer(arguments["authorization"]))
    if (principal.user_id, principal.brand_id) != (arguments["user_id"], arguments["brand_id"]):
        raise BrandMismatch("The event's token belongs to another user or brand.")
    with row_guard.disabled("a token may be good before its user is one of the brand's customers"):
        if active_user(principal.user_id, principal) is None:
            raise TokenInvalid
    return True
