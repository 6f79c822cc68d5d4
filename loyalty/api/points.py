"""What a customer reads of their own account (spec 4.3, 4.4)."""

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import for_own_brand, principal_of
from brands.models.tenants import Brand
from brands.tenants import local_time
from core.api.filters import ChoiceFilter, DayFilter, ListFilters
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.pagination import PaginationOutput, page_parameters, paged
from core.errors import NotFound
from core.json_values import iso, plain
from core.redis import rate_limits
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts, expiry, levels
from loyalty.points.levels import Level, levels_of

ZERO = Decimal(0)


class NextLevelOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    threshold = serializers.FloatField(help_text="Lifetime points from which a customer is in it.")
    missing = serializers.FloatField(help_text="Points to earn until then.")


class ExpiringOutput(serializers.Serializer[Any]):
    points = serializers.FloatField()
    on = serializers.DateField(help_text="The first day on which they are gone, by the brand's clock.")


class PointsData(serializers.Serializer[Any]):
    points = serializers.FloatField(help_text="Current balance.")
    lifetime = serializers.FloatField(help_text="Earned in all; what levels count.")
    redeemed = serializers.FloatField(help_text="Spent in all, without what came back.")
    expired = serializers.FloatField(help_text="Expired in all.")
    level = serializers.CharField(allow_blank=True)
    next_level = NextLevelOutput(allow_null=True, help_text="Null at the top.")
    expiring_soon = ExpiringOutput(allow_null=True, help_text="The next points to expire, if that is soon.")
    enrolled = serializers.BooleanField()


class PointsOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = PointsData()  # type: ignore[assignment]


class TransactionOutput(serializers.Serializer[Any]):
    loyalty_transaction_id = serializers.IntegerField()
    reason = serializers.ChoiceField(choices=LoyaltyTransaction.Reason.choices)
    reason_id = serializers.CharField()
    points_earned = serializers.FloatField()
    points_redeemed = serializers.FloatField()
    points_expired = serializers.FloatField()
    note = serializers.CharField(allow_blank=True)
    createdAt = serializers.DateTimeField()  # noqa: N815 - the spec's name


class TransactionsOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = TransactionOutput(many=True)  # type: ignore[assignment]
    pagination = PaginationOutput()


class Points(APIView):
    """4.3: the customer's balance and level at the token's brand."""

    @endpoint(
        "read_points",
        tag="Account",
        summary="Read my points",
        needs=[BEARER],
        raises=[NotFound],
        responses=PointsOutput,
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """The customer's balance and level at the token's brand; zeros for one who is not enrolled yet."""
        principal = principal_of(request)
        rate_limits.hit("read", principal.brand_id, principal.user_id)
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        return Response({"success": True, "data": present_account(brand, principal.user_id)})


def present_account(brand: Brand, user_id: int) -> dict[str, Any]:
    account = accounts.account_of(brand_id=brand.pk, user_id=user_id)
    lifetime = account.lifetime if account else ZERO
    following = levels.following(levels=levels_of(brand), lifetime=lifetime)
    return {
        "points": plain(account.points if account else ZERO),
        "lifetime": plain(lifetime),
        "redeemed": plain(account.redeemed if account else ZERO),
        "expired": plain(account.points_expired if account else ZERO),
        "level": account.current_level if account else "",
        "next_level": present_next(following, lifetime) if following else None,
        "expiring_soon": present_soon(brand, account) if account else None,
        "enrolled": account is not None,
    }


def present_soon(brand: Brand, account: UserPoints) -> dict[str, Any] | None:
    soon = expiry.expiring_soon(brand=brand, account=account, at=timezone.now())
    return {"points": plain(soon.points), "on": soon.on.isoformat()} if soon else None


def present_next(level: Level, lifetime: Decimal) -> dict[str, Any]:
    return {
        "name": level.name,
        "threshold": plain(level.threshold),
        "missing": plain(level.threshold - lifetime),
    }


DAY = {"type": "string", "format": "date"}
FILTERS = [
    OpenApiParameter("reason", str, enum=LoyaltyTransaction.Reason.values, description="Only lines of this reason."),
    OpenApiParameter("from", DAY, description="The first day, by the brand's clock."),
    OpenApiParameter("to", DAY, description="The last day, included."),
]


class TransactionFilters(ListFilters):
    """By what changed the balance, and from a day to another, both included and by the brand's clock."""

    reason = ChoiceFilter(parameter="reason", values=["earned", "redeemed", "expired"])
    first_day = DayFilter(parameter="from")
    last_day = DayFilter(parameter="to")
    parameters = {"first_day": "from", "last_day": "to"}

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = self.form.cleaned_data
        if asked["first_day"] or asked["last_day"]:
            brand = get_object_or_404(Brand, pk=principal_of(self.request).brand_id)
            days = asked["first_day"], asked["last_day"]
            queryset = queryset.filter(local_time.on_days("created_at", *days, brands=[brand]))
        return queryset.filter(reason=asked["reason"]) if asked["reason"] else queryset


class Transactions(APIView):
    """4.4: the customer's ledger lines, newest first."""

    @endpoint(
        "list_transactions",
        tag="Account",
        summary="List my transactions",
        needs=[BEARER],
        raises=[NotFound],
        parameters=[*page_parameters(), *FILTERS],
        responses=TransactionsOutput,
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Every change of the customer's balance at the token's brand, newest first."""
        principal = principal_of(request)
        rate_limits.hit("read", principal.brand_id, principal.user_id)
        mine = LoyaltyTransaction.objects.filter(
            user_point__user_id=principal.user_id, user_point__brand_id=principal.brand_id
        )
        lines = TransactionFilters.of(request, mine).qs
        found, pagination = paged(request, lines, order=("-loyalty_transaction_id",), view=self)
        return Response({"success": True, "data": [present_line(line) for line in found], "pagination": pagination})


def present_line(line: LoyaltyTransaction) -> dict[str, Any]:
    return {
        "loyalty_transaction_id": line.pk,
        "reason": line.reason,
        "reason_id": line.reason_id,
        "points_earned": plain(line.points_earned),
        "points_redeemed": plain(line.points_redeemed),
        "points_expired": plain(line.points_expired),
        "note": line.note,
        "createdAt": iso(line.created_at),
    }
