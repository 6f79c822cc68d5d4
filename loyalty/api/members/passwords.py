"""A forgotten password over HTTP: request a link, and set a new password with it."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.inputs import Input
from core.api.openapi.endpoint import KEY, PUBLIC, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import LINK_TOKEN
from core.api.outputs import DoneOutput
from core.api.tokenless_views import TokenlessView
from core.redis import rate_limits
from core.web import client_address
from loyalty.api.members.sessions import ORIGIN_PARAMETER, CredentialsInput, brand_of, named_brand
from loyalty.members import passwords


class ForgotPasswordInput(CredentialsInput):
    password = None  # type: ignore[assignment] # how DRF leaves out an inherited field


class NewPasswordInput(Input):
    token = serializers.CharField(max_length=500, help_text="The last part of the link's address.")
    password = serializers.CharField(max_length=256, trim_whitespace=False)


class ForgotPassword(TokenlessView):
    """Send a link with which a customer sets a new password."""

    @endpoint(
        "forgot_password",
        tag="Tokens",
        summary="Request a link to set a new password",
        needs=[PUBLIC, KEY],
        calls=[named_brand],
        parameters=[ORIGIN_PARAMETER],
        request=ForgotPasswordInput,
        responses={202: DoneOutput},
        examples=[
            request_example("At a brand", {"email": "ada@example.com", "brand_id": 7}),
            answer_example("Whether the address is known or not", {"success": True}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Send a link to a customer of a brand: that of the `api-key`, else `brand_id`, else the one whose hostname was
        called.

        The answer is the same for every address, so it does not reveal which are known. The link opens the brand's
        page; it works once, within 30 minutes. At most one e-mail is sent in five minutes, however often this is
        called. Staff get none: an owner or the operator gives them a password.
        """
        network = client_address.client_address(request)
        rate_limits.hit("login", "address", network)
        data = ForgotPasswordInput.parse(request.data)
        brand = brand_of(request, named=named_brand(request, stated=data.get("brand_id")))
        rate_limits.hit("login", "forgotten", brand.pk, data["email"], network)
        passwords.send_reset_link(email=data["email"], brand=brand, at=timezone.now())
        return Response(DoneOutput.serialize(None), status=202)


class ResetPassword(TokenlessView):
    """Set a new password with an e-mailed link."""

    @endpoint(
        "reset_password",
        tag="Tokens",
        summary="Set a new password",
        needs=[PUBLIC],
        request=NewPasswordInput,
        responses=DoneOutput,
        examples=[
            request_example("From the link", {"token": LINK_TOKEN, "password": "another long pass phrase"}),
            answer_example("Set", {"success": True}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Set a new password with the token from a link. It ends all sessions of the customer.

        `password` must have at least 10 characters, and must not be common, all digits, or like the name or address.
        """
        rate_limits.hit("login", "address", client_address.client_address(request))
        data = NewPasswordInput.parse(request.data)
        passwords.reset(token=data["token"], password=data["password"], at=timezone.now())
        return Response(DoneOutput.serialize(None))
