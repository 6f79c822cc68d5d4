"""The brand's redemptions and its ledger over HTTP, for its own systems and staff."""

from typing import Any
from uuid import uuid4

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands import audit_log
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, write_endpoint
from brands.audit_log import AuditedChange
from brands.identity.roles import USE
from brands.models.credentials import ApiKey
from brands.tenants import local_time
from core.api.filters import ChoiceFilter, DayFilter, IdFilter, TenantFilterSet
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import CODE, WHEN
from core.api.outputs import Output, PointsField, TimestampField
from loyalty.api.till import TillInput
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption
from loyalty.rewards import till

REDEMPTION = {
    "id": 4711,
    "user_id": 42,
    "reward_id": 12,
    "name": "Enamel mug",
    "cost": 250,
    "status": "used",
    "created_at": WHEN,
    "expires_at": WHEN,
    "used_at": WHEN,
    "cancelled_at": None,
}
ENTRY = {
    "id": 90210,
    "user_id": 42,
    "reason": "earned",
    "reason_id": "ALP0000004711",
    "points_earned": 50,
    "points_redeemed": 0,
    "points_expired": 0,
    "points_reversed": 0,
    "points_pending": 0,
    "points_cleared": 0,
    "note": "Points for scanning Alpine Jacket",
    "created_at": WHEN,
}


class BrandRedemptionOutput(Output):
    id = serializers.IntegerField()
    user_id = serializers.IntegerField(source="user_point.user_id")
    reward_id = serializers.IntegerField(
        allow_null=True, help_text="Null if a milestone gave something that is not in the catalogue."
    )
    name = serializers.CharField(help_text="The reward's name at the time.")
    cost = PointsField()
    status = serializers.ChoiceField(choices=Redemption.Status.values)
    created_at = TimestampField()
    expires_at = TimestampField(allow_null=True)
    used_at = TimestampField(allow_null=True)
    cancelled_at = TimestampField(allow_null=True)


class BrandRedemptionFilter(TenantFilterSet):
    status = ChoiceFilter(values=Redemption.Status.values, description="Only redemptions with this status.")
    reward_id = IdFilter(field_name="reward_id", description="Only redemptions of this reward.")
    user_id = IdFilter(field_name="user_point__user_id", description="Only redemptions by this member.")


def redemptions_of(access: BrandAccess) -> QuerySet[Redemption]:
    return Redemption.objects.select_related("user_point").filter(brand=access.brand_id)


REDEMPTIONS = ModelEndpoints("loyalty.redemption", BrandRedemptionOutput, REDEMPTION, filters=BrandRedemptionFilter)


class BrandRedemptions(BrandView):
    """The brand's redemptions."""

    @REDEMPTIONS.list_endpoint("list_brand_redemptions", "List redemptions")
    def get(self, access: BrandAccess) -> QuerySet[Redemption]:
        """List the rewards that members redeemed or won, newest first, without their codes. Needs the scope `read`."""
        return redemptions_of(access)


class BrandRedemption(BrandView):
    """One of the brand's redemptions."""

    @REDEMPTIONS.row_endpoint("read_brand_redemption", "Read a redemption")
    def get(self, access: BrandAccess, redemption_id: int) -> QuerySet[Redemption]:
        """Return a redemption and whether it was used, without its code. Needs the scope `read`."""
        return redemptions_of(access).filter(pk=redemption_id)


class UseBrandRedemption(BrandView):
    """Marks a redemption code as used."""

    @write_endpoint(
        "use_brand_redemption",
        "Use a redemption code",
        request=TillInput,
        responses=REDEMPTIONS.row_output,
        calls=[till.find, till.use],
        examples=[
            request_example("A code", {"code": CODE}),
            data_example("Used", REDEMPTION),
        ],
    )
    @for_brand(ApiKey.Scope.TILL, "loyalty.redemption", USE, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Mark a customer's redemption code as used, once. Needs the scope `till`.

        The code may be sent with or without separators; a typing error is detected. With an Idempotency-Key, repeating
        the request returns the same answer; without one, it fails with REDEMPTION_USED.
        """
        result = till.find(brand_ids=[access.brand_id], text=TillInput.parse(request.data)["code"])
        access.customer_id = result.user_point.user_id
        context = access.audit_context()
        used = till.use(redemption=result, at=context.at, by=access.user, key_id=context.key_id, request=uuid4())
        row = AuditedChange(used, used.brand_id)
        audit_log.record(audit_context=context, action="Used at the till", rows=[row])
        return Response(REDEMPTIONS.row_output.serialize(used))


class BrandTransactionOutput(Output):
    id = serializers.IntegerField(source="loyalty_transaction_id")
    user_id = serializers.IntegerField(source="user_point.user_id")
    reason = serializers.ChoiceField(choices=LoyaltyTransaction.Reason.values)
    reason_id = serializers.CharField(help_text="Unique per member: an auth code, or a prefixed id such as order:17.")
    points_earned = PointsField()
    points_redeemed = PointsField()
    points_expired = PointsField()
    points_reversed = PointsField(help_text="Points taken back because an order was returned.")
    points_pending = PointsField(help_text="Points that are not part of the balance yet.")
    points_cleared = PointsField(
        help_text="Points that are no longer pending: credited with `released`, lost with `cancelled`."
    )
    note = serializers.CharField(allow_blank=True)
    created_at = TimestampField()


class BrandTransactionFilter(TenantFilterSet):
    """By member, by reason, and by first and last day, both inclusive and in the brand's time zone."""

    user_id = IdFilter(description="Only entries of this member.")
    reason = ChoiceFilter(values=LoyaltyTransaction.Reason.values, description="Only entries with this reason.")
    from_ = DayFilter(description="The first day, in the brand's time zone.")
    to = DayFilter(description="The last day, inclusive.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        if cleaned["from_"] or cleaned["to"]:
            brands = [self.request.brand_access.brand]
            days = local_time.on_days("created_at", cleaned["from_"], cleaned["to"], brands=brands)
            queryset = queryset.filter(days)
        if cleaned["user_id"]:
            queryset = queryset.filter(user_point__user_id=cleaned["user_id"])
        return queryset.filter(reason=cleaned["reason"]) if cleaned["reason"] else queryset


def lines_of(access: BrandAccess) -> QuerySet[LoyaltyTransaction]:
    return LoyaltyTransaction.objects.select_related("user_point").filter(brand=access.brand_id)


TRANSACTIONS = ModelEndpoints(
    "loyalty.loyaltytransaction",
    BrandTransactionOutput,
    ENTRY,
    filters=BrandTransactionFilter,
    ordering=("-loyalty_transaction_id",),
)


class BrandTransactions(BrandView):
    """The brand's ledger."""

    @TRANSACTIONS.list_endpoint("list_brand_transactions", "List ledger entries")
    def get(self, access: BrandAccess) -> QuerySet[LoyaltyTransaction]:
        """List the ledger entries, newest first. Needs the scope `read`. Entries never change."""
        return lines_of(access)


class BrandTransaction(BrandView):
    """One entry of the brand's ledger."""

    @TRANSACTIONS.row_endpoint("read_brand_transaction", "Read a ledger entry")
    def get(self, access: BrandAccess, transaction_id: int) -> QuerySet[LoyaltyTransaction]:
        """Return a ledger entry. Needs the scope `read`."""
        return lines_of(access).filter(pk=transaction_id)
