"""Redemption by customers, and redemption codes for customers and for a shop's till."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, for_own_brand, principal_of
from core.api.filters import ChoiceFilter, TenantFilterSet
from core.api.idempotency import REQUIRED_IDEMPOTENCY_HEADER, idempotent_id, required_idempotency_key
from core.api.lists import ListView
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example, page_example
from core.api.openapi.shared_examples import CODE, GOOD, WHEN
from core.api.outputs import Output, PointsField, SuccessField, TimestampField, data_output
from core.api.pagination import PaginationOutput, page_parameters
from core.translations import in_language
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes, pools, redeem, till, undo
from loyalty.rewards.redeem import RedemptionRequest

PARTNER = "Whether the code is a partner's: it is used there, and unknown to the brand's own till."
STATES = ["good", "used", "expired", "cancelled", "blocked"]


REDEEMED = {
    "redemption_id": 4711,
    "code": CODE,
    "is_partner_code": False,
    "cost": 250,
    "new_balance": 70,
    "expires_at": WHEN,
    "undo_until": WHEN,
}
UNDONE = {"redemption_id": 4711, "points": 250, "new_balance": 320}


class CodeField(serializers.CharField):
    """A code for the brand's till, in groups; a partner's code unchanged."""

    def get_attribute(self, instance: Redemption) -> str:
        return pools.code_of(instance) or codes.grouped(instance.code)


class PartnerCodeField(serializers.BooleanField):
    """Whether the code is a partner's."""

    def get_attribute(self, instance: Redemption) -> bool:
        return pools.code_of(instance) is not None


class StateField(serializers.ChoiceField):
    """The current state of a redemption."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=STATES, source="*", **options)

    def to_representation(self, value: Any) -> str:
        return till.state_of(value, timezone.now())


class UndoUntilField(TimestampField):
    """Until when the customer can undo a redemption."""

    def get_attribute(self, instance: Redemption) -> datetime | None:
        return undo.undo_until(instance, timezone.now())


class RedeemedData(Output):
    redemption_id = serializers.IntegerField(source="pk")
    code = CodeField(help_text="The code for the till; for a QR code, use exactly this text.")
    is_partner_code = PartnerCodeField(help_text=PARTNER)
    cost = PointsField(help_text="In points.")
    new_balance = PointsField(source="balance_after", help_text="The balance after the redemption.")
    expires_at = TimestampField(allow_null=True, help_text="When the code expires; null if it never does.")
    undo_until = UndoUntilField(
        allow_null=True, help_text="Until when the redemption can be undone; null if it cannot be."
    )


RedeemedOutput = data_output(RedeemedData)


class NameField(serializers.CharField):
    """The name of the reward at its redemption. Translated unless the reward was renamed since."""

    def get_attribute(self, instance: Redemption) -> str:
        reward = instance.reward
        return in_language(reward, "name") if reward and reward.name == instance.name else instance.name


class RedemptionOutput(Output):
    redemption_id = serializers.IntegerField(source="pk")
    reward_id = serializers.IntegerField(allow_null=True)
    milestone_id = serializers.IntegerField(allow_null=True)
    name = NameField(help_text="The reward's name at the time.")
    cost = PointsField()
    code = CodeField()
    is_partner_code = PartnerCodeField(help_text=PARTNER)
    state = StateField()
    created_at = TimestampField()
    expires_at = TimestampField(allow_null=True)
    used_at = TimestampField(allow_null=True)
    undo_until = UndoUntilField(
        allow_null=True, help_text="Until when the redemption can be undone; null if it cannot be."
    )


class RedemptionsOutput(Output):
    success = SuccessField()
    data = RedemptionOutput(many=True, source="rows")  # type: ignore[assignment]
    pagination = PaginationOutput()


class Redeem(APIView):
    """Redeem a reward for points."""

    @endpoint(
        "redeem_reward",
        tag="Rewards",
        summary="Redeem a reward",
        needs=[BEARER],
        calls=[redeem.redeem],
        parameters=[REQUIRED_IDEMPOTENCY_HEADER],
        request=None,
        responses={201: RedeemedOutput},
        examples=[data_example("Redeemed", REDEEMED)],
    )
    @changing_own_brand
    def post(self, request: Request, reward_id: int) -> Response:
        """Redeem a reward for points, and get a code for the till.

        Points, stock and code change together or not at all. An error changes nothing, and the same key may be used
        again. The key is required, because repeating a request whose answer was lost would otherwise cost points twice.
        """
        principal = principal_of(request, rate_limit="redeem")
        key = required_idempotency_key(request)
        redemption_request = RedemptionRequest(
            brand_id=principal.brand_id,
            user_id=principal.user_id,
            reward_id=reward_id,
            key=idempotent_id("redeem", principal.brand_id, principal.user_id, key),
            at=timezone.now(),
        )
        return Response(RedeemedOutput.serialize(redeem.redeem(redemption_request)), status=201)


class UndoneData(Output):
    redemption_id = serializers.IntegerField(source="redemption.pk")
    points = PointsField(source="redemption.cost", help_text="Points that were returned.")
    new_balance = PointsField(source="balance", help_text="The balance now.")


UndoneOutput = data_output(UndoneData)


class Undo(APIView):
    """Undo a redemption made by mistake."""

    @endpoint(
        "undo_redemption",
        tag="Rewards",
        summary="Undo a redemption",
        needs=[BEARER],
        calls=[undo.undo],
        request=None,
        responses=UndoneOutput,
        examples=[data_example("Undone", UNDONE)],
    )
    @changing_own_brand
    def post(self, request: Request, redemption_id: int) -> Response:
        """Undo a redemption for points that is at most five minutes old (`undo_until`) and not used yet.

        Its points and stock are returned once, and its code becomes invalid; repeating the call returns the same
        answer. Rewards of milestones and partner codes cannot be returned.
        """
        principal = principal_of(request, rate_limit="redeem")
        undone = undo.undo(
            brand_id=principal.brand_id, user_id=principal.user_id, redemption_id=redemption_id, at=timezone.now()
        )
        return Response(UndoneOutput.serialize(undone))


REDEMPTION = {
    "redemption_id": 4711,
    "reward_id": 12,
    "milestone_id": None,
    "name": "Enamel mug",
    "cost": 250,
    "code": CODE,
    "is_partner_code": False,
    **GOOD,
    "undo_until": None,
}


class RedemptionFilter(TenantFilterSet):
    status = ChoiceFilter(values=Redemption.Status.values, description="Only redemptions with this status.")


class Redemptions(ListView):
    """The customer's redemptions, with their codes."""

    filterset_class = RedemptionFilter
    ordering = ("-id",)

    @endpoint(
        "list_redemptions",
        tag="Rewards",
        summary="List my redemptions",
        needs=[BEARER],
        parameters=[*page_parameters(), *RedemptionFilter.parameters()],
        responses=RedemptionsOutput,
        examples=[page_example(REDEMPTION)],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """List the rewards that the customer redeemed or won at the token's brand, newest first, with their codes."""
        principal = principal_of(request, rate_limit="read")
        rows = Redemption.objects.select_related("user_point", "reward", "pool_code")
        rows = rows.filter(user_point__user_id=principal.user_id, user_point__brand_id=principal.brand_id)
        return Response(RedemptionsOutput.serialize(self.page_of(rows)))
