"""Tokens: log in, refresh, revoke."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.errors import ApiKeyInvalid, BrandMismatch
from brands.identity import login_records, login_throttle, tokens
from brands.identity.authentication import caller_of
from brands.identity.tokens import TokenPair
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants import request_brands
from brands.tenants.hostnames import brand_for_hostname
from core.api.inputs import ID, Input
from core.api.openapi.endpoint import KEY, PUBLIC, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import LOG_IN, REFRESH, TOKENS
from core.api.outputs import Output
from core.api.tokenless_views import TokenlessView
from core.errors import Invalid, raises
from core.redis import rate_limits
from core.web import client_address
from loyalty.members import sessions

MAX_EMAIL_LENGTH = 254
ORIGIN_PARAMETER = OpenApiParameter(
    "origin", str, OpenApiParameter.HEADER, description="A hostname of the brand. Browsers send it automatically."
)


class CredentialsInput(Input):
    email = serializers.EmailField(max_length=MAX_EMAIL_LENGTH)
    password = serializers.CharField(max_length=256, trim_whitespace=False)
    brand_id = serializers.IntegerField(required=False, **ID)

    def validate_email(self, email: str) -> str:
        """Lowercase the address, as it is stored. Checks the length again, because some letters become longer."""
        if len(email.lower()) > MAX_EMAIL_LENGTH:
            message = serializers.CharField.default_error_messages["max_length"].format(max_length=MAX_EMAIL_LENGTH)
            raise serializers.ValidationError(message)
        return email.lower()


class LoginInput(CredentialsInput):
    device_token = serializers.CharField(
        required=False,
        max_length=login_throttle.MAX_DEVICE_TOKEN_LENGTH,
        allow_blank=True,
        help_text="From this device's last login. With it, wrong passwords from other devices do not block the login.",
    )


class RefreshInput(Input):
    refresh = serializers.CharField(max_length=4096)


class TokenTypeField(serializers.ChoiceField):
    """The type of an access token, which is always Bearer."""

    def get_attribute(self, instance: Any) -> str:
        return "Bearer"


class TokensOutput(Output):
    access = serializers.CharField()
    refresh = serializers.CharField()
    token_type = TokenTypeField(choices=["Bearer"])
    expires_in = serializers.IntegerField(help_text="Seconds until the access token expires.")
    user_id = serializers.IntegerField()
    brand_id = serializers.IntegerField()
    device_token = serializers.CharField(
        required=False, help_text="Only from a login. Store it, and send it with the next login on this device."
    )


def answer_tokens(pair: TokenPair, *, device_of: User | None = None, status: int = 200) -> Response:
    """The tokens, plus a device token if `device_of` has logged in."""
    request_brands.note(request_brands.ANSWER, (pair.brand_id,))
    device = {"device_token": login_throttle.make_device(device_of)} if device_of else {}
    body = TokensOutput.serialize({**asdict(pair), **device})
    return Response(body, status=status, headers={"Cache-Control": "no-store"})


@raises(BrandMismatch, ApiKeyInvalid)
def named_brand(request: Request, *, stated: int | None) -> int | None:
    """The id of the key's brand, else `stated`, else None. Raises BrandMismatch and ApiKeyInvalid."""
    caller = caller_of(request)
    if caller and stated not in {None, caller.brand_id}:
        raise BrandMismatch
    return caller.brand_id if caller else stated


def brand_of(request: Request, *, named: int | None, user: User | None = None) -> Brand:
    """The brand with the id `named`, else the one of the called hostname, else the customer's only brand.

    Raises Invalid if none of these determines a brand.
    """
    result = brand_of_request(request, named=named) or (_only_brand_of(user) if named is None else None)
    if result is None:
        raise Invalid(_("Name the brand: send brand_id, or the api-key of its app."), details={"field": "brand_id"})
    return result


def brand_of_request(request: Request, *, named: int | None) -> Brand | None:
    """Like brand_of, for requests without a known user."""
    return brand_for_hostname(_called(request)) if named is None else Brand.objects.filter(pk=named).first()


def _called(request: Request) -> str:
    """The host and port of the request's origin, else of the request itself."""
    try:
        return urlsplit(request.headers.get("origin") or f"//{request.get_host()}").netloc
    except ValueError:  # an origin like `http://[` is not a valid URL
        return ""


def _only_brand_of(user: User | None) -> Brand | None:
    is_customer = Q(members__user=user) | Q(registered_users=user)
    rows = list(Brand.objects.filter(is_customer).distinct()[:2]) if user else []
    return rows[0] if len(rows) == 1 else None


class Login(TokenlessView):
    """Exchange an e-mail address and a password for an access token and a refresh token."""

    @endpoint(
        "log_in",
        tag="Tokens",
        summary="Log in",
        needs=[PUBLIC, KEY],
        calls=[named_brand, sessions.check_password, sessions.log_in],
        parameters=[ORIGIN_PARAMETER],
        request=LoginInput,
        responses=TokensOutput,
        examples=[
            request_example("At a brand", LOG_IN),
            request_example(
                "By the app's key or hostname", {"email": "ada@example.com", "password": "a long pass phrase"}
            ),
            answer_example("Tokens", TOKENS),
        ],
    )
    def post(self, request: Request) -> Response:
        """Exchange an e-mail address and a password for an access token and a refresh token.

        The tokens are for the user at one brand: that of the `api-key`, else `brand_id`, else the one whose hostname is
        the request's origin or host, else the only one where the user is a customer. The answer does not reveal which
        e-mail addresses are known. Staff can log in only to the portal. A customer's first login of the day may earn
        points.

        After five wrong passwords for an address from one network, each attempt must wait, twice as long as the last
        and at most an hour. After 50 in a day from all networks, only devices that send the `device_token` of an
        earlier login may try, until a day has passed or a new password is set.
        """
        network = client_address.client_address(request)
        data = LoginInput.parse(request.data)
        named = named_brand(request, stated=data.get("brand_id"))
        brand_named = brand_of_request(request, named=named)
        throttle = login_throttle.at_brand(brand_named.pk if brand_named else None)
        rate_limits.hit("login_address", network)
        rate_limits.hit("login", "address", throttle, network)
        attempt = login_throttle.begin(
            endpoint=throttle, email=data["email"], network=network, device=data.get("device_token", "")
        )
        try:
            user = sessions.check_password(email=data["email"], password=data["password"])
        except sessions.LoginRejected:
            if brand_named:
                request_id = getattr(request, "request_id", "")
                login_records.failed(attempt=attempt, brand=brand_named, at=timezone.now(), request_id=request_id)
            raise
        attempt.succeeded()
        # Not earlier: whether a brand follows from an address would reveal whether the address is registered.
        brand = brand_of(request, named=named, user=user)
        return answer_tokens(sessions.log_in(user=user, brand=brand, channel="app", at=timezone.now()), device_of=user)


class Refresh(TokenlessView):
    """Exchange a refresh token for new tokens. Each can be used once; using it again later ends the session."""

    @endpoint(
        "refresh_tokens",
        tag="Tokens",
        summary="Refresh the tokens",
        needs=[PUBLIC],
        calls=[tokens.rotate],
        request=RefreshInput,
        responses=TokensOutput,
        examples=[
            request_example("A refresh token", {"refresh": REFRESH}),
            answer_example("Tokens", TOKENS),
        ],
    )
    def post(self, request: Request) -> Response:
        """Exchange a refresh token for a new pair of tokens.

        A refresh token works once. If the answer was lost, the same token returns the same successor for 30 seconds. If
        it is used again later, it must have been copied: the whole session ends, and the user must log in again.
        """
        rate_limits.hit("scan", "refresh", client_address.client_address(request))
        data = RefreshInput.parse(request.data)
        return answer_tokens(tokens.rotate(refresh=data["refresh"], at=timezone.now()))


class Revoke(TokenlessView):
    """End the session of a refresh token: log out."""

    @endpoint(
        "log_out",
        tag="Tokens",
        summary="Log out",
        needs=[PUBLIC],
        calls=[tokens.revoke],
        request=RefreshInput,
        responses={204: None},
        examples=[request_example("A refresh token", {"refresh": REFRESH})],
    )
    def post(self, request: Request) -> Response:
        """End the session of a refresh token, including its access tokens."""
        rate_limits.hit("scan", "refresh", client_address.client_address(request))
        data = RefreshInput.parse(request.data)
        tokens.revoke(refresh=data["refresh"], at=timezone.now())
        return Response(status=204)
