"""Transfers of points between customers."""

from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, for_own_brand, principal_of
from core.api.idempotency import REQUIRED_IDEMPOTENCY_HEADER, idempotent_id, required_idempotency_key
from core.api.inputs import Input, one_line
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField, data_output
from loyalty.errors import UserNotEnrolled
from loyalty.members import numbers
from loyalty.points import accounts, transfers
from loyalty.points.transfers import TransferRequest

NUMBER = "0000000042.Qm9vdHMgYW5kIGphY2tldHM"
SENT = {"transfer_id": 311, "points": 50, "new_balance": 270, "created_at": WHEN}


class TransferInput(Input):
    receiver = serializers.CharField(
        max_length=120,
        validators=[one_line],
        help_text="The receiver's number, from their wallet pass's barcode or `GET /customer/loyalty/number`.",
    )
    points = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=0, help_text="More than 0, with at most 2 decimal places."
    )

    def validate_points(self, value: Decimal) -> Decimal:
        if not value:
            raise serializers.ValidationError(_("Send an amount above 0."))
        return value


class TransferData(Output):
    transfer_id = serializers.IntegerField(source="pk")
    points = PointsField(help_text="Points that were given.")
    new_balance = PointsField(source="balance_after", help_text="The sender's balance after the transfer.")
    created_at = TimestampField()


TransferOutput = data_output(TransferData)


class Transfers(APIView):
    """Transfer points to another member."""

    @endpoint(
        "give_points",
        tag="Points",
        summary="Give points to another member",
        needs=[BEARER],
        calls=[transfers.transfer],
        parameters=[REQUIRED_IDEMPOTENCY_HEADER],
        request=TransferInput,
        responses={201: TransferOutput},
        examples=[
            request_example("50 points", {"receiver": NUMBER, "points": 50}),
            data_example("Given", SENT),
        ],
    )
    @changing_own_brand
    def post(self, request: Request) -> Response:
        """Give points to another member of the token's brand, if the brand allows it.

        Both balances change together or not at all. Repeating a request with the same key returns the same answer. The
        points that a member can give per day are limited, and points received from others cannot be passed on. The
        receiver is notified without the sender's name, and does not reach a higher level. RECEIVER_NOT_FOUND does not
        reveal the reason: the number may not exist, or its member may not receive points.
        """
        principal = principal_of(request, rate_limit="transfer")
        key = required_idempotency_key(request)
        body = TransferInput.parse(request.data)
        made = transfers.transfer(
            TransferRequest(
                brand_id=principal.brand_id,
                user_id=principal.user_id,
                receiver=numbers.read(body["receiver"]),
                points=body["points"],
                key=idempotent_id("transfer", principal.brand_id, principal.user_id, key),
                at=timezone.now(),
            )
        )
        return Response(TransferOutput.serialize(made), status=201)


class NumberData(Output):
    number = serializers.CharField(help_text="Signed, so it cannot be forged. Show it as text or as a QR code.")


NumberOutput = data_output(NumberData)


class Number(APIView):
    """The customer's own number."""

    @endpoint(
        "read_number",
        tag="Points",
        summary="Read my number",
        needs=[BEARER],
        raises=[UserNotEnrolled],
        responses=NumberOutput,
        examples=[data_example("The number", {"number": NUMBER})],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Return the customer's number at the token's brand, the barcode of their wallet pass, for receiving points."""
        principal = principal_of(request, rate_limit="read")
        account = accounts.account_of(brand_id=principal.brand_id, user_id=principal.user_id)
        if account is None:
            raise UserNotEnrolled
        return Response(NumberOutput.serialize({"number": numbers.barcode(account.pk)}))
