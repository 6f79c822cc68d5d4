"""Hands out rewards that cost no points."""

import uuid
from datetime import datetime

from django.utils.translation import gettext as _

from loyalty.errors import LoyaltyDisabled, RewardNotAvailable
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.points import accounts
from loyalty.rewards import codes
from loyalty.rewards.returns import EVENT_ID_NAMESPACE, ZERO

# A thing that was won has no price that could go stale: its code stays good.
WON_THINGS_EXPIRE = None


def reaching_member(brand_id: int, user_id: int) -> UserPoints:
    """The customer's account, locked. Raises DomainError where it cannot be given anything."""
    rows = UserPoints.objects.filter(brand_id=brand_id, user_id=user_id).select_related("brand")
    account = rows.select_for_update(of=("self",), no_key=True).first()
    if account is None:
        raise RewardNotAvailable(_("This milestone has not been reached yet."))
    if not account.brand.loyalty_active:
        raise LoyaltyDisabled
    accounts.reject_closed(account.status)
    return account


def grant_reward(*, account: UserPoints, milestone_id: int, name: str, at: datetime, milestone_round: int = 1) -> None:
    """Give what the milestone promises, with a code for the till; once in a round, or IntegrityError.

    Joins a transaction.
    """
    cause = f"claim:{milestone_id}" if milestone_round == 1 else f"claim:{milestone_id}:{milestone_round}"
    Redemption.objects.create(
        brand_id=account.brand_id,
        user_point=account,
        milestone_id=milestone_id,
        milestone_round=milestone_round,
        name=name,
        cost=ZERO,
        balance_after=account.points,
        code=codes.new(),
        request_key=uuid.uuid5(EVENT_ID_NAMESPACE, cause),
        created_at=at,
        expires_at=WON_THINGS_EXPIRE,
    )
