"""A customer's points and level at a brand, for pages and apps."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from brands.models.tenants import Brand
from loyalty.points import accounts, expiry, levels
from loyalty.points.expiry import NextExpiry
from loyalty.points.level_periods.level_end import LevelEnd, counted_points, level_end
from loyalty.points.levels import Level, levels_of

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class NextLevel:
    """The level above a customer's: its `threshold`, the `points` that count, and the `missing` points."""

    level: Level
    threshold: Decimal
    missing: Decimal
    points: Decimal


@dataclass(frozen=True, slots=True)
class PointsOverview:
    """A customer's points at a brand. Zeros for a customer who is not enrolled."""

    points: Decimal
    pending: Decimal
    owed: Decimal
    lifetime: Decimal
    redeemed: Decimal
    expired: Decimal
    level_name: str  # its name when the customer reached it
    level: Level | None  # the level of that name, if it still exists
    next_level: NextLevel | None
    expiring_soon: NextExpiry | None
    enrolled: bool
    level_end: LevelEnd | None  # if levels have periods
    levels: list[Level]


def fetch_overview(*, brand: Brand, user_id: int, at: datetime) -> PointsOverview:
    account = accounts.account_of(brand_id=brand.pk, user_id=user_id)
    lifetime = account.lifetime if account else ZERO
    ladder = levels_of(brand)
    counted = counted_points(brand=brand, account=account)
    own = account.current_level if account else ""
    following = levels.following(levels=ladder, name=own, lifetime=counted)
    return PointsOverview(
        points=account.points if account else ZERO,
        pending=account.points_pending if account else ZERO,
        owed=account.points_owed if account else ZERO,
        lifetime=lifetime,
        redeemed=account.redeemed if account else ZERO,
        expired=account.points_expired if account else ZERO,
        level_name=own,
        level=levels.level_named(levels=ladder, name=own),
        next_level=NextLevel(following, following.threshold, following.threshold - counted, counted)
        if following
        else None,
        expiring_soon=expiry.expiring_soon(brand=brand, account=account, at=at) if account else None,
        enrolled=account is not None,
        level_end=level_end(brand=brand, account=account, ladder=ladder, at=at) if account else None,
        levels=ladder,
    )
