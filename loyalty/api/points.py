"""What a customer reads about their own account (spec 4.3, 4.4)."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone, translation
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import for_own_brand, principal_of
from brands.models.tenants import Brand
from brands.tenants import local_time
from core import languages
from core.api.filters import ChoiceFilter, DayFilter, TenantFilterSet
from core.api.lists import ListView
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, page_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, SuccessField, TimestampField, data_output
from core.api.pagination import PaginationOutput, page_parameters
from core.errors import NotFound
from core.translations import TranslatedField, in_language
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.notifications import ledger_notes
from loyalty.points import explanations, overview
from loyalty.points.ledger import ADJUSTED
from loyalty.points.levels import Level
from loyalty.points.overview import PointsOverview

PERIODS = [value for value in Brand.LevelPeriod.values if value != Brand.LevelPeriod.LIFETIME]


class NextLevelOutput(Output):
    name = TranslatedField(source="level.name")
    threshold = PointsField(help_text="Points from which a customer has the level.")
    missing = PointsField(help_text="Points still to earn for the level.")
    points = PointsField(help_text="The points that count: all ever earned, or those of the level period.")


class LevelEndOutput(Output):
    """When the customer's level ends, if the brand's levels have periods."""

    period = serializers.ChoiceField(
        source="kind", choices=PERIODS, help_text="The kind of period in which points must be earned."
    )
    months = serializers.IntegerField(help_text="The length of the period; for `rolling`, the last months that count.")
    points = PointsField(help_text="Points that count now.")
    first = serializers.DateField(help_text="The first day whose points count, in the brand's time zone.")
    last = serializers.DateField(allow_null=True, help_text="The last day whose points count; null for `rolling`.")
    level_until = serializers.DateField(
        allow_null=True, help_text="The last day of the customer's level; null for the lowest, which never ends."
    )
    grace_until = serializers.DateField(
        allow_null=True, help_text="The last day on which the missing points can still be earned."
    )
    missing = PointsField(
        allow_null=True,
        help_text="Points to earn to renew the level; 0 if it is already renewed, null before these points count and "
        "for a level that the brand has deleted.",
    )


class BenefitsField(serializers.ListField):
    """The benefits of a level, one per item, in the language of the response."""

    child = serializers.CharField()

    def get_attribute(self, instance: Level) -> list[str]:
        return [line.strip() for line in in_language(instance, "benefits").splitlines() if line.strip()]


class LevelOutput(Output):
    name = TranslatedField()
    threshold = PointsField(help_text="Points from which a customer has the level.")
    benefits = BenefitsField(help_text="What its members get, in the brand's own wording.")


class ExpiringOutput(Output):
    points = PointsField()
    on = serializers.DateField(help_text="The first day on which they are no longer valid, in the brand's time zone.")


class LevelField(serializers.CharField):
    """The name of the customer's level, or "" for none. Translated if the level still has that name."""

    def get_attribute(self, instance: PointsOverview) -> str:
        return in_language(instance.level, "name") if instance.level else instance.level_name


class PointsData(Output):
    points = PointsField(help_text="Current balance.")
    pending = PointsField(help_text="Earned by orders, but not yet part of the balance.")
    owed = PointsField(help_text="Points of returned orders that were already spent; the next points settle them.")
    lifetime = PointsField(help_text="Points earned in total, which count for levels without periods.")
    redeemed = PointsField(help_text="Points spent in total, without those that were returned.")
    expired = PointsField(help_text="Points expired in total.")
    level = LevelField(allow_blank=True)
    next_level = NextLevelOutput(allow_null=True, help_text="Null at the highest level.")
    expiring_soon = ExpiringOutput(allow_null=True, help_text="The next points to expire, if that is soon.")
    enrolled = serializers.BooleanField()
    level_end = LevelEndOutput(
        allow_null=True, help_text="Null if levels have no periods, or the customer is not enrolled."
    )
    levels = LevelOutput(many=True, help_text="All of the brand's levels, lowest first.")


PointsOutput = data_output(PointsData)


class NoteField(serializers.CharField):
    """The note of an entry. The system's notes are translated; notes typed by staff are not."""

    def get_attribute(self, instance: LoyaltyTransaction) -> str:
        if instance.reason_id.startswith(ADJUSTED) or not ledger_notes.parsed(instance.note):
            return instance.note
        return ledger_notes.text_in(instance.note, languages.decide(), (instance.details or {}).get("names"))


class ExplanationField(serializers.ListField):
    """Why an entry has its points, in the language of the response."""

    child = serializers.CharField()

    def get_attribute(self, instance: LoyaltyTransaction) -> list[str]:
        if not instance.details:
            return []
        language = languages.decide()
        with translation.override(language):
            return explanations.texts_of(instance.details, language)


class TransactionOutput(Output):
    loyalty_transaction_id = serializers.IntegerField()
    reason = serializers.ChoiceField(choices=LoyaltyTransaction.Reason.choices)
    reason_id = serializers.CharField()
    points_earned = PointsField()
    points_redeemed = PointsField()
    points_expired = PointsField()
    points_reversed = PointsField(help_text="Points taken back because an order was returned.")
    points_pending = PointsField(help_text="Points that are not part of the balance yet.")
    points_cleared = PointsField(
        help_text="Points that are no longer pending: credited with `released`, lost with `cancelled`."
    )
    note = NoteField(allow_blank=True)
    explanation = ExplanationField(
        help_text="Which rules gave the points, on what basis, and which limit reduced them; empty for other entries."
    )
    createdAt = TimestampField(source="created_at")  # noqa: N815 - the spec's name


class TransactionsOutput(Output):
    success = SuccessField()
    data = TransactionOutput(many=True, source="rows")  # type: ignore[assignment]
    pagination = PaginationOutput()


MEMBER = {
    "points": 320,
    "pending": 25,
    "owed": 0,
    "lifetime": 520,
    "redeemed": 200,
    "expired": 0,
    "level": "Silver",
    "next_level": {"name": "Gold", "threshold": 1000, "missing": 580, "points": 420},
    "expiring_soon": {"points": 40, "on": "2026-04-01"},
    "enrolled": True,
    "level_end": {
        "period": "year",
        "months": 12,
        "points": 420,
        "first": "2026-01-01",
        "last": "2026-12-31",
        "level_until": "2026-12-31",
        "grace_until": "2027-01-14",
        "missing": 80,
    },
    "levels": [
        {"name": "Bronze", "threshold": 0, "benefits": []},
        {"name": "Silver", "threshold": 500, "benefits": ["Free shipping"]},
        {"name": "Gold", "threshold": 1000, "benefits": ["Free shipping", "Early access"]},
    ],
}


class Points(APIView):
    """4.3: the customer's balance and level at the token's brand."""

    @endpoint(
        "read_points",
        tag="Account",
        summary="Read my points",
        needs=[BEARER],
        raises=[NotFound],
        responses=PointsOutput,
        examples=[data_example("A member", MEMBER)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Return the customer's balance and level at the token's brand; zeros if they are not enrolled yet."""
        principal = principal_of(request, rate_limit="read")
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        result = overview.fetch_overview(brand=brand, user_id=principal.user_id, at=timezone.now())
        return Response(PointsOutput.serialize(result))


class TransactionFilter(TenantFilterSet):
    """By reason, and by first and last day, both inclusive and in the brand's time zone."""

    reason = ChoiceFilter(values=LoyaltyTransaction.Reason.values, description="Only entries with this reason.")
    from_ = DayFilter(description="The first day, in the brand's time zone.")
    to = DayFilter(description="The last day, inclusive.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        if cleaned["from_"] or cleaned["to"]:
            brand = get_object_or_404(Brand, pk=principal_of(self.request).brand_id)
            days = local_time.on_days("created_at", cleaned["from_"], cleaned["to"], brands=[brand])
            queryset = queryset.filter(days)
        return queryset.filter(reason=cleaned["reason"]) if cleaned["reason"] else queryset


TRANSACTION = {
    "loyalty_transaction_id": 90210,
    "reason": "earned",
    "reason_id": "ALP0000004711",
    "points_earned": 50,
    "points_redeemed": 0,
    "points_expired": 0,
    "points_reversed": 0,
    "points_pending": 0,
    "points_cleared": 0,
    "note": "Points for scanning Alpine Jacket",
    "explanation": ["Gold: 25", "Double December: 2 x 25, that is 25 more"],
    "createdAt": WHEN,
}


class Transactions(ListView):
    """4.4: the customer's ledger entries, newest first."""

    filterset_class = TransactionFilter
    ordering = ("-loyalty_transaction_id",)

    @endpoint(
        "list_transactions",
        tag="Account",
        summary="List my transactions",
        needs=[BEARER],
        raises=[NotFound],
        parameters=[*page_parameters(), *TransactionFilter.parameters()],
        responses=TransactionsOutput,
        examples=[page_example(TRANSACTION)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """List the customer's ledger entries at the token's brand, newest first."""
        principal = principal_of(request, rate_limit="read")
        rows = LoyaltyTransaction.objects.filter(
            user_point__user_id=principal.user_id, user_point__brand_id=principal.brand_id
        )
        return Response(TransactionsOutput.serialize(self.page_of(rows)))
