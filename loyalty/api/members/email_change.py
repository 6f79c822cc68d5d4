"""A customer's new e-mail address: the customer requests it, and confirms it with a link sent to the new address."""

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity import login_records, login_throttle
from brands.identity.authentication import principal_of
from brands.models.people import User
from brands.models.tenants import Brand
from core import mail
from core.api.inputs import Input
from core.api.openapi.endpoint import BEARER, PUBLIC, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, SuccessField, TimestampField
from core.api.tokenless_views import TokenlessView
from core.errors import NotFound
from core.redis import rate_limits
from core.web import client_address
from loyalty.api.members.registration import LINK_TEXT, count_mail
from loyalty.members import confirmations


class EmailChangeInput(Input):
    email = serializers.EmailField(max_length=254, help_text="The new address of the account.")

    def validate_email(self, email: str) -> str:
        mail.validate_address(email)
        return email.lower()


class EmailChangeOutput(Output):
    success = SuccessField()
    expires_at = TimestampField(help_text="When the link expires.")


class ConfirmEmailChangeInput(Input):
    token = serializers.CharField(max_length=500, help_text=LINK_TEXT)
    password = serializers.CharField(max_length=256, trim_whitespace=False)


class ConfirmEmailChangeOutput(Output):
    success = SuccessField()


class EmailChange(APIView):
    """Request another address."""

    @endpoint(
        "change_email",
        tag="Account",
        summary="Request an e-mail address change",
        needs=[BEARER],
        raises=[NotFound],
        request=EmailChangeInput,
        responses={202: EmailChangeOutput},
        examples=[
            request_example("Another address", {"email": "ada@lovelace.example"}),
            answer_example("Link queued", {"success": True, "expires_at": WHEN}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Send a link to the new address and a notification to the current one.

        The answer is the same if another account already uses the new address. The address changes only when the link
        is opened and the password entered (`confirm_email_change`).
        """
        principal = principal_of(request)
        data = EmailChangeInput.parse(request.data)
        user = User.objects.get(pk=principal.user_id)
        count_mail(request, principal.brand_id, user.email)
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        made = confirmations.begin_change(user=user, brand=brand, email=data["email"], at=timezone.now())
        return Response(EmailChangeOutput.serialize(made), status=202)


class ConfirmEmailChange(TokenlessView):
    """Change an account's address."""

    @endpoint(
        "confirm_email_change",
        tag="Account",
        summary="Confirm an e-mail address change",
        needs=[PUBLIC],
        request=ConfirmEmailChangeInput,
        responses=ConfirmEmailChangeOutput,
        examples=[
            request_example("By the link", {"token": "eyJjIjoiMCJ9:1rk2xM:8sVf", "password": "a long pass phrase"}),
            answer_example("Changed", {"success": True}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Change the account's address to the one that the link was sent to. Needs the link's token and the password.

        All sessions of the account end. A link allows five attempts and expires after 30 minutes. All links of a brand
        together allow as many wrong passwords a day as its login.
        """
        network = client_address.client_address(request)
        rate_limits.hit("login", "address", network)
        data = ConfirmEmailChangeInput.parse(request.data)
        now, request_id = timezone.now(), getattr(request, "request_id", "")
        change = confirmations.open_change(data["token"], at=now)
        throttle = login_throttle.at_email_change(change.brand_id)
        attempt = login_throttle.begin(endpoint=throttle, email=change.previous_email, network=network)
        try:
            confirmations.finish_change(token=data["token"], password=data["password"], at=now, request_id=request_id)
        except confirmations.WrongPassword:
            login_records.failed_email_change(attempt=attempt, brand=change.brand, at=now, request_id=request_id)
            raise
        attempt.succeeded()
        return Response(ConfirmEmailChangeOutput.serialize(None))
