"""Events from outside, by whichever door they come: what an envelope must look like, and taking one in."""

from datetime import datetime
from typing import Any

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from brands import tokens
from brands.authentication import active_user, bearer
from brands.inputs import Input
from brands.models import Brand
from brands.refusals import BrandMismatch, Invalid, TokenInvalid
from loyalty import doors
from loyalty.payloads import ID, PAYLOADS

EARLIEST_YEAR, LATEST_YEAR = 1970, 9998
PAYLOAD = PolymorphicProxySerializer(
    component_name="Payload", serializers=list(PAYLOADS.values()), resource_type_field_name=None
)

TOKENS = {"authorization", "access_token", "refresh_token", "token"}


def without_tokens(value: Any) -> Any:
    """A payload of a kind nobody here knows, without what may open a door."""
    if isinstance(value, dict):
        return {name: without_tokens(held) for name, held in value.items() if name.lower() not in TOKENS}
    return [without_tokens(each) for each in value] if isinstance(value, list) else value


class ArgumentsInput(Input):
    brand_id = serializers.IntegerField(**ID)
    user_id = serializers.IntegerField(**ID)
    authorization = serializers.CharField(required=False, max_length=16_384)


class DetailInput(Input):
    arguments = ArgumentsInput()
    payload = extend_schema_field(PAYLOAD)(serializers.DictField)()


class EnvelopeInput(Input):
    """An event as the bus carries it."""

    version = serializers.CharField(max_length=16)
    id = serializers.UUIDField()
    source = serializers.RegexField(r"^[A-Za-z0-9_.-]{1,107}\.customer-app$")  # type: ignore[assignment]
    account = serializers.CharField(max_length=64, allow_blank=True)
    time = serializers.DateTimeField()
    region = serializers.CharField(max_length=64, allow_blank=True)
    resources = serializers.ListField(max_length=0)
    detail = DetailInput()

    def validate_time(self, time: datetime) -> datetime:
        """Far from both ends of the calendar, where no other time zone has a date for it."""
        if not EARLIEST_YEAR <= time.year <= LATEST_YEAR:
            message = f"Send a moment between {EARLIEST_YEAR} and {LATEST_YEAR}."
            raise serializers.ValidationError(message)
        return time

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"detail-type": serializers.CharField(max_length=64), **super().get_fields()}


def take_in(envelope: dict[str, Any], *, tokens_may_be_old: bool = False) -> bool:
    """Store what EnvelopeInput read, of a brand that the sender may speak for. False: it was here already.

    Where it waited on its way the user's token may have expired (`tokens_may_be_old`): then it vouches for nobody, and
    the user must be the brand's. Raises Invalid, UserNotFound, BrandMismatch, TokenInvalid.
    """
    arguments = envelope["detail"]["arguments"]
    kind = envelope["detail_type"] = envelope.pop("detail-type")
    payload = envelope["detail"]["payload"]
    if kind in PAYLOADS:
        payload = PAYLOADS[kind].parse(payload)
    elif kind in settings.EVENT_HANDLERS:
        raise Invalid("The service publishes this kind itself.", details={"field": "detail-type"})
    else:
        payload = without_tokens(payload)
    brand = Brand.objects.filter(pk=arguments["brand_id"]).first()
    if brand is None:
        raise BrandMismatch
    try:
        vouched = is_vouched_for(arguments)
    except TokenInvalid:
        if not tokens_may_be_old:
            raise
        vouched = False
    return doors.ingest(brand=brand, user_id=arguments["user_id"], vouched=vouched, envelope=envelope, payload=payload)


def is_vouched_for(arguments: dict[str, Any]) -> bool:
    """Whether the event carries its user's good token, which is read here and kept nowhere."""
    if "authorization" not in arguments:
        return False
    principal = tokens.read_access(bearer(arguments["authorization"]))
    if (principal.user_id, principal.brand_id) != (arguments["user_id"], arguments["brand_id"]):
        raise BrandMismatch("The event's token belongs to another user or brand.")
    if active_user(principal.user_id, principal) is None:
        raise TokenInvalid
    return True
