"""The brand's levels and rewards over HTTP, for its own systems and staff."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access import rows
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, write_endpoint
from brands.identity.roles import ADD, CHANGE
from brands.models.credentials import ApiKey
from core.api.filters import SwitchFilter, TenantFilterSet
from core.api.inputs import ID, ChangeInput, MomentInput, SwitchField
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PictureField, PointsField, TimestampField
from core.errors import Invalid, NotFound
from core.numbers import MAX_INTEGER
from loyalty.models.levels import BrandLevel, RewardType
from loyalty.models.programme.segments import Segment
from loyalty.models.rewards import Reward

LEVEL = {"id": 2, "name": "Silver", "threshold": 500, "scan_reward_type": "points", "scan_reward_value": 10}
REWARD = {
    "id": 12,
    "name": "Enamel mug",
    "description": "With the brand's mountain.",
    "cost": 250,
    "picture": "/pictures/0f3a1a52-53b1-4f6e-9a53-6c1a2f0f9f11/small",
    "stock": 17,
    "limit_per_member": 2,
    "valid_from": None,
    "valid_until": WHEN,
    "minimum_level_id": 2,
    "segment_id": None,
    "code_days": 90,
    "is_active": True,
    "created_at": WHEN,
}
WRITTEN = {"name": "Enamel mug", "cost": 250, "stock": 17}


class BrandLevelOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    threshold = PointsField(
        help_text="Points from which a member has this level: lifetime points, or those of the level period."
    )
    scan_reward_type = serializers.ChoiceField(choices=RewardType.values)
    scan_reward_value = PointsField(help_text="Points per scan, or a percentage of the product's price.")


LEVELS = ModelEndpoints("loyalty.brandlevel", BrandLevelOutput, LEVEL, ordering=("threshold", "id"))


class BrandLevels(BrandView):
    """The brand's levels."""

    @LEVELS.list_endpoint("list_levels", "List levels")
    def get(self, access: BrandAccess) -> QuerySet[BrandLevel]:
        """List the brand's levels, the lowest first. Needs the scope `read`."""
        return BrandLevel.objects.filter(brand=access.brand_id)


class BrandLevelView(BrandView):
    """One of the brand's levels."""

    @LEVELS.row_endpoint("read_level", "Read a level")
    def get(self, access: BrandAccess, level_id: int) -> QuerySet[BrandLevel]:
        """Return a level: its threshold, and what its members' scans earn. Needs the scope `read`."""
        return BrandLevel.objects.filter(brand=access.brand_id, pk=level_id)


class BrandRewardOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    cost = PointsField(allow_null=True, help_text="In points; null for a reward that is only won in campaigns.")
    picture = PictureField(
        source="picture_id",
        allow_null=True,
        help_text="The path of its picture on this host: WebP of at most 480 x 360 pixels, uploaded by staff.",
    )
    stock = serializers.IntegerField(
        allow_null=True, help_text="How many are left, to redeem and to win; null for no limit."
    )
    limit_per_member = serializers.IntegerField(allow_null=True)
    valid_from = TimestampField(allow_null=True)
    valid_until = TimestampField(allow_null=True)
    minimum_level_id = serializers.IntegerField(allow_null=True, help_text="Only for members of this level and above.")
    segment_id = serializers.IntegerField(allow_null=True, help_text="Only for members of this segment.")
    code_days = serializers.IntegerField(
        allow_null=True, help_text="Days until an unused code expires; null if it never does."
    )
    is_active = serializers.BooleanField()
    created_at = TimestampField()


class RewardChangeInput(ChangeInput):
    """Fields that are left out stay unchanged."""

    name = serializers.CharField(required=False, max_length=120)
    description = serializers.CharField(required=False, max_length=2000, allow_blank=True)
    cost = serializers.DecimalField(required=False, allow_null=True, max_digits=10, decimal_places=2, min_value=0)
    stock = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=MAX_INTEGER)
    limit_per_member = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MAX_INTEGER)
    valid_from = MomentInput(required=False, allow_null=True)
    valid_until = MomentInput(required=False, allow_null=True)
    minimum_level_id = serializers.IntegerField(required=False, allow_null=True, **ID)
    segment_id = serializers.IntegerField(required=False, allow_null=True, **ID)
    code_days = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=36_500)
    is_active = SwitchField(required=False)


class RewardInput(RewardChangeInput):
    """`cost` in points; null for a reward that is only won in campaigns."""

    name = serializers.CharField(max_length=120)
    cost = serializers.DecimalField(allow_null=True, max_digits=10, decimal_places=2, min_value=0)


class BrandRewardFilter(TenantFilterSet):
    is_active = SwitchFilter(description="Only active rewards, or only inactive ones.")


REWARDS = ModelEndpoints("loyalty.reward", BrandRewardOutput, REWARD, filters=BrandRewardFilter)


class BrandRewards(BrandView):
    """The brand's catalogue: what its points buy and its campaigns give."""

    @REWARDS.list_endpoint("list_brand_rewards", "List rewards")
    def get(self, access: BrandAccess) -> QuerySet[Reward]:
        """List the brand's rewards, newest first. Needs the scope `read`."""
        return Reward.objects.filter(brand=access.brand_id)

    @write_endpoint(
        "create_reward",
        "Create a reward",
        request=RewardInput,
        responses={201: REWARDS.row_output},
        examples=[request_example("A mug", WRITTEN), data_example("Created", REWARD)],
    )
    @for_brand(ApiKey.Scope.ADMIN, "loyalty.reward", ADD, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Create a reward that members can redeem for points or win in campaigns. Needs the scope `admin`."""
        values = RewardInput.parse(request.data)
        check_references(access.brand_id, values)
        made = rows.create(
            Reward(brand_id=access.brand_id, **values),
            brand_id=access.brand_id,
            audit_context=access.audit_context(),
        )
        return Response(REWARDS.row_output.serialize(made), status=201)


class BrandReward(BrandView):
    """One of the brand's rewards."""

    @REWARDS.row_endpoint("read_brand_reward", "Read a reward")
    def get(self, access: BrandAccess, reward_id: int) -> QuerySet[Reward]:
        """Return a reward. Needs the scope `read`."""
        return Reward.objects.filter(brand=access.brand_id, pk=reward_id)

    @write_endpoint(
        "change_reward",
        "Change a reward",
        request=RewardChangeInput,
        responses=REWARDS.row_output,
        raises=[NotFound],
        examples=[
            request_example("New stock", {"stock": 40}),
            data_example("Changed", {**REWARD, "stock": 40}),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, "loyalty.reward", CHANGE, writes=True)
    def patch(self, request: Request, access: BrandAccess, reward_id: int) -> Response:
        """Change the fields that are sent. Needs the scope `admin`. Other fields and issued codes stay unchanged."""
        values = RewardChangeInput.parse(request.data)
        check_references(access.brand_id, values)
        changed = rows.change(
            Reward.objects.filter(brand=access.brand_id, pk=reward_id),
            values,
            brand_id=access.brand_id,
            audit_context=access.audit_context(),
        )
        return Response(REWARDS.row_output.serialize(changed))


def check_references(brand_id: int, values: dict[str, Any]) -> None:
    """Raises Invalid if the brand does not have the level or the segment."""
    level_id = values.get("minimum_level_id")
    if level_id is not None and not BrandLevel.objects.filter(brand=brand_id, pk=level_id).exists():
        raise Invalid("This brand has no such level.", details={"field": "minimum_level_id"})
    segment_id = values.get("segment_id")
    if segment_id is not None and not Segment.objects.filter(brand=brand_id, pk=segment_id).exists():
        raise Invalid("This brand has no such segment.", details={"field": "segment_id"})
