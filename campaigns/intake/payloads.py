"""The schemas of events' payloads (spec section 6; for kinds that the spec leaves open, docs/events.md)."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from core.api.inputs import ID, MONEY, Input, MomentInput


class ProductInput(Input):
    productId = serializers.IntegerField(required=False, **ID)  # noqa: N815 - the spec's name
    authCode = serializers.CharField(max_length=500)  # noqa: N815
    title = serializers.CharField(required=False, max_length=200, allow_blank=True)
    retailPrice = serializers.DecimalField(required=False, allow_null=True, **MONEY)  # noqa: N815
    redeem_point_value = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=99_999_999)


class LocationInput(Input):
    """Send latitude and longitude, in degrees, together or not at all.

    City and region are accepted only from a hub key; for other callers they are derived from the coordinates.
    """

    latitude = serializers.FloatField(required=False, allow_null=True, min_value=-90, max_value=90)
    longitude = serializers.FloatField(required=False, allow_null=True, min_value=-180, max_value=180)
    city = serializers.CharField(required=False, max_length=100, allow_blank=True)
    region = serializers.CharField(required=False, max_length=100, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs.get("latitude") is None) != (attrs.get("longitude") is None):
            raise serializers.ValidationError(_("Send latitude and longitude together, or neither."))
        return attrs


class ScanPayload(Input):
    type = serializers.ChoiceField(choices=["authenticator_scan"])
    product = ProductInput()
    location = LocationInput(required=False, allow_null=True)
    timestamp = MomentInput(required=False)


class ItemInput(Input):
    productId = serializers.IntegerField(required=False, **ID)  # noqa: N815
    sku = serializers.CharField(required=False, max_length=64)
    quantity = serializers.IntegerField(min_value=1, max_value=1_000_000)
    unitPrice = serializers.DecimalField(**MONEY)  # noqa: N815


class OrderIdInput(Input):
    orderId = serializers.RegexField(r"^[\w.:/-]{1,200}$")  # noqa: N815
    currency = serializers.RegexField(r"^[A-Z]{3}$", required=False)


class OrderInput(OrderIdInput):
    subtotal = serializers.DecimalField(**MONEY)
    discount = serializers.DecimalField(required=False, allow_null=True, **MONEY)
    total = serializers.DecimalField(required=False, **MONEY)
    items = ItemInput(many=True, required=False)
    channel = serializers.CharField(required=False, max_length=60)


class OrderPayload(Input):
    type = serializers.ChoiceField(choices=["order"])
    order = OrderInput()
    timestamp = MomentInput(required=False)


class ReturnedItemInput(Input):
    """A quantity of an item of the order, identified as in the order."""

    productId = serializers.IntegerField(required=False, **ID)  # noqa: N815
    sku = serializers.CharField(required=False, max_length=64)
    quantity = serializers.IntegerField(min_value=1, max_value=1_000_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "productId" not in attrs and "sku" not in attrs:
            raise serializers.ValidationError(_("Send productId or sku."))
        return attrs


class OrderReturnPayload(Input):
    """A returned order: by `amount`, in the order's currency, by `items`, or with neither, everything that is left."""

    type = serializers.ChoiceField(choices=["order-return"])
    order = OrderIdInput()
    returnId = serializers.RegexField(r"^[\w.:/-]{1,40}$", required=False)  # noqa: N815
    amount = serializers.DecimalField(required=False, **MONEY)
    items = ReturnedItemInput(many=True, required=False)
    timestamp = MomentInput(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_partial = "amount" in attrs or bool(attrs.get("items"))
        if "amount" in attrs and attrs.get("items"):
            raise serializers.ValidationError({"items": _("Send amount or items, not both.")})
        if is_partial and "returnId" not in attrs:
            raise serializers.ValidationError({"returnId": _("A partial return needs an id of its own.")})
        if "amount" in attrs and not attrs["amount"]:
            raise serializers.ValidationError({"amount": _("Send an amount above 0.")})
        return attrs


class OrderCancellationPayload(Input):
    """An order that is cancelled as a whole."""

    type = serializers.ChoiceField(choices=["order-cancellation"])
    order = OrderIdInput()
    returnId = serializers.RegexField(r"^[\w.:/-]{1,40}$", required=False)  # noqa: N815
    timestamp = MomentInput(required=False)


class OrderDeliveryPayload(Input):
    type = serializers.ChoiceField(choices=["order-delivery"])
    order = OrderIdInput()
    timestamp = MomentInput(required=False)


class ProfilePayload(Input):
    """The names of the fields only, without what the customer entered."""

    type = serializers.ChoiceField(choices=["profile"])
    changedFields = serializers.ListField(  # noqa: N815
        child=serializers.RegexField(r"^[A-Za-z0-9_.-]{1,64}$"), required=False, max_length=100
    )
    completedFields = serializers.ListField(  # noqa: N815
        child=serializers.RegexField(r"^[A-Za-z0-9_.-]{1,64}$"), required=False, max_length=100
    )
    timestamp = MomentInput(required=False)


class LoginPayload(Input):
    type = serializers.ChoiceField(choices=["login"])
    sessionId = serializers.CharField(required=False, max_length=120)  # noqa: N815
    channel = serializers.CharField(required=False, max_length=60)
    timestamp = MomentInput(required=False)


PAYLOADS: dict[str, type[Input]] = {
    "scan-auth": ScanPayload,
    "order-complete": OrderPayload,
    "order-returned": OrderReturnPayload,
    "order-cancelled": OrderCancellationPayload,
    "order-delivered": OrderDeliveryPayload,
    "log-user-profile-update": ProfilePayload,
    "log-user-login": LoginPayload,
}
KIND_OF_TYPE = {
    "authenticator_scan": "scan-auth",
    "order": "order-complete",
    "profile": "log-user-profile-update",
    "login": "log-user-login",
}
