"""Taking rewards, by customers; and the codes of what was taken, for customers and for a shop's till."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands import limits
from brands.authentication import changing_own_brand, for_brand_of_key, for_own_brand
from brands.inputs import Input
from brands.keys import Caller
from brands.openapi import BEARER, KEY, endpoint
from brands.paging import paged
from brands.refusals import Forbidden, Invalid
from loyalty import redemption_codes, redemptions
from loyalty.doors import keyed_id
from loyalty.events import iso
from loyalty.masking import masked
from loyalty.models import Redemption
from loyalty.points import plain
from loyalty.redemptions import Claimed, Undone, Wish
from loyalty.views.account import PaginationOutput, page_parameters, principal_of
from loyalty.views.events import IDEMPOTENCY_HEADER, IDEMPOTENCY_KEY, idempotency_key
from loyalty.views.rewards import OBSTACLES

STATES = ["good", "used", "expired", "cancelled", "blocked"]
NEEDED_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
    OpenApiParameter.HEADER,
    required=True,
    description="New for each wish. The same key for the same reward is answered with what it got the first time.",
)


class RedeemedData(serializers.Serializer[Any]):
    redemption_id = serializers.IntegerField()
    code = serializers.CharField(help_text="For the till; also as a QR code, exactly like this.")
    cost = serializers.FloatField(help_text="Points.")
    new_balance = serializers.FloatField(help_text="The balance after it.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the code is worth nothing; null: never.")
    undo_until = serializers.DateTimeField(allow_null=True, help_text="Until when it can be given back; null: never.")


class RedeemedOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = RedeemedData()  # type: ignore[assignment]


class ClaimedData(serializers.Serializer[Any]):
    milestone_id = serializers.IntegerField()
    reward_name = serializers.CharField()
    points = serializers.FloatField(help_text="Points that it pays; they come as all points do. 0 for a thing.")
    redemption_id = serializers.IntegerField(allow_null=True)
    code = serializers.CharField(allow_null=True, help_text="For the till, where the reward is a thing.")


class ClaimedOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = ClaimedData()  # type: ignore[assignment]


class RedemptionOutput(serializers.Serializer[Any]):
    redemption_id = serializers.IntegerField()
    reward_id = serializers.IntegerField(allow_null=True)
    milestone_id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField(help_text="Of the reward, as it was called at the time.")
    cost = serializers.FloatField()
    code = serializers.CharField()
    state = serializers.ChoiceField(choices=STATES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(allow_null=True)
    undo_until = serializers.DateTimeField(allow_null=True, help_text="Until when it can be given back; null: never.")


class RedemptionsOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = RedemptionOutput(many=True)  # type: ignore[assignment]
    pagination = PaginationOutput()


class TillInput(Input):
    code = serializers.CharField(max_length=100, help_text="With or without separators, in any case.")


class TillData(serializers.Serializer[Any]):
    redemption_id = serializers.IntegerField()
    name = serializers.CharField(help_text="Of the reward.")
    cost = serializers.FloatField()
    member = serializers.CharField(help_text="Masked.")
    state = serializers.ChoiceField(choices=STATES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(allow_null=True)


class TillOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = TillData()  # type: ignore[assignment]


class Redeem(APIView):
    """Take a reward for points."""

    @endpoint(
        "redeem_reward",
        tag="Rewards",
        summary="Redeem a reward",
        needs=[BEARER],
        errors=[
            "AUTHENTICATION_REQUIRED",
            "TOKEN_INVALID",
            "REWARD_NOT_FOUND",
            *OBSTACLES,
            "IDEMPOTENCY_KEY_REUSED",
            "RATE_LIMITED",
        ],
        parameters=[NEEDED_KEY],
        request=None,
        responses={201: RedeemedOutput},
    )
    @changing_own_brand
    def post(self, request: Request, reward_id: int) -> Response:
        """Take a reward for points, and get the code that the till takes for it.

        Points, stock and code change together or not at all; a refusal changes nothing, and the same key may be tried
        again. The key is required because a request whose answer was lost would otherwise cost twice.
        """
        principal = principal_of(request)
        limits.hit("redeem", principal.brand_id, principal.user_id)
        key = idempotency_key(request)
        if not key:
            raise Invalid("Send an Idempotency-Key, new for each wish.", details={"header": "Idempotency-Key"})
        wish = Wish(
            brand_id=principal.brand_id,
            user_id=principal.user_id,
            reward_id=reward_id,
            key=keyed_id("redeem", principal.brand_id, principal.user_id, key),
            at=timezone.now(),
        )
        return Response({"success": True, "data": present_redeemed(redemptions.redeem(wish))}, status=201)


def present_redeemed(redemption: Redemption) -> dict[str, Any]:
    return {
        "redemption_id": redemption.pk,
        "code": redemption_codes.grouped(redemption.code),
        "cost": plain(redemption.cost),
        "new_balance": plain(redemption.balance_after),
        "expires_at": iso(redemption.expires_at) if redemption.expires_at else None,
        **present_undo(redemption),
    }


def present_undo(redemption: Redemption) -> dict[str, Any]:
    end = redemptions.undo_until(redemption, timezone.now())
    return {"undo_until": iso(end) if end else None}


class UndoneData(serializers.Serializer[Any]):
    redemption_id = serializers.IntegerField()
    points = serializers.FloatField(help_text="Points that came back.")
    new_balance = serializers.FloatField(help_text="The balance now.")


class UndoneOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = UndoneData()  # type: ignore[assignment]


class Undo(APIView):
    """Give back a reward that was taken by mistake."""

    @endpoint(
        "undo_redemption",
        tag="Rewards",
        summary="Undo a redemption",
        needs=[BEARER],
        errors=[
            "AUTHENTICATION_REQUIRED",
            "TOKEN_INVALID",
            "MEMBER_BLOCKED",
            "REDEMPTION_USED",
            "UNDO_NOT_POSSIBLE",
            "RATE_LIMITED",
        ],
        request=None,
        responses=UndoneOutput,
    )
    @changing_own_brand
    def post(self, request: Request, redemption_id: int) -> Response:
        """Give back a reward that was redeemed for points at most five minutes ago (`undo_until`) and is not used yet.

        Its points and stock come back, once, and its code is worth nothing: asked again, this answers the same. What a
        milestone gave cannot be given back.
        """
        principal = principal_of(request)
        limits.hit("redeem", principal.brand_id, principal.user_id)
        undone = redemptions.undo(
            brand_id=principal.brand_id, user_id=principal.user_id, redemption_id=redemption_id, at=timezone.now()
        )
        return Response({"success": True, "data": present_undone(undone)})


def present_undone(undone: Undone) -> dict[str, Any]:
    return {
        "redemption_id": undone.redemption.pk,
        "points": plain(undone.redemption.cost),
        "new_balance": plain(undone.balance),
    }


CLAIM_ERRORS = [
    "AUTHENTICATION_REQUIRED",
    "TOKEN_INVALID",
    "REWARD_NOT_FOUND",
    "REWARD_NOT_AVAILABLE",
    "LOYALTY_DISABLED",
    "MEMBER_BLOCKED",
    "RATE_LIMITED",
]


class Claim(APIView):
    """Take the reward of a milestone that waits to be claimed."""

    @endpoint(
        "claim_reward",
        tag="Rewards",
        summary="Claim a milestone's reward",
        needs=[BEARER],
        errors=CLAIM_ERRORS,
        request=None,
        responses=ClaimedOutput,
    )
    @changing_own_brand
    def post(self, request: Request, milestone_id: int) -> Response:
        """Take the reward of a milestone that is `claimable` in `list_campaigns`; `milestone_id` names it.

        Points come as all points do, a moment later; a thing gets a code for the till. It is given once: asked again,
        this answers the same.
        """
        return claim(request, milestone_id)


class ClaimAsReward(APIView):
    """The same under the path that it had first."""

    @endpoint(
        "claim_reward_by_old_path",
        tag="Rewards",
        summary="Claim a milestone's reward (old path)",
        needs=[BEARER],
        errors=CLAIM_ERRORS,
        request=None,
        responses=ClaimedOutput,
        deprecated=True,
    )
    @changing_own_brand
    def post(self, request: Request, milestone_id: int) -> Response:
        """As `claim_reward`, which has a path of its own now: the number in this one names a milestone, not a reward.

        It goes on answering the same.
        """
        return claim(request, milestone_id)


def claim(request: Request, milestone_id: int) -> Response:
    principal = principal_of(request)
    limits.hit("redeem", principal.brand_id, principal.user_id)
    claimed = redemptions.claim(
        brand_id=principal.brand_id, user_id=principal.user_id, milestone_id=milestone_id, at=timezone.now()
    )
    return Response({"success": True, "data": present_claimed(claimed)})


def present_claimed(claimed: Claimed) -> dict[str, Any]:
    redemption = claimed.redemption
    return {
        "milestone_id": claimed.milestone.pk,
        "reward_name": claimed.milestone.reward_name,
        "points": plain(claimed.milestone.reward_points),
        "redemption_id": redemption.pk if redemption else None,
        "code": redemption_codes.grouped(redemption.code) if redemption else None,
    }


class Redemptions(APIView):
    """What the customer took, with the codes."""

    @endpoint(
        "list_redemptions",
        tag="Rewards",
        summary="List my redemptions",
        needs=[BEARER],
        errors=["AUTHENTICATION_REQUIRED", "TOKEN_INVALID", "RATE_LIMITED"],
        parameters=page_parameters(),
        responses=RedemptionsOutput,
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """The rewards that the customer took or won at the token's brand, newest first, with their codes."""
        principal = principal_of(request)
        limits.hit("read", principal.brand_id, principal.user_id)
        theirs = Redemption.objects.select_related("user_point")
        mine = theirs.filter(user_point__user_id=principal.user_id, user_point__brand_id=principal.brand_id)
        found, pagination = paged(request, mine, order=("-id",), view=self)
        return Response({"success": True, "data": [present_mine(each) for each in found], "pagination": pagination})


def present_mine(redemption: Redemption) -> dict[str, Any]:
    return {
        "redemption_id": redemption.pk,
        "reward_id": redemption.reward_id,
        "milestone_id": redemption.milestone_id,
        "name": redemption.name,
        "cost": plain(redemption.cost),
        "code": redemption_codes.grouped(redemption.code),
        **present_state(redemption),
        **present_undo(redemption),
    }


def present_state(redemption: Redemption) -> dict[str, Any]:
    return {
        "state": redemptions.state_of(redemption, timezone.now()),
        "created_at": iso(redemption.created_at),
        "expires_at": iso(redemption.expires_at) if redemption.expires_at else None,
        "used_at": iso(redemption.used_at) if redemption.used_at else None,
    }


TILL_ERRORS = ["API_KEY_INVALID", "FORBIDDEN", "REDEMPTION_CODE_UNKNOWN", "RATE_LIMITED"]


def require_till(caller: Caller) -> None:
    """A till speaks through the brand's hub. Raises Forbidden."""
    if not caller.is_hub:
        raise Forbidden("Only a hub key may look codes up.")


def present_till(redemption: Redemption) -> dict[str, Any]:
    return {
        "redemption_id": redemption.pk,
        "name": redemption.name,
        "cost": plain(redemption.cost),
        "member": masked(redemption.user_point),
        **present_state(redemption),
    }


class CheckRedemption(APIView):
    """What a code is worth."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "check_redemption",
        tag="Rewards",
        summary="Check a code",
        needs=[KEY],
        errors=TILL_ERRORS,
        request=TillInput,
        responses=TillOutput,
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """For a till: what a customer's code is for, and whether it is still good. Needs a hub key.

        A member who is blocked gets nothing for a code that is otherwise good; its `state` is `blocked` then.
        The code may be typed with or without separators; a slip in it is noticed.
        """
        require_till(caller)
        given = TillInput.parse(request.data)
        found = redemptions.find(brand_ids=[caller.brand_id], text=given["code"])
        return Response({"success": True, "data": present_till(found)})


class UseRedemption(APIView):
    """Hand the reward out: the code is used."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "use_redemption",
        tag="Rewards",
        summary="Use a code",
        needs=[KEY],
        errors=[*TILL_ERRORS, "REDEMPTION_USED", "REDEMPTION_EXPIRED", "REDEMPTION_CANCELLED", "MEMBER_BLOCKED"],
        parameters=[IDEMPOTENCY_HEADER],
        request=TillInput,
        responses=TillOutput,
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """For a till: mark a customer's code as used, once. Needs a hub key.

        With an Idempotency-Key the same request again is answered the same; otherwise a second one is REDEMPTION_USED.
        """
        require_till(caller)
        given = TillInput.parse(request.data)
        at = timezone.now()
        key = idempotency_key(request)
        found = redemptions.find(brand_ids=[caller.brand_id], text=given["code"])
        asked = keyed_id("use", caller.brand_id, found.pk, key or at.isoformat())
        used = redemptions.use(redemption=found, at=at, key_id=caller.key_id, request=asked)
        return Response({"success": True, "data": present_till(used)})
