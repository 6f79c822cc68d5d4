"""The rewards that customers can redeem for points."""

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.identity.authentication import for_own_brand, principal_of
from brands.models.tenants import Brand
from core.api.filters import NoFilter
from core.api.lists import ListView
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import page_example
from core.api.outputs import Output, PictureField, PointsField, SuccessField, TimestampField
from core.api.pagination import PaginationOutput, page_parameters
from core.errors import NotFound
from core.translations import TranslatedField
from loyalty.models.rewards import Reward
from loyalty.rewards import rules
from loyalty.rewards.offers import offers_to

INELIGIBILITIES = [kind.code for kind in rules.INELIGIBLE]


MUG = {
    "id": 12,
    "name": "Enamel mug",
    "description": "With the brand's mountain.",
    "cost": 250,
    "picture": "/pictures/0f3a1a52-53b1-4f6e-9a53-6c1a2f0f9f11/small",
    "stock": 17,
    "limit_per_member": 2,
    "taken": 0,
    "valid_from": None,
    "valid_until": "2026-12-31T23:00:00.000Z",
    "level": "Silver",
    "available": True,
    "reason": None,
    "missing": None,
}
BAG = {
    **MUG,
    "id": 11,
    "name": "Dry bag",
    "cost": 900,
    "picture": None,
    "stock": None,
    "available": False,
    "reason": "NOT_ENOUGH_POINTS",
    "missing": 580,
}


class RewardOutput(Output):
    id = serializers.IntegerField(source="reward.pk")
    name = TranslatedField(source="reward.name")
    description = TranslatedField(source="reward.description", allow_blank=True)
    cost = PointsField(source="reward.cost", help_text="In points.")
    picture = PictureField(
        source="reward.picture_id",
        allow_null=True,
        help_text="The path of its picture on this host, if it has one: WebP of at most 480 x 360 pixels.",
    )
    stock = serializers.IntegerField(
        source="reward.stock", allow_null=True, help_text="How many are left; null for no limit."
    )
    limit_per_member = serializers.IntegerField(source="reward.limit_per_member", allow_null=True)
    taken = serializers.IntegerField(source="member.taken", help_text="How many the customer has redeemed.")
    valid_from = TimestampField(source="reward.valid_from", allow_null=True)
    valid_until = TimestampField(source="reward.valid_until", allow_null=True)
    level = TranslatedField(
        source="reward.minimum_level.name", allow_null=True, help_text="The level that it requires."
    )
    available = serializers.BooleanField(help_text="Whether the customer can redeem it now.")
    reason = serializers.ChoiceField(
        choices=INELIGIBILITIES,
        allow_null=True,
        help_text="Why it cannot be redeemed: the error code that redeeming it would return.",
    )
    missing = PointsField(
        allow_null=True, help_text="Points that the balance lacks; null unless `reason` is NOT_ENOUGH_POINTS."
    )


class RewardsOutput(Output):
    success = SuccessField()
    data = RewardOutput(many=True, source="rows")  # type: ignore[assignment]
    pagination = PaginationOutput()


class Rewards(ListView):
    """The catalogue of the token's brand, with the customer's eligibility."""

    filterset_class = NoFilter
    ordering = ("-id",)

    @endpoint(
        "list_rewards",
        tag="Rewards",
        summary="List the rewards",
        needs=[BEARER],
        raises=[NotFound],
        parameters=page_parameters(),
        responses=RewardsOutput,
        examples=[page_example(MUG, BAG)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """List the brand's rewards for points, newest first, and whether the customer can redeem each now.

        Rewards that are not valid yet are included. Not included are those that ended, are inactive, can only be won in
        campaigns, or are for a segment that the customer is not in.
        """
        principal = principal_of(request, rate_limit="read")
        at = timezone.now()
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        offered = Reward.objects.offered(at).filter(brand=brand).select_related("minimum_level")
        offered = offered.for_customer(user_id=principal.user_id, brand_id=brand.pk)
        page = self.page_of(offered)
        page["rows"] = offers_to(user_id=principal.user_id, brand=brand, rewards=page["rows"], at=at)
        return Response(RewardsOutput.serialize(page))
