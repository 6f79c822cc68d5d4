"""The programme's accounting over HTTP: points earned, spent and outstanding, for the brand's own reports."""

from datetime import date
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, read_endpoint, row_output
from brands.models.credentials import ApiKey
from core.api.filters import DayFilter, TenantFilterSet
from core.api.openapi.examples import data_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Invalid
from loyalty.models.programme.rollups import PointsRollup
from loyalty.points.expiry_rules import months_later
from loyalty.programme.figures import MAX_MONTHS, Figures, default_months, figures
from loyalty.programme.movements import MOVEMENTS
from loyalty.programme.rollups import month_of

EXAMPLE = {
    "currency": "EUR",
    "outstanding": 41_250,
    "pending": 300,
    "owed": 12,
    "liability": 412.5,
    "redemption_rate": 48.2,
    "breakage": 6.1,
    "months": [
        {
            "month": "2026-11-01",
            "last_day": "2026-11-25",
            "opening": 39_800,
            "movements": {each.name: 2_150 if each.name == "earned" else 0 for each in MOVEMENTS} | {"redeemed": 700},
            "closing": 41_250,
            "pending": 300,
            "liability": 412.5,
        }
    ],
    "expiring": [{"month": "2026-12-01", "points": 800}],
    "members": [{"month": "2026-11-01", "enrolled": 120, "active": 640, "lapsed": 75}],
    "levels": [{"level": "Bronze", "members": 910}, {"level": "Silver", "members": 140}],
    "counted_at": WHEN,
}

MovementsOutput = type(
    "MovementsOutput",
    (Output,),
    {
        "__doc__": "Points that each movement added or took, including the two of pending points; never negative.",
        **{each.name: PointsField(help_text=str(each.label)) for each in MOVEMENTS},
    },
)


class ProgrammeMonthOutput(Output):
    """A month of the roll-forward: `opening` with the movements of the balance added or deducted gives `closing`."""

    month = serializers.DateField(help_text="The month's first day, in the brand's time zone.")
    last_day = serializers.DateField(help_text="The month's last day; today for the current month.")
    opening = PointsField()
    movements = MovementsOutput(source="points")
    closing = PointsField()
    pending = PointsField(help_text="Pending points at the end, which are not part of the balance.")
    liability = PointsField(allow_null=True, help_text="The cost of `closing`; null if no cost per point is set.")


class ExpiringOutput(Output):
    month = serializers.DateField(help_text="The month's first day.")
    points = PointsField(help_text="Points that expire in the month unless they are spent before.")


class ProgrammeMembersOutput(Output):
    month = serializers.DateField(help_text="The month's first day.")
    enrolled = serializers.IntegerField()
    active = serializers.IntegerField(help_text="Members who earned or redeemed points.")
    lapsed = serializers.IntegerField(help_text="Members who did neither for six months.")


class LevelMembersOutput(Output):
    level = serializers.CharField(allow_blank=True, help_text="Empty for members without a level.")
    members = serializers.IntegerField()


class ProgrammeOutput(Output):
    """The figures of the portal's programme page."""

    currency = serializers.CharField(source="last.currency", help_text="The currency of `liability`.")
    outstanding = PointsField(
        source="last.closing", help_text="Points on members' balances at the end of the last month."
    )
    pending = PointsField(source="last.pending", help_text="Points of orders that are not on balances yet.")
    owed = PointsField(help_text="Points of returned orders that members had spent before.")
    liability = PointsField(source="last.liability", allow_null=True, help_text="The cost of the outstanding points.")
    redemption_rate = serializers.FloatField(
        allow_null=True, help_text="Points redeemed, in percent of those earned in these months."
    )
    breakage = serializers.FloatField(
        allow_null=True, help_text="Points expired, in percent of those redeemed or expired in these months."
    )
    months = ProgrammeMonthOutput(many=True, help_text="The earliest month first.")
    expiring = serializers.SerializerMethodField()
    members = ProgrammeMembersOutput(many=True, help_text="By month; up to yesterday.")
    levels = LevelMembersOutput(many=True, help_text="The lowest level first.")
    counted_at = TimestampField(allow_null=True, help_text="When levels and owed points were counted; null if not yet.")

    def get_expiring(self, result: Figures) -> list[dict[str, Any]]:
        rows = [{"month": month, "points": points} for month, points in result.expiring.items()]
        return [ExpiringOutput.serialize(row) for row in rows]


ProgrammeRowOutput = row_output(ProgrammeOutput)


class ProgrammeFilter(TenantFilterSet):
    from_ = DayFilter(
        description="A day in the first month, in the brand's time zone. Defaults to the last twelve months."
    )
    to = DayFilter(description="A day in the last month, at most five years after the first.")

    @classmethod
    def months(cls, request: Request, access: BrandAccess) -> tuple[date, date]:
        """The first day of the first and of the last month. Raises Invalid, naming the parameter."""
        cls.reject_unknown(request, {"from", "to"})
        requested = cls.of(request, PointsRollup.objects.none()).form.cleaned_data
        usual_first, usual_last = default_months(access.brand, timezone.now())
        last = month_of(requested["to"]) if requested["to"] else usual_last
        first = month_of(requested["from_"]) if requested["from_"] else min(usual_first, last)
        if first > last:
            raise Invalid(_("The last month must not be before the first month."), details={"field": "to"})
        if months_later(first, MAX_MONTHS) <= last:
            raise Invalid(_("Choose at most %(most)d months.") % {"most": MAX_MONTHS}, details={"field": "from"})
        return first, last


class BrandProgramme(BrandView):
    """The brand's programme figures."""

    @read_endpoint(
        "read_programme",
        "Read the programme's figures",
        ProgrammeRowOutput,
        data_example("This month", EXAMPLE),
        parameters=ProgrammeFilter.parameters(),
        raises=[Invalid],
    )
    @for_brand(ApiKey.Scope.READ, "loyalty.pointsrollup")
    def get(self, request: Request, access: BrandAccess) -> Response:
        """Return outstanding, pending and owed points, costs, and each month's roll-forward. Needs the scope `read`."""
        first, last = ProgrammeFilter.months(request, access)
        result = figures(brand=access.brand, first=first, last=last, at=timezone.now())
        return Response(ProgrammeRowOutput.serialize(result))
