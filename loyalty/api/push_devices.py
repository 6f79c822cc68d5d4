"""Devices: apps register them for push messages, and unregister them."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, principal_of
from core.api.inputs import Input
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField, data_output
from core.errors import NotFound
from loyalty.models.notifications import Device
from loyalty.notifications import devices

PATTERN = r"^[\x21-\x7e]{1,1024}\Z"  # of a device's token
DESCRIPTION = "The device's Firebase Cloud Messaging token."
TOKEN_PARAMETER = OpenApiParameter(
    "token",
    {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": PATTERN.replace(r"\Z", "$")},
    required=True,
    description=DESCRIPTION,
)


class DeviceTokenInput(Input):
    token = serializers.RegexField(PATTERN, max_length=1024, help_text=DESCRIPTION)


class DeviceInput(DeviceTokenInput):
    platform = serializers.ChoiceField(choices=Device.Platform.choices)


class DeviceData(Output):
    platform = serializers.ChoiceField(choices=Device.Platform.choices)
    registered_at = TimestampField()


DeviceOutput = data_output(DeviceData)


class Devices(APIView):
    """The customer's devices at the token's brand."""

    @endpoint(
        "register_device",
        tag="Account",
        summary="Register my device",
        needs=[BEARER],
        request=DeviceInput,
        responses=DeviceOutput,
        examples=[
            request_example("An Android phone", {"token": "fY3kQ9xTRk2:APA91bH8", "platform": "android"}),
            data_example("Registered", {"platform": "android", "registered_at": WHEN}),
        ],
    )
    @changing_own_brand
    def put(self, request: Request) -> Response:
        """Register a device for the customer's push messages from the token's brand.

        Call it when the app starts and whenever the device gets a new token. A device that another customer used before
        is no longer theirs.
        """
        principal = principal_of(request, rate_limit="read")
        data = DeviceInput.parse(request.data)
        made = devices.register(
            user_id=principal.user_id,
            brand_id=principal.brand_id,
            token=data["token"],
            platform=data["platform"],
            at=timezone.now(),
        )
        return Response(DeviceOutput.serialize(made))

    @endpoint(
        "remove_device",
        tag="Account",
        summary="Remove my device",
        needs=[BEARER],
        raises=[NotFound],
        parameters=[TOKEN_PARAMETER],
        request=None,
        responses={204: None},
    )
    @changing_own_brand
    def delete(self, request: Request) -> Response:
        """Stop sending push messages to this device. Call it when the customer logs out."""
        principal = principal_of(request, rate_limit="read")
        data = DeviceTokenInput.parse({"token": request.query_params.get("token", "")})
        if not devices.remove(user_id=principal.user_id, brand_id=principal.brand_id, token=data["token"]):
            raise NotFound
        return Response(status=204)
