"""A customer's own profile: name, language, phone, birthday and notification preferences; and its erasure."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.audit_log import AuditContext
from brands.identity import login_throttle
from brands.identity.authentication import changing_own_brand, for_own_brand, principal_of
from brands.models.people import User
from core.api.inputs import Input, SwitchField
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.outputs import Output, data_output
from core.errors import Invalid
from core.redis import rate_limits
from core.web import client_address
from loyalty.members import erasure, profile
from loyalty.models.notifications import Channel, Language, Topic

PHONE = r"^(\+[1-9][0-9]{6,14})?$"
LANGUAGES = ["", *Language.values]


SWITCHES = {"email": True, "sms": True, "push": False}
PROFILE = {
    "user_id": 42,
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "phone": "+4930123456",
    "language": "de",
    "birthday": "12-31",
    "notifications": {"points": SWITCHES, "offers": SWITCHES, "safety": SWITCHES},
}


def switches(topic: str) -> serializers.Serializer[Any]:
    """The switches of one topic: each channel on or off."""
    fields = {channel.value: SwitchField(required=False) for channel in Channel}
    kind: type[Input] = type(f"{topic.title()}Switches", (Input,), fields)
    return kind(required=False)


NotificationsInput = type("NotificationsInput", (Input,), {topic.value: switches(topic.value) for topic in Topic})


class ProfileInput(Input):
    """Fields that are left out stay unchanged; an empty text removes a value."""

    first_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    last_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    phone = serializers.RegexField(PHONE, required=False, allow_blank=True, max_length=16)
    language = serializers.ChoiceField(choices=LANGUAGES, required=False, allow_blank=True)
    birthday = serializers.CharField(
        required=False,
        max_length=10,
        allow_blank=True,
        help_text="`MM-DD`. Of a full date, `YYYY-MM-DD`, the year is not stored.",
    )
    notifications = NotificationsInput(required=False)


class ProfileData(Output):
    user_id = serializers.IntegerField(source="user.pk")
    email = serializers.EmailField(source="user.email")
    first_name = serializers.CharField(source="fields.first_name", allow_blank=True)
    last_name = serializers.CharField(source="fields.last_name", allow_blank=True)
    phone = serializers.CharField(source="fields.phone", allow_blank=True)
    language = serializers.CharField(
        source="fields.language", allow_blank=True, help_text="Empty for the brand's language."
    )
    birthday = serializers.CharField(source="fields.birthday", allow_blank=True, help_text="`MM-DD`, without a year.")
    notifications = serializers.DictField(
        source="preferences.switches",
        child=serializers.DictField(child=serializers.BooleanField()),
        help_text="Whether the customer gets notifications, by topic and channel.",
    )


ProfileOutput = data_output(ProfileData)


class ProfileView(APIView):
    """The customer's own profile at the token's brand."""

    @endpoint(
        "read_profile",
        tag="Account",
        summary="Read my profile",
        needs=[BEARER],
        responses=ProfileOutput,
        examples=[data_example("A customer", PROFILE)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Return the customer's name, phone, language, birthday and notification preferences at the token's brand."""
        principal = principal_of(request, rate_limit="read")
        result = profile.read(user_id=principal.user_id, brand_id=principal.brand_id)
        return Response(ProfileOutput.serialize(result))

    @endpoint(
        "change_profile",
        tag="Account",
        summary="Change my profile",
        needs=[BEARER],
        request=ProfileInput,
        responses=ProfileOutput,
        examples=[
            request_example(
                "Some fields", {"first_name": "Ada", "language": "de", "notifications": {"offers": {"push": False}}}
            ),
            data_example("Changed", PROFILE),
        ],
    )
    @changing_own_brand
    def patch(self, request: Request) -> Response:
        """Change the fields that are sent; others stay unchanged. Filling in an empty field may earn points.

        A birthday that is entered or changed too shortly before the day earns points from the next year on.

        A name that differs from the one that this brand shows changes at every brand. Recalls are always sent by
        e-mail, so that switch cannot be turned off.
        """
        principal = principal_of(request, rate_limit="read")
        if request.META.get("CONTENT_LENGTH") in {None, "", "0"}:
            raise Invalid(_("Send at least one field to change."))
        data = ProfileInput.parse(request.data)
        choices = data.pop("notifications", None)
        changed = profile.change(
            user_id=principal.user_id, brand_id=principal.brand_id, fields=data, switches=choices, at=timezone.now()
        )
        return Response(ProfileOutput.serialize(changed))


class ErasureInput(Input):
    password = serializers.CharField(max_length=256, trim_whitespace=False)


class Me(APIView):
    """The customer's own membership at the token's brand."""

    @endpoint(
        "erase_me",
        tag="Account",
        summary="Erase my data",
        needs=[BEARER],
        calls=[erasure.erase_own],
        request=ErasureInput,
        responses={204: None},
        examples=[request_example("The password", {"password": "a long pass phrase"})],
    )
    @changing_own_brand
    def delete(self, request: Request) -> Response:
        """Leave the token's brand: name, addresses, devices, passes and places are erased for good.

        The ledger retains its amounts under a pseudonym. Points are lost, and every session ends. A customer of other
        brands remains one. A wrong password counts as a failed login.
        """
        principal = principal_of(request)
        network, throttle = client_address.client_address(request), login_throttle.at_brand(principal.brand_id)
        rate_limits.hit("login_address", network)
        rate_limits.hit("login", "address", throttle, network)
        data = ErasureInput.parse(request.data)
        email = User.objects.values_list("email", flat=True).get(pk=principal.user_id)
        session = principal.session or f"user {principal.user_id}"
        attempt = login_throttle.begin(endpoint=throttle, email=email, network=network, session=session)
        context = AuditContext(None, timezone.now(), getattr(request, "request_id", ""))
        erasure.erase_own(
            user_id=principal.user_id, brand_id=principal.brand_id, password=data["password"], audit_context=context
        )
        attempt.succeeded()
        return Response(status=204)
