"""What a customer reads of their own account (spec 4.3, 4.4)."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands import limits
from brands.models import Brand
from brands.openapi import BEARER, endpoint
from brands.paging import Page, paged
from brands.tokens import Principal
from loyalty import levels, members
from loyalty.accrual import plain
from loyalty.events import iso
from loyalty.levels import Level
from loyalty.models import ZERO, BrandLevel, LoyaltyTransaction


def page_parameters(page: type[Page] = Page) -> list[OpenApiParameter]:
    """How a list's pages are asked for."""
    limit = {"type": "integer", "minimum": 1, "maximum": page.max_page_size, "default": page.page_size}
    return [
        OpenApiParameter("limit", limit, description="Rows per page."),
        OpenApiParameter("cursor", str, description="What the page before named as the next; opaque."),
    ]


class PaginationOutput(serializers.Serializer[Any]):
    limit = serializers.IntegerField(help_text="Rows per page.")
    next = serializers.CharField(allow_null=True, help_text="The `cursor` of the next page; null on the last one.")
    has_more = serializers.BooleanField()


class PointsData(serializers.Serializer[Any]):
    points = serializers.FloatField(help_text="Current balance.")
    points_earned = serializers.FloatField(help_text="Lifetime.")
    points_redeemed = serializers.FloatField(help_text="Lifetime.")
    points_expired = serializers.FloatField(help_text="Lifetime.")
    current_level = serializers.CharField(allow_blank=True)
    next_level = serializers.CharField(allow_null=True)
    next_level_threshold = serializers.FloatField(allow_null=True)
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


def principal_of(request: Request) -> Principal:
    """The token's user and brand; the view's permission has made sure that there is one."""
    assert isinstance(request.auth, Principal)  # noqa: S101 - BearerToken is the only authentication here
    return request.auth


class Points(APIView):
    """4.3: the customer's balance and level at the token's brand."""

    @endpoint(
        "read_points",
        tag="Account",
        summary="Read my points",
        needs=[BEARER],
        errors=["AUTHENTICATION_REQUIRED", "TOKEN_INVALID", "NOT_FOUND", "RATE_LIMITED"],
        responses=PointsOutput,
    )
    def get(self, request: Request) -> Response:
        """The customer's balance and level at the token's brand; zeros for one who is not enrolled yet."""
        principal = principal_of(request)
        limits.hit("read", str(principal.user_id))
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        return Response({"success": True, "data": present_account(brand, principal.user_id)})


def present_account(brand: Brand, user_id: int) -> dict[str, Any]:
    account = members.account_of(brand_id=brand.pk, user_id=user_id)
    lifetime = account.points_earned if account else ZERO
    following = levels.following(levels=levels_of(brand), lifetime=lifetime)
    return {
        "points": plain(account.points if account else ZERO),
        "points_earned": plain(lifetime),
        "points_redeemed": plain(account.points_redeemed if account else ZERO),
        "points_expired": plain(account.points_expired if account else ZERO),
        "current_level": account.current_level if account else "",
        "next_level": following.name if following else None,
        "next_level_threshold": plain(following.threshold) if following else None,
        "enrolled": account is not None,
    }


def levels_of(brand: Brand) -> list[Level]:
    fields = ("name", "threshold", "scan_reward_type", "scan_reward_value")
    return [
        Level(*found) for found in BrandLevel.objects.filter(brand=brand).order_by("threshold").values_list(*fields)
    ]


class Transactions(APIView):
    """4.4: the customer's ledger lines, newest first."""

    @endpoint(
        "list_transactions",
        tag="Account",
        summary="List my transactions",
        needs=[BEARER],
        errors=["AUTHENTICATION_REQUIRED", "TOKEN_INVALID", "RATE_LIMITED"],
        parameters=page_parameters(),
        responses=TransactionsOutput,
    )
    def get(self, request: Request) -> Response:
        """Every change of the customer's balance at the token's brand, newest first."""
        principal = principal_of(request)
        limits.hit("read", str(principal.user_id))
        lines = LoyaltyTransaction.objects.filter(
            user_point__user_id=principal.user_id, user_point__brand_id=principal.brand_id
        )
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
