"""The brand's levels, rewards, redemptions and ledger over HTTP, for its own systems and staff."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access import rows
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import (
    BrandList,
    BrandView,
    list_endpoint,
    list_output,
    row_endpoint,
    row_of,
    row_output,
    write_endpoint,
)
from brands.identity.roles import ADD, CHANGE
from brands.models.credentials import ApiKey
from brands.tenants import local_time
from core.api.filters import ChoiceFilter, DayFilter, IdFilter, NoFilter, SwitchFilter, TenantFilterSet
from core.api.inputs import ID, ChangeInput, MomentInput, SwitchField
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Invalid, NotFound
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel, RewardType
from loyalty.models.rewards import Redemption, Reward

LEVEL = {"id": 2, "name": "Silver", "threshold": 500, "scan_reward_type": "points", "scan_reward_value": 10}
REWARD = {
    "id": 12,
    "name": "Enamel mug",
    "description": "With the brand's mountain.",
    "cost": 250,
    "stock": 17,
    "limit_per_member": 2,
    "valid_from": None,
    "valid_until": WHEN,
    "minimum_level_id": 2,
    "code_days": 90,
    "is_active": True,
    "created_at": WHEN,
}
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
    "note": "Points for scanning Alpine Jacket",
    "created_at": WHEN,
}
WRITTEN = {"name": "Enamel mug", "cost": 250, "stock": 17}
INT = 2**31 - 1


class BrandLevelOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    threshold = PointsField(help_text="Lifetime points from which a member is in it.")
    scan_reward_type = serializers.ChoiceField(choices=RewardType.values)
    scan_reward_value = PointsField(help_text="Points of a scan, or percent of the product's price.")


BrandLevelListOutput = list_output(BrandLevelOutput)


class BrandLevels(BrandList):
    """The brand's levels."""

    filterset_class = NoFilter
    output = BrandLevelListOutput
    ordering = ("threshold", "id")

    @list_endpoint("list_levels", "List levels", BrandLevelListOutput, LEVEL, filters=NoFilter)
    @for_brand(ApiKey.Scope.READ, "loyalty.brandlevel")
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List the brand's levels, the lowest first. Needs the scope `read`."""
        return self.listed(BrandLevel.objects.filter(brand=access.brand_id))


class BrandRewardOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    cost = PointsField(help_text="Points.")
    stock = serializers.IntegerField(allow_null=True, help_text="How many are left; null: without a limit.")
    limit_per_member = serializers.IntegerField(allow_null=True)
    valid_from = TimestampField(allow_null=True)
    valid_until = TimestampField(allow_null=True)
    minimum_level_id = serializers.IntegerField(allow_null=True, help_text="Only for members of this level and above.")
    code_days = serializers.IntegerField(allow_null=True, help_text="Days until an unused code expires; null: never.")
    is_active = serializers.BooleanField()
    created_at = TimestampField()


BrandRewardListOutput = list_output(BrandRewardOutput)
BrandRewardRowOutput = row_output(BrandRewardOutput)


class RewardChangeInput(ChangeInput):
    """What is left out stays as it is."""

    name = serializers.CharField(required=False, max_length=120)
    description = serializers.CharField(required=False, max_length=2000, allow_blank=True)
    cost = serializers.DecimalField(required=False, max_digits=10, decimal_places=2, min_value=0)
    stock = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=INT)
    limit_per_member = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=INT)
    valid_from = MomentInput(required=False, allow_null=True)
    valid_until = MomentInput(required=False, allow_null=True)
    minimum_level_id = serializers.IntegerField(required=False, allow_null=True, **ID)
    code_days = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=36_500)
    is_active = SwitchField(required=False)


class RewardInput(RewardChangeInput):
    """`cost` in points."""

    name = serializers.CharField(max_length=120)
    cost = serializers.DecimalField(max_digits=10, decimal_places=2, min_value=0)


class BrandRewardFilter(TenantFilterSet):
    is_active = SwitchFilter(description="Only rewards that are switched on, or only those that are not.")


class BrandRewards(BrandList):
    """What the brand's points buy."""

    filterset_class = BrandRewardFilter
    output = BrandRewardListOutput

    @list_endpoint("list_brand_rewards", "List rewards", BrandRewardListOutput, REWARD, filters=BrandRewardFilter)
    @for_brand(ApiKey.Scope.READ, "loyalty.reward")
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List the brand's rewards, newest first. Needs the scope `read`."""
        return self.listed(Reward.objects.filter(brand=access.brand_id))

    @write_endpoint(
        "create_reward",
        "Create a reward",
        request=RewardInput,
        responses={201: BrandRewardRowOutput},
        examples=[request_example("A mug", WRITTEN), answer_example("Created", {"success": True, "data": REWARD})],
    )
    @for_brand(ApiKey.Scope.ADMIN, "loyalty.reward", ADD, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Create a reward that members can take for points. Needs the scope `admin`."""
        values = RewardInput.parse(request.data)
        check_level(access.brand_id, values)
        made = rows.create(
            Reward(brand_id=access.brand_id, **values),
            brand_id=access.brand_id,
            audit_context=access.audit_context(),
        )
        return Response(BrandRewardRowOutput.serialize(made), status=201)


class BrandReward(BrandView):
    """One of the brand's rewards."""

    @row_endpoint("read_brand_reward", "Read a reward", BrandRewardRowOutput, REWARD)
    @for_brand(ApiKey.Scope.READ, "loyalty.reward")
    def get(self, _request: Request, access: BrandAccess, reward_id: int) -> Response:
        """A reward as it is now. Needs the scope `read`."""
        found = row_of(Reward.objects.filter(brand=access.brand_id), pk=reward_id)
        return Response(BrandRewardRowOutput.serialize(found))

    @write_endpoint(
        "change_reward",
        "Change a reward",
        request=RewardChangeInput,
        responses=BrandRewardRowOutput,
        raises=[NotFound],
        examples=[
            request_example("A delivery came", {"stock": 40}),
            answer_example("Changed", {"success": True, "data": {**REWARD, "stock": 40}}),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, "loyalty.reward", CHANGE, writes=True)
    def patch(self, request: Request, access: BrandAccess, reward_id: int) -> Response:
        """Change what is given and keep the rest. Needs the scope `admin`. Codes that were issued stay as they are."""
        values = RewardChangeInput.parse(request.data)
        check_level(access.brand_id, values)
        changed = rows.change(
            Reward.objects.filter(brand=access.brand_id, pk=reward_id),
            values,
            brand_id=access.brand_id,
            audit_context=access.audit_context(),
        )
        return Response(BrandRewardRowOutput.serialize(changed))


def check_level(brand_id: int, values: dict[str, Any]) -> None:
    """Raises Invalid for a level that the brand does not have."""
    level_id = values.get("minimum_level_id")
    if level_id is not None and not BrandLevel.objects.filter(brand=brand_id, pk=level_id).exists():
        raise Invalid("This brand has no such level.", details={"field": "minimum_level_id"})


class BrandRedemptionOutput(Output):
    id = serializers.IntegerField()
    user_id = serializers.IntegerField(source="user_point.user_id")
    reward_id = serializers.IntegerField(allow_null=True, help_text="Null: a campaign's milestone gave it.")
    name = serializers.CharField(help_text="Of the reward, at the time.")
    cost = PointsField()
    status = serializers.ChoiceField(choices=Redemption.Status.values)
    created_at = TimestampField()
    expires_at = TimestampField(allow_null=True)
    used_at = TimestampField(allow_null=True)
    cancelled_at = TimestampField(allow_null=True)


BrandRedemptionListOutput = list_output(BrandRedemptionOutput)


class BrandRedemptionFilter(TenantFilterSet):
    status = ChoiceFilter(values=Redemption.Status.values, description="Only redemptions of this status.")
    reward_id = IdFilter(field_name="reward_id", description="Only redemptions of this reward.")
    user_id = IdFilter(field_name="user_point__user_id", description="Only redemptions by this member.")


class BrandRedemptions(BrandList):
    """What members took for points."""

    filterset_class = BrandRedemptionFilter
    output = BrandRedemptionListOutput

    @list_endpoint(
        "list_brand_redemptions",
        "List redemptions",
        BrandRedemptionListOutput,
        REDEMPTION,
        filters=BrandRedemptionFilter,
    )
    @for_brand(ApiKey.Scope.READ, "loyalty.redemption")
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List what members took, newest first, without the codes. Needs the scope `read`."""
        return self.listed(Redemption.objects.select_related("user_point").filter(brand=access.brand_id))


class BrandTransactionOutput(Output):
    id = serializers.IntegerField(source="loyalty_transaction_id")
    user_id = serializers.IntegerField(source="user_point.user_id")
    reason = serializers.ChoiceField(choices=LoyaltyTransaction.Reason.values)
    reason_id = serializers.CharField(help_text="Unique per member: an auth code, or a prefixed id such as order:17.")
    points_earned = PointsField()
    points_redeemed = PointsField()
    points_expired = PointsField()
    note = serializers.CharField(allow_blank=True)
    created_at = TimestampField()


BrandTransactionListOutput = list_output(BrandTransactionOutput)


class BrandTransactionFilter(TenantFilterSet):
    """By member, reason, and from a day to another, both included and by the brand's clock."""

    user_id = IdFilter(description="Only lines of this member.")
    reason = ChoiceFilter(values=LoyaltyTransaction.Reason.values, description="Only lines of this reason.")
    from_ = DayFilter(description="The first day, by the brand's clock.")
    to = DayFilter(description="The last day, included.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = self.form.cleaned_data
        if asked["from_"] or asked["to"]:
            brands = [self.request.brand_access.brand]
            days = local_time.on_days(
                "created_at", asked["from_"], asked["to"], brands=brands, path="user_point__brand"
            )
            queryset = queryset.filter(days)
        if asked["user_id"]:
            queryset = queryset.filter(user_point__user_id=asked["user_id"])
        return queryset.filter(reason=asked["reason"]) if asked["reason"] else queryset


class BrandTransactions(BrandList):
    """The brand's ledger."""

    filterset_class = BrandTransactionFilter
    output = BrandTransactionListOutput
    ordering = ("-loyalty_transaction_id",)

    @list_endpoint(
        "list_brand_transactions",
        "List ledger lines",
        BrandTransactionListOutput,
        ENTRY,
        filters=BrandTransactionFilter,
    )
    @for_brand(ApiKey.Scope.READ, "loyalty.loyaltytransaction")
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List what changed balances, the latest first. Needs the scope `read`. Lines never change."""
        lines = LoyaltyTransaction.objects.select_related("user_point").filter(user_point__brand=access.brand_id)
        return self.listed(lines)
