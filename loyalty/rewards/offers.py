"""Rewards for one member: what is offered, and whether the member is eligible."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count

from brands.models.tenants import Brand
from core.errors import DomainError
from loyalty.errors import NotEnoughPointsForReward
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.segments import SegmentMember
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts, levels
from loyalty.points.levels import Level, levels_of
from loyalty.rewards import pools, redeem, rules
from loyalty.rewards.rules import MemberState

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Offer:
    """A reward, the member's state, and why the member is not eligible, or None."""

    reward: Reward
    member: MemberState
    ineligibility: DomainError | None

    @property
    def available(self) -> bool:
        return self.ineligibility is None

    @property
    def reason(self) -> str | None:
        """The code of the error that redeeming it would raise."""
        return self.ineligibility.code if self.ineligibility else None

    @property
    def missing(self) -> Decimal | None:
        """The points that the balance lacks, if that is the reason."""
        return (
            redeem.price_of(self.reward) - self.member.balance if self.reason == NotEnoughPointsForReward.code else None
        )


def offers_to(*, user_id: int, brand: Brand, rewards: Sequence[Reward], at: datetime) -> list[Offer]:
    """The rewards with the customer's eligibility, and with the stock of pools.

    Takes three statements, and one more each for pools and segments.
    """
    account = accounts.account_of(brand_id=brand.pk, user_id=user_id)
    ladder = levels_of(brand)
    taken = taken_by(account, rewards)
    segments = segments_of(account, rewards)
    members = [member_state(brand, account, ladder, taken.get(reward.pk, 0), segments) for reward in rewards]
    left = pools.left(rewards, at=at)
    for reward in rewards:
        reward.stock = left.get(reward.pk, reward.stock)
    return [
        Offer(reward, member, rules.ineligibility(redeem.reward_terms(reward), member, at))
        for reward, member in zip(rewards, members, strict=True)
    ]


def taken_by(account: UserPoints | None, rewards: Sequence[Reward]) -> dict[int, int]:
    """How many of each reward a member redeemed and did not undo. Rewards won in campaigns do not count."""
    if account is None:
        return {}
    rows = Redemption.objects.filter(user_point=account, reward__in=rewards, milestone_id__isnull=True)
    valid = rows.exclude(status=Redemption.Status.CANCELLED).order_by()
    return dict(valid.values_list("reward").annotate(Count("pk")))


def segments_of(account: UserPoints | None, rewards: Sequence[Reward]) -> frozenset[int]:
    """Those of the rewards' segments that the member is in."""
    segments = {reward.segment_id for reward in rewards if reward.segment_id}
    if account is None or not segments:
        return frozenset()
    rows = SegmentMember.objects.filter(account=account, segment__in=segments)
    return frozenset(rows.values_list("segment_id", flat=True))


def member_state(
    brand: Brand, account: UserPoints | None, ladder: Sequence[Level], taken: int, segments: frozenset[int]
) -> MemberState:
    level = levels.current_level(levels=ladder, name=account.current_level if account else "")
    return MemberState(
        loyalty_active=brand.loyalty_active,
        blocked=account is not None and account.status != UserPoints.Status.ACTIVE,
        balance=account.points if account else ZERO,
        level_threshold=level.threshold if level else ZERO,
        taken=taken,
        segments=segments,
    )
