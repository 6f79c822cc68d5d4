"""Which member may take which reward, and what stands in the way: rules that read nothing and write nothing."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from core.errors import DomainError
from loyalty.errors import (
    LevelTooLow,
    LoyaltyDisabled,
    MemberBlocked,
    NotEnoughPointsForReward,
    OutOfStock,
    RedemptionLimitReached,
    RewardNotAvailable,
)

# What may stand in the way, in the order in which it is looked at.
INELIGIBLE = (
    LoyaltyDisabled,
    MemberBlocked,
    RewardNotAvailable,
    LevelTooLow,
    RedemptionLimitReached,
    OutOfStock,
    NotEnoughPointsForReward,
)


@dataclass(frozen=True, slots=True)
class RewardTerms:
    """A reward's terms: `cost` in points, `level_threshold` in lifetime points and `segment`, None for everybody."""

    cost: Decimal
    is_active: bool
    valid_from: datetime | None
    valid_until: datetime | None
    stock: int | None
    limit_per_member: int | None
    level_name: str
    level_threshold: Decimal | None
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class MemberState:
    """A member as rewards see them: balance, level's threshold, how many of this reward they took, segments."""

    loyalty_active: bool
    blocked: bool
    balance: Decimal
    level_threshold: Decimal
    taken: int
    segments: frozenset[int] = frozenset()


def ineligibility(offer: RewardTerms, holder: MemberState, at: datetime) -> DomainError | None:
    """Why this member cannot take this reward now; None where they can. What cannot be helped comes first."""
    if not holder.loyalty_active:
        return LoyaltyDisabled()
    if holder.blocked:
        return MemberBlocked()
    begun = offer.valid_from is None or offer.valid_from <= at
    ended = offer.valid_until is not None and offer.valid_until <= at
    if not (offer.is_active and begun) or ended:
        return RewardNotAvailable()
    if offer.segment is not None and offer.segment not in holder.segments:
        return RewardNotAvailable()
    if offer.level_threshold is not None and holder.level_threshold < offer.level_threshold:
        return LevelTooLow(details={"level": offer.level_name})
    if offer.limit_per_member is not None and holder.taken >= offer.limit_per_member:
        return RedemptionLimitReached(details={"limit": offer.limit_per_member})
    if offer.stock is not None and offer.stock <= 0:
        return OutOfStock()
    if holder.balance < offer.cost:
        return NotEnoughPointsForReward(details={"missing": float(offer.cost - holder.balance)})
    return None
