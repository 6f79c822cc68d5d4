"""Registration of customers, and confirmation of their e-mail addresses."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import principal_of
from brands.models.people import User
from brands.models.tenants import Brand
from core import languages, mail
from core.api.inputs import ID, Input, SwitchField
from core.api.openapi.endpoint import BEARER, KEY, PUBLIC, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import LINK_TOKEN, LOG_IN, SCAN_ID, TOKENS, WHEN
from core.api.outputs import Output, SuccessField, TimestampField
from core.api.tokenless_views import TokenlessView
from core.errors import AuthenticationRequired, NotFound
from core.redis import rate_limits
from core.web import client_address
from loyalty.api.members.legal_texts import MAX_TEXTS
from loyalty.api.members.sessions import (
    ORIGIN_PARAMETER,
    CredentialsInput,
    TokensOutput,
    answer_tokens,
    brand_of,
    named_brand,
)
from loyalty.members import confirmations, consents, sessions

CODE_TEXT = "The six digits from the e-mail; spaces do not matter."
LINK_TEXT = "The last part of the link's address."


class RegisterInput(CredentialsInput):
    """`password` must have at least 10 characters, and must not be common, all digits, or like the name or address."""

    first_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    last_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    consented = SwitchField(
        required=False,
        help_text="Whether the customer accepted the brand's terms and saw its privacy notice. This is recorded.",
    )
    legal_texts = serializers.ListField(
        child=serializers.IntegerField(**ID),
        required=False,
        max_length=MAX_TEXTS,
        help_text="With `consented`: the ids of the texts that the customer was shown, from `read_legal_texts`. "
        "Defaults to those in force in the language of the request.",
    )
    referral_code = serializers.CharField(
        required=False,
        max_length=40,
        allow_blank=True,
        help_text="The code of the member who referred the customer. Spaces, hyphens and case do not matter.",
    )

    def validate_email(self, email: str) -> str:
        mail.validate_address(email)
        return super().validate_email(email)


class RegisteredOutput(Output):
    success = SuccessField()
    user_id = serializers.IntegerField(help_text="The id of the account, once its address is confirmed.")
    registration_id = serializers.UUIDField(
        source="confirmation_id",
        allow_null=True,
        help_text="Send it with the code from the e-mail; null if no code is needed.",
    )
    expires_at = TimestampField(allow_null=True, help_text="When the code expires.")
    legal_texts = serializers.ListField(
        child=serializers.IntegerField(), help_text="The ids of the brand's texts whose acceptance is recorded."
    )


class ProofInput(Input):
    """What the e-mail contains: the code, or the link's token."""

    code = serializers.CharField(required=False, max_length=20, help_text=CODE_TEXT)
    token = serializers.CharField(required=False, max_length=500, help_text=LINK_TEXT)

    def validate_code(self, code: str) -> str:
        return "".join(code.split())

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("code" in data) == ("token" in data):
            raise serializers.ValidationError(_("Send either the code or the link's token."))
        return data


class ConfirmRegistrationInput(ProofInput):
    """`registration_id` and `code`; or the link's `token` with the `password` that was registered."""

    registration_id = serializers.UUIDField(required=False)
    password = serializers.CharField(required=False, max_length=256, trim_whitespace=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        data = super().validate(data)
        needed = "registration_id" if "code" in data else "password"
        if needed not in data:
            raise serializers.ValidationError({needed: [_("This field is required.")]})
        return data


class VerificationOutput(Output):
    success = SuccessField()
    email_verified_at = TimestampField(allow_null=True, help_text="Null until the address is confirmed.")


def count_mail(request: Request, brand_id: int, email: str) -> None:
    """Raises RateLimited if one network requests too many mails to an address.

    Requests from other networks do not count here. The worker limits the mails to one mailbox.
    """
    network = client_address.client_address(request)
    rate_limits.hit("account_mail", email, network)
    rate_limits.hit("account_mail_address", brand_id, email, network)


def consent_of(brand: Brand, data: dict[str, Any], at: datetime) -> dict[str, Any] | None:
    """The customer's consent, removed from the request's data. Raises Invalid for texts not in force."""
    text_ids, consented = data.pop("legal_texts", None), data.pop("consented", False)
    if not consented:
        return None
    language = languages.decide() if brand.has_legal_texts else ""
    return consents.requested_consent(brand=brand, text_ids=text_ids, language=language, at=at)


REGISTER_EXAMPLES = [
    request_example("A new customer", {**LOG_IN, "first_name": "Ada", "last_name": "Lovelace"}),
    request_example("Referred by a member", {**LOG_IN, "referral_code": "K7QM-3WXD"}),
    answer_example(
        "Whether the address is known or not",
        {
            "success": True,
            "user_id": 42,
            "registration_id": SCAN_ID,
            "expires_at": WHEN,
            "legal_texts": [7, 9],
        },
    ),
    answer_example(
        "Without confirmation of addresses",
        {
            "success": True,
            "user_id": 42,
            "registration_id": None,
            "expires_at": None,
            "legal_texts": [],
        },
    ),
]


class Register(TokenlessView):
    """Become a customer of a brand."""

    @endpoint(
        "register",
        tag="Tokens",
        summary="Register as a customer",
        needs=[PUBLIC, KEY],
        calls=[named_brand, sessions.begin_registration],
        parameters=[ORIGIN_PARAMETER],
        request=RegisterInput,
        responses={201: RegisteredOutput},
        examples=REGISTER_EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        """Register with a brand: that of the `api-key`, else `brand_id`, else the one whose hostname was called.

        A code is sent to the e-mail address. `confirm_registration`, with the code and `registration_id`, creates the
        account, enrols it if the brand enrols customers automatically, and logs in. The answer is the same for every
        address: anyone who already has an account is informed by e-mail.

        If the customer `consented`, the texts of the brand that they accepted are recorded with the time: those in
        `legal_texts`, or by default those in force.

        An unknown `referral_code` is an error, and nothing is registered. Whether a valid one earns points is decided
        later.

        If the installation does not confirm addresses, `registration_id` is null, and the account is created at once.
        """
        rate_limits.hit("register", client_address.client_address(request))
        data = RegisterInput.parse(request.data)
        brand = brand_of(request, named=named_brand(request, stated=data.pop("brand_id", None)))
        if data.get("referral_code"):
            rate_limits.hit("referral_code", client_address.client_address(request))
        at = timezone.now()
        consent = consent_of(brand, data, at)
        agreed = {"legal_texts": consent["legal_texts"] if consent else []}
        if not settings.REGISTRATION_CONFIRMS_EMAIL:
            made = {"user_id": sessions.register(brand=brand, at=at, consent=consent, **data).pk}
            return Response(
                RegisteredOutput.serialize({"confirmation_id": None, "expires_at": None, **made, **agreed}), status=201
            )
        count_mail(request, brand.pk, data["email"])
        begun = sessions.begin_registration(brand=brand, at=at, consent=consent, **data)
        return Response(RegisteredOutput.serialize({**asdict(begun), **agreed}), status=201)


class ConfirmRegistration(TokenlessView):
    """Exchange the code of a registration for an account and tokens."""

    @endpoint(
        "confirm_registration",
        tag="Tokens",
        summary="Confirm a registration",
        needs=[PUBLIC],
        request=ConfirmRegistrationInput,
        responses={201: TokensOutput},
        examples=[
            request_example("By the code", {"registration_id": SCAN_ID, "code": "048 213"}),
            request_example("By the link", {"token": LINK_TOKEN, "password": "a long pass phrase"}),
            answer_example("Account created", TOKENS),
        ],
    )
    def post(self, request: Request) -> Response:
        """Create the account of a registration and log in: by the mailed code with `registration_id`, or by the mailed
        link's token with the password that was registered.

        A registration allows five attempts, and expires after 30 minutes.
        """
        rate_limits.hit("login", "address", client_address.client_address(request))
        data = ConfirmRegistrationInput.parse(request.data)
        at = timezone.now()
        if "code" in data:
            user, brand = confirmations.finish_registration(
                confirmation_id=data["registration_id"], code=data["code"], at=at
            )
        else:
            user, brand = confirmations.finish_registration_by_link(
                token=data["token"], password=data["password"], at=at
            )
        pair = sessions.log_in(user=user, brand=brand, channel="app", at=at)
        return answer_tokens(pair, device_of=user, status=201)


class SendVerification(APIView):
    """Send a code to the customer's own address."""

    @endpoint(
        "send_email_verification",
        tag="Tokens",
        summary="Request a code to confirm the e-mail address",
        needs=[BEARER],
        raises=[NotFound],
        request=None,
        responses={202: VerificationOutput},
        examples=[answer_example("Sent", {"success": True, "email_verified_at": None})],
    )
    def post(self, request: Request) -> Response:
        """Send a code and a link to the customer's address. Nothing is sent if the address is already confirmed."""
        principal = principal_of(request)
        user = User.objects.get(pk=principal.user_id)
        if user.email_verified_at is None:
            count_mail(request, principal.brand_id, user.email)
            brand = get_object_or_404(Brand, pk=principal.brand_id)
            confirmations.begin_verification(user=user, brand=brand, at=timezone.now())
        return Response(VerificationOutput.serialize(user), status=202)


class ConfirmVerification(APIView):
    """Confirm that the address is the customer's own."""

    permission_classes = (AllowAny,)

    @endpoint(
        "confirm_email",
        tag="Tokens",
        summary="Confirm the e-mail address",
        needs=[BEARER, PUBLIC],
        raises=[AuthenticationRequired],
        request=ProofInput,
        responses=VerificationOutput,
        examples=[
            request_example("By the code", {"code": "048 213"}),
            request_example("By the link", {"token": LINK_TOKEN}),
            answer_example("Confirmed", {"success": True, "email_verified_at": WHEN}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Confirm that the address is the customer's, by the code and their access token, or by the link's token alone.

        A code allows five attempts, and expires after 30 minutes.
        """
        rate_limits.hit("login", "address", client_address.client_address(request))
        data = ProofInput.parse(request.data)
        if "token" in data:
            user = confirmations.confirm_by_link(token=data["token"], at=timezone.now())
            return Response(VerificationOutput.serialize(user))
        if request.auth is None:
            raise AuthenticationRequired
        principal = principal_of(request)
        user = User.objects.get(pk=principal.user_id)
        if user.email_verified_at is None:
            user = confirmations.confirm(user=user, brand_id=principal.brand_id, code=data["code"], at=timezone.now())
        return Response(VerificationOutput.serialize(user))
