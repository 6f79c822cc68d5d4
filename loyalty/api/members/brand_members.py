"""The brand's members over HTTP, for its own systems and staff: search, enrol, change, adjust."""

from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import CharField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Concat, LPad
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, row_output, write_endpoint
from brands.errors import UserNotFound
from brands.identity.roles import ACT, CORRECT
from brands.models.credentials import ApiKey
from core import mail
from core.api.filters import ChoiceFilter, IdFilter, IdsFilter, SinceFilter, TenantFilterSet, TextFilter
from core.api.inputs import ChangeInput, Input, one_line
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Forbidden, Invalid
from loyalty.errors import MemberBlocked, PointsAlreadyClaimed
from loyalty.members import changes, enrolment, numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.members.birthdays import Birthday
from loyalty.models.notifications import NotificationPreference
from loyalty.models.programme.segments import SegmentMember
from loyalty.points import adjustments

LABEL = "loyalty.userpoints"
EXAMPLE = {
    "user_id": 42,
    "external_id": "CRM-1007",
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "phone": "+4930123456",
    "birthday": "12-31",
    "status": "active",
    "points": 320,
    "lifetime": 520,
    "level": "Silver",
    "merged_into": None,
    "level_until": "2026-12-31",
    "period_points": 420,
    "enrolled_at": WHEN,
    "updated_at": WHEN,
}
BIRTHDAY_TEXT = "`MM-DD`. Of a full date, `YYYY-MM-DD`, the year is not stored. Leave empty to remove it."
ADJUSTED = {"user_id": 42, "points": -50, "new_balance": 270, "transaction_id": 90211, "level": "Silver"}


class BrandMemberOutput(Output):
    user_id = serializers.IntegerField()
    external_id = serializers.CharField(allow_blank=True, help_text="The member's id in the brand's own systems.")
    email = serializers.EmailField(source="user.email")
    first_name = serializers.SerializerMethodField()
    last_name = serializers.SerializerMethodField()
    phone = serializers.CharField(allow_blank=True)
    birthday = serializers.CharField(allow_blank=True, help_text="`MM-DD`, without a year.")
    status = serializers.ChoiceField(choices=UserPoints.Status.values)
    points = PointsField(help_text="Current balance.")
    lifetime = PointsField(help_text="Points earned in total, which count for levels without periods.")
    level = serializers.CharField(source="current_level", allow_blank=True)
    merged_into = serializers.IntegerField(
        source="merged_into_user",
        allow_null=True,
        help_text="The `user_id` of the member into whose account this one was merged; otherwise null.",
    )
    level_until = serializers.DateField(
        allow_null=True, help_text="The last day of the level, if the brand's levels have periods; otherwise null."
    )
    period_points = PointsField(help_text="The points that count for levels with periods; otherwise like `lifetime`.")
    enrolled_at = TimestampField()
    updated_at = TimestampField(help_text="When any of these fields last changed at this brand.")

    def get_first_name(self, member: UserPoints) -> str:
        return member.names[0]

    def get_last_name(self, member: UserPoints) -> str:
        return member.names[1]


class MemberFilter(TenantFilterSet):
    """By one of the four identifiers of a member, by status, by segment, and by the time of the last change."""

    user_id = IdsFilter(description="Only these members: at most 100 ids, separated by commas.")
    email = TextFilter(max_length=254, description="Only the member with this e-mail address.")
    phone = TextFilter(max_length=16, description="Only members with this phone number, such as +4930123456.")
    external_id = TextFilter(max_length=64, description="Only the member with this external id.")
    barcode = TextFilter(max_length=100, description="Only the member whose wallet pass shows this barcode.")
    status = ChoiceFilter(values=UserPoints.Status.values, description="Only members with this status.")
    segment = IdFilter(description="Only members of this segment, as of its last evaluation.")
    updated_since = SinceFilter(description="Only members changed at this time or later, for synchronisation.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        brand_id = self.request.brand_access.brand_id
        conditions: dict[str, Any] = {}
        if cleaned["user_id"]:
            conditions["user__in"] = cleaned["user_id"]
        if cleaned["email"]:
            conditions["user__email"] = cleaned["email"].strip().lower()
        if cleaned["phone"]:
            named = NotificationPreference.objects.filter(brand=brand_id, phone=cleaned["phone"]).exclude(phone="")
            queryset = queryset.filter(user__in=named.values("user"))
        if cleaned["external_id"]:
            conditions["external_id"] = cleaned["external_id"]
        if cleaned["barcode"]:
            conditions["pk"] = numbers.read(cleaned["barcode"])
        if cleaned["status"]:
            conditions["status"] = cleaned["status"]
        if cleaned["segment"]:
            members = SegmentMember.objects.filter(brand=brand_id, segment=cleaned["segment"])
            queryset = queryset.filter(pk__in=members.values("account"))
        if cleaned["updated_since"]:
            conditions["updated_at__gte"] = cleaned["updated_since"]
        return queryset.filter(**conditions)


def members_of(brand_id: int) -> QuerySet[UserPoints]:
    """The brand's members, annotated with `phone` and `birthday`."""
    choices = NotificationPreference.objects.filter(brand=brand_id, user=OuterRef("user")).values("phone")
    rows = UserPoints.objects.filter(brand=brand_id, user__is_active=True)
    days = Birthday.objects.filter(brand=brand_id, user=OuterRef("user")).values_list(
        Concat(
            LPad(Cast("month", CharField()), 2, Value("0")), Value("-"), LPad(Cast("day", CharField()), 2, Value("0"))
        )
    )
    return rows.select_related("user", "brand", "merged_into").annotate(
        phone=Coalesce(Subquery(choices[:1]), Value("")), birthday=Coalesce(Subquery(days[:1]), Value(""))
    )


def member_of(brand_id: int, user_id: int) -> UserPoints:
    """Raises UserNotFound if the user is not a member of the brand."""
    row = members_of(brand_id).filter(user=user_id).first()
    if row is None:
        raise UserNotFound
    return row


class EnrolInput(Input):
    user_id = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    email = serializers.EmailField(required=False, max_length=254, help_text="Instead of `user_id`.")
    external_id = serializers.CharField(required=False, max_length=64, allow_blank=True, validators=[one_line])
    birthday = serializers.CharField(required=False, max_length=10, allow_blank=True, help_text=BIRTHDAY_TEXT)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("user_id" in data) == ("email" in data):
            raise serializers.ValidationError("Send either user_id or email.")
        return data


MEMBERS = ModelEndpoints(
    LABEL,
    BrandMemberOutput,
    EXAMPLE,
    filters=MemberFilter,
    ordering=("-user_point_id",),
    scope=ApiKey.Scope.MEMBERS,
    missing=UserNotFound,
)


class BrandMembers(BrandView):
    """The brand's members."""

    @MEMBERS.list_endpoint("list_members", "List or find members")
    def get(self, access: BrandAccess) -> QuerySet[UserPoints]:
        """List the brand's members, the latest enrolled first. Needs the scope `members`.

        Find a member by `email`, `phone`, `external_id` or the `barcode` of a wallet pass; several filters must all
        match. To synchronise a copy, note the time, request what changed with `updated_since`, and use the noted time
        for the next request.
        """
        return members_of(access.brand_id)

    @write_endpoint(
        "enrol_brand_member",
        "Enrol a member",
        request=EnrolInput,
        responses={200: MEMBERS.row_output, 201: MEMBERS.row_output},
        calls=[enrolment.enrol_one],
        examples=[
            request_example("By e-mail address", {"email": "ada@example.com", "external_id": "CRM-1007"}),
            data_example("Enrolled", EXAMPLE),
        ],
    )
    @for_brand(ApiKey.Scope.MEMBERS, LABEL, ACT, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Enrol a customer who registered with the brand as a member. Needs the scope `members`.

        The answer for an existing member is 200. An `external_id` and a `birthday` are saved in both cases.
        """
        data = EnrolInput.parse(request.data)
        context = access.audit_context()
        member, is_new = enrolment.enrol_one(
            brand=access.brand, audit_context=context, user_id=data.get("user_id"), address=data.get("email", "")
        )
        access.customer_id = member.user_id
        if "external_id" in data:
            changes.set_external_id(member=member, external_id=data["external_id"], audit_context=context)
        if "birthday" in data:
            changes.set_birthday(member=member, birthday=data["birthday"], audit_context=context)
        answer = MEMBERS.row_output.serialize(member_of(access.brand_id, member.user_id))
        return Response(answer, status=201 if is_new else 200)


class MemberChangeInput(ChangeInput):
    """Fields that are left out stay unchanged."""

    first_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    last_name = serializers.CharField(required=False, max_length=150, allow_blank=True)
    email = serializers.EmailField(
        required=False,
        max_length=254,
        validators=[mail.validate_address],
        help_text="Takes effect once the customer confirms it.",
    )
    external_id = serializers.CharField(required=False, max_length=64, allow_blank=True, validators=[one_line])
    birthday = serializers.CharField(required=False, max_length=10, allow_blank=True, help_text=BIRTHDAY_TEXT)
    status = serializers.ChoiceField(required=False, choices=[UserPoints.Status.ACTIVE, UserPoints.Status.BLOCKED])
    reason = serializers.CharField(max_length=500, help_text="Recorded in the audit log.")

    accompanying = frozenset({"reason"})


class BrandMember(BrandView):
    """One of the brand's members."""

    @MEMBERS.row_endpoint("read_member", "Read a member")
    def get(self, access: BrandAccess, user_id: int) -> QuerySet[UserPoints]:
        """Return a member. Needs the scope `members`."""
        return members_of(access.brand_id).filter(user=user_id)

    @write_endpoint(
        "change_member",
        "Change or block a member",
        request=MemberChangeInput,
        responses=MEMBERS.row_output,
        calls=[changes.change_identity],
        raises=[MemberBlocked],
        examples=[
            request_example("Blocked", {"status": "blocked", "reason": "Ticket 4711"}),
            data_example("Changed", {**EXAMPLE, "status": "blocked"}),
        ],
    )
    @for_brand(ApiKey.Scope.MEMBERS, LABEL, CORRECT, writes=True)
    def patch(self, request: Request, access: BrandAccess, user_id: int) -> Response:
        """Change a member's names, address, external id, birthday or status. Needs the scope `members`.

        Names change at once, at this brand only. A new address receives a link, and the current one a notification; it
        takes effect when the customer opens the link and enters their password. A `blocked` member earns and redeems
        nothing.
        """
        data = MemberChangeInput.parse(request.data)
        if "status" in data and not access.may(ApiKey.Scope.MEMBERS, LABEL, ACT):
            raise Forbidden("Only managers and owners can block members.")
        context = access.audit_context(data["reason"])
        with transaction.atomic():
            member = member_of(access.brand_id, user_id)
            access.customer_id = user_id
            changes.change_identity(member=member, values=data, audit_context=context)
            if "external_id" in data:
                changes.set_external_id(member=member, external_id=data["external_id"], audit_context=context)
            if "birthday" in data:
                changes.set_birthday(member=member, birthday=data["birthday"], audit_context=context)
            if "status" in data:
                changes.set_status(member=member, status=data["status"], audit_context=context)
        return Response(MEMBERS.row_output.serialize(member_of(access.brand_id, user_id)))


class AdjustmentInput(Input):
    points = serializers.DecimalField(
        max_digits=10, decimal_places=2, help_text="Points to add, or to deduct if negative. At most 2 decimal places."
    )
    reason = serializers.CharField(max_length=500, help_text="Shown to the customer, and recorded in the audit log.")


class AdjustmentOutput(Output):
    user_id = serializers.IntegerField()
    points = PointsField()
    new_balance = PointsField()
    transaction_id = serializers.IntegerField(help_text="The id of the ledger entry.")
    level = serializers.CharField(source="current_level", allow_blank=True)


AdjustmentRowOutput = row_output(AdjustmentOutput)


class MemberAdjustments(BrandView):
    """Adds and deducts points by hand."""

    @write_endpoint(
        "adjust_points",
        "Adjust a member's points",
        request=AdjustmentInput,
        responses={201: AdjustmentRowOutput},
        raises=[UserNotFound, MemberBlocked, PointsAlreadyClaimed],
        examples=[
            request_example("Deduct", {"points": -50, "reason": "Returned order SO-17"}),
            data_example("Adjusted", ADJUSTED),
        ],
    )
    @for_brand(ApiKey.Scope.POINTS, LABEL, ACT, writes=True)
    def post(self, request: Request, access: BrandAccess, user_id: int) -> Response:
        """Add points to a member's balance, or deduct points. Needs the scope `points`. Send an Idempotency-Key.

        The `reason` is shown in the customer's history. All hub keys of the brand together may add at most 100 times
        the brand's maximum points per scan in a day.
        """
        data = AdjustmentInput.parse(request.data)
        member = member_of(access.brand_id, user_id)
        access.customer_id = user_id
        if not data["points"]:
            raise Invalid("Send points other than 0.", details={"field": "points"})
        made = adjustments.adjust(
            account=member,
            points=data["points"],
            key=uuid4(),
            audit_context=access.audit_context(data["reason"]),
        )
        answer = {
            "user_id": user_id,
            "points": made.points,
            "new_balance": made.new_balance,
            "transaction_id": made.transaction_id,
            "current_level": made.current_level,
        }
        return Response(AdjustmentRowOutput.serialize(answer), status=201)
