"""Grants rewards that were won: from the catalogue, or named by the milestone."""

import uuid
from datetime import datetime, timedelta

from django.db.models import F
from django.utils.translation import gettext as _

from core.db.statements import part
from loyalty.errors import LoyaltyDisabled, OutOfStock, RewardNotAvailable
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode, Redemption, Reward
from loyalty.points import accounts
from loyalty.rewards import codes
from loyalty.rewards.returns import EVENT_ID_NAMESPACE, ZERO

INSERT_GRANTED = part("loyalty/rewards/sql/insert_granted.sql")


def locked_account(brand_id: int, user_id: int) -> UserPoints:
    """The customer's account, locked. Raises a DomainError if it may receive nothing."""
    rows = UserPoints.objects.filter(brand_id=brand_id, user_id=user_id).select_related("brand")
    account = rows.select_for_update(of=("self",), no_key=True).first()
    if account is None:
        raise RewardNotAvailable(_("This milestone has not been reached yet."))
    if not account.brand.loyalty_active:
        raise LoyaltyDisabled
    accounts.reject_closed(account.status)
    return account


def cause_of(milestone_id: int, milestone_round: int) -> str:
    """The cause of a milestone's reward, unique per round."""
    return f"claim:{milestone_id}" if milestone_round == 1 else f"claim:{milestone_id}:{milestone_round}"


def request_key_of(milestone_id: int, milestone_round: int) -> uuid.UUID:
    return uuid.uuid5(EVENT_ID_NAMESPACE, cause_of(milestone_id, milestone_round))


def grant_reward(
    *,
    account: UserPoints,
    milestone_id: int,
    name: str,
    at: datetime,
    milestone_round: int = 1,
    reward_id: int | None = None,
) -> None:
    """Grant the reward of a milestone, with a code for the till. Raises IntegrityError if it was granted in this round.

    `reward_id` is a reward of the catalogue, whose stock decreases by one. Raises OutOfStock without stock. Joins a
    transaction, with the account locked; locks the reward or partner code, as write_redemption.sql does.
    """
    reward = Reward.objects.get(pk=reward_id, brand=account.brand_id) if reward_id else None
    made = Redemption.objects.create(
        brand_id=account.brand_id,
        user_point=account,
        reward=reward,
        milestone_id=milestone_id,
        milestone_round=milestone_round,
        name=reward.name if reward else name,
        cost=ZERO,
        balance_after=account.points,
        code=codes.new(),
        request_key=request_key_of(milestone_id, milestone_round),
        created_at=at,
        # The code of a reward outside the catalogue does not expire.
        expires_at=at + timedelta(days=reward.code_days) if reward and reward.code_days else None,
    )
    if reward:
        _take_one(reward, made, at)


def _take_one(reward: Reward, redemption: Redemption, at: datetime) -> None:
    """Raises OutOfStock."""
    if reward.uses_pool:
        rows = PoolCode.objects.available(at).filter(reward=reward).order_by("expires_at", "pk")
        code = rows.select_for_update(skip_locked=True, of=("self",)).first()
        if code is None:
            raise OutOfStock
        code.redemption = redemption
        code.save(update_fields=["redemption"])
        ends = [each for each in (redemption.expires_at, code.expires_at) if each]
        if ends and min(ends) != redemption.expires_at:
            redemption.expires_at = min(ends)
            redemption.save(update_fields=["expires_at"])
    elif reward.stock is not None:
        limited = Reward.objects.filter(pk=reward.pk, stock__isnull=False)
        if not limited.filter(stock__gt=0).update(stock=F("stock") - 1) and limited.exists():
            raise OutOfStock
