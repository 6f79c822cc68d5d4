"""Enrolment and correction of members by the brand's own systems."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.audit_log import AuditContext
from brands.errors import UserNotFound
from brands.identity.api_keys import Caller
from brands.identity.authentication import for_brand_of_hub
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from core import mail
from core.api.inputs import Input
from core.api.openapi.endpoint import KEY, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField, data_output
from core.api.tokenless_views import TokenlessView
from core.errors import Invalid
from loyalty.members import changes, corrections, enrolment
from loyalty.models.accounts import UserPoints


class EnrolmentInput(Input):
    user_id = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    email = serializers.EmailField(required=False, max_length=254, help_text="Instead of `user_id`.")


class EnrolmentData(Output):
    user_id = serializers.IntegerField(source="member.user_id")
    user_point_id = serializers.IntegerField(source="member.pk", help_text="The member's account.")
    enrolled_at = TimestampField(source="member.enrolled_at")
    created = serializers.BooleanField(help_text="False if the customer was already a member.")


EnrolmentOutput = data_output(EnrolmentData)


ENROL_MEMBER_EXAMPLES = [
    request_example("By user id", {"user_id": 42}),
    request_example("By e-mail address", {"email": "ada@example.com"}),
    data_example("Enrolled", {"user_id": 42, "user_point_id": 7, "enrolled_at": WHEN, "created": True}),
]


class Members(TokenlessView):
    """The brand's members."""

    @endpoint(
        "enrol_member",
        tag="Account",
        summary="Enrol a customer",
        needs=[KEY],
        calls=[Caller.require, enrolment.enrol_one],
        request=EnrolmentInput,
        responses={200: EnrolmentOutput, 201: EnrolmentOutput},
        examples=ENROL_MEMBER_EXAMPLES,
    )
    @for_brand_of_hub(ApiKey.Scope.MEMBERS)
    def post(self, request: Request, caller: Caller) -> Response:
        """Enrol a customer who registered with the brand as a member of its programme.

        Needs a hub key with the scope `members`. For brands that do not enrol customers automatically. Repeating the
        call returns 200, with `created` false. Anyone who did not register with the brand gets USER_NOT_FOUND, even a
        customer of another brand.
        """
        data = EnrolmentInput.parse(request.data)
        user_id, email = data.get("user_id"), data.get("email")
        if (user_id is not None) == bool(email):
            raise Invalid("Send either user_id or email.", details={"field": "user_id"})
        context = AuditContext(None, timezone.now(), getattr(request, "request_id", ""), key_id=caller.key_id)
        brand = Brand.objects.get(pk=caller.brand_id)
        member, created = enrolment.enrol_one(brand=brand, audit_context=context, user_id=user_id, address=email or "")
        enrolled = EnrolmentOutput.serialize({"member": member, "created": created})
        return Response(enrolled, status=201 if created else 200)


class CorrectionInput(Input):
    """Fields that are left out stay unchanged."""

    first_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    last_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    email = serializers.EmailField(
        required=False,
        max_length=254,
        validators=[mail.validate_address],
        help_text="Takes effect once the customer confirms it.",
    )
    reason = serializers.CharField(max_length=500, help_text="Recorded in the audit log.")

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not {"first_name", "last_name", "email"} & data.keys():
            raise serializers.ValidationError("Send first_name, last_name or email.")
        return data


class CorrectedData(Output):
    user_id = serializers.IntegerField()
    first_name = serializers.CharField(allow_blank=True)
    last_name = serializers.CharField(allow_blank=True)
    email = serializers.EmailField()
    unconfirmed_email = serializers.EmailField(
        allow_null=True, help_text="New address that the customer has not confirmed yet."
    )


CorrectedOutput = data_output(CorrectedData)


CORRECT_MEMBER_EXAMPLES = [
    request_example(
        "The name", {"first_name": "Ada", "last_name": "Lovelace", "reason": "Spelt wrong in our shop system"}
    ),
    request_example("The address", {"email": "ada@lovelace.example", "reason": "Ticket 4711"}),
    data_example(
        "Not confirmed yet",
        {
            "user_id": 42,
            "first_name": "Ada",
            "last_name": "Lovelace",
            "email": "ada@example.com",
            "unconfirmed_email": "ada@lovelace.example",
        },
    ),
]


class MemberView(TokenlessView):
    """One of the brand's members."""

    @endpoint(
        "correct_member",
        tag="Account",
        summary="Correct a member's name or address",
        needs=[KEY],
        calls=[Caller.require, changes.change_identity],
        request=CorrectionInput,
        responses=CorrectedOutput,
        examples=CORRECT_MEMBER_EXAMPLES,
    )
    @for_brand_of_hub(ApiKey.Scope.MEMBERS)
    def patch(self, request: Request, caller: Caller, user_id: int) -> Response:
        """Correct a member's name or e-mail address. Needs a hub key with the scope `members`.

        The name changes at once, at this brand only, and at most 20 times a day (`RATE_LIMITED`). The new address
        receives a link, and the current one a notification. The address changes once the customer opens the link and
        enters their password, within 30 minutes.
        """
        data = CorrectionInput.parse(request.data)
        at = timezone.now()
        context = AuditContext(None, at, getattr(request, "request_id", ""), data["reason"], caller.key_id)
        rows = UserPoints.objects.filter(brand=caller.brand_id, user=user_id, user__is_active=True)
        member = rows.select_related("user", "brand").first()
        if member is None:
            raise UserNotFound
        member = changes.change_identity(member=member, values=data, audit_context=context)
        return Response(CorrectedOutput.serialize(corrections.identity_of(member, at=at)))
