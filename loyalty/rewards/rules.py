"""Eligibility of members for rewards: pure rules without I/O."""

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

# The possible errors, in the order in which they are checked.
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
    """A reward's terms: `cost` in points, `level_threshold` in lifetime points, and `segment`; None means no limit."""

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
    """A member's state for rewards: balance, level's threshold, earlier redemptions of this reward, segments."""

    loyalty_active: bool
    blocked: bool
    balance: Decimal
    level_threshold: Decimal
    taken: int
    segments: frozenset[int] = frozenset()


def ineligibility(terms: RewardTerms, member: MemberState, at: datetime) -> DomainError | None:
    """Why this member cannot redeem this reward now, or None. What the member cannot change comes first."""
    if not member.loyalty_active:
        return LoyaltyDisabled()
    if member.blocked:
        return MemberBlocked()
    begun = terms.valid_from is None or terms.valid_from <= at
    ended = terms.valid_until is not None and terms.valid_until <= at
    if not (terms.is_active and begun) or ended:
        return RewardNotAvailable()
    if terms.segment is not None and terms.segment not in member.segments:
        return RewardNotAvailable()
    if terms.level_threshold is not None and member.level_threshold < terms.level_threshold:
        return LevelTooLow(details={"level": terms.level_name})
    if terms.limit_per_member is not None and member.taken >= terms.limit_per_member:
        return RedemptionLimitReached(details={"limit": terms.limit_per_member})
    if terms.stock is not None and terms.stock <= 0:
        return OutOfStock()
    if member.balance < terms.cost:
        return NotEnoughPointsForReward(details={"missing": float(terms.cost - member.balance)})
    return None
