"""What customers can take for their points."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import for_own_brand, principal_of
from brands.models.tenants import Brand
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.pagination import PaginationOutput, page_parameters, paged
from core.errors import NotFound
from core.json_values import iso, plain
from core.redis import rate_limits
from loyalty.errors import NotEnoughPointsForReward
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts, levels
from loyalty.points.levels import Level, levels_of
from loyalty.rewards import redeem, rules
from loyalty.rewards.rules import MemberState

ZERO = Decimal(0)
OBSTACLES = [kind.code for kind in rules.INELIGIBLE]


class RewardOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    cost = serializers.FloatField(help_text="Points.")
    stock = serializers.IntegerField(allow_null=True, help_text="How many are left; null: as many as are asked for.")
    limit_per_member = serializers.IntegerField(allow_null=True)
    taken = serializers.IntegerField(help_text="How many of it the customer took.")
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    level = serializers.CharField(allow_null=True, help_text="The level that it needs.")
    available = serializers.BooleanField(help_text="The customer can take it now.")
    reason = serializers.ChoiceField(
        choices=OBSTACLES, allow_null=True, help_text="What stands in the way: the error that redeeming it would give."
    )
    missing = serializers.FloatField(
        allow_null=True, help_text="Points that the balance lacks; null unless reason is NOT_ENOUGH_POINTS."
    )


class RewardsOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = RewardOutput(many=True)  # type: ignore[assignment]
    pagination = PaginationOutput()


class Rewards(APIView):
    """The catalogue of the token's brand, as the customer finds it."""

    @endpoint(
        "list_rewards",
        tag="Rewards",
        summary="List the rewards",
        needs=[BEARER],
        raises=[NotFound],
        parameters=page_parameters(),
        responses=RewardsOutput,
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """What the brand offers for points, newest first, and for each whether the customer can take it now.

        An offer that is still to begin is listed too; one that ended or was switched off is not.
        """
        principal = principal_of(request)
        rate_limits.hit("read", principal.brand_id, principal.user_id)
        at = timezone.now()
        brand = get_object_or_404(Brand, pk=principal.brand_id)
        offered = Reward.objects.offered(at).filter(brand=brand).select_related("minimum_level")
        found, pagination = paged(request, offered, order=("-id",), view=self)
        data = present_rewards(found, brand=brand, user_id=principal.user_id, at=at)
        return Response({"success": True, "data": data, "pagination": pagination})


def present_rewards(found: Sequence[Reward], *, brand: Brand, user_id: int, at: datetime) -> list[dict[str, Any]]:
    account = accounts.account_of(brand_id=brand.pk, user_id=user_id)
    ladder = levels_of(brand)
    taken = taken_by(account, found)
    return [present_reward(reward, holder_of(brand, account, ladder, taken.get(reward.pk, 0)), at) for reward in found]


def taken_by(account: UserPoints | None, found: Sequence[Reward]) -> dict[int, int]:
    """How many of each reward a member took and did not give back."""
    if account is None:
        return {}
    mine = Redemption.objects.filter(user_point=account, reward__in=found)
    kept = mine.exclude(status=Redemption.Status.CANCELLED).order_by()
    return dict(kept.values_list("reward").annotate(Count("pk")))


def holder_of(brand: Brand, account: UserPoints | None, ladder: Sequence[Level], taken: int) -> MemberState:
    level = levels.held(levels=ladder, name=account.current_level if account else "")
    return MemberState(
        loyalty_active=brand.loyalty_active,
        blocked=account is not None and account.status == UserPoints.Status.BLOCKED,
        balance=account.points if account else ZERO,
        level_threshold=level.threshold if level else ZERO,
        taken=taken,
    )


def present_reward(reward: Reward, holder: MemberState, at: datetime) -> dict[str, Any]:
    obstacle = rules.obstacle(redeem.offer_of(reward), holder, at)
    lacks_points = obstacle is not None and obstacle.code == NotEnoughPointsForReward.code
    return {
        "id": reward.pk,
        "name": reward.name,
        "description": reward.description,
        "cost": plain(reward.cost),
        "stock": reward.stock,
        "limit_per_member": reward.limit_per_member,
        "taken": holder.taken,
        "valid_from": iso(reward.valid_from) if reward.valid_from else None,
        "valid_until": iso(reward.valid_until) if reward.valid_until else None,
        "level": reward.minimum_level.name if reward.minimum_level else None,
        "available": obstacle is None,
        "reason": obstacle.code if obstacle else None,
        "missing": plain(reward.cost - holder.balance) if lacks_points else None,
    }
