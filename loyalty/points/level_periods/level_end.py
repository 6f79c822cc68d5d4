"""What a member sees of a level that ends: until when it is kept, and what is missing to renew it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.points.level_periods import member_levels
from loyalty.points.level_periods.rules import DAY, rule_of
from loyalty.points.levels import Level, level_named

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class LevelEnd:
    """A member's level at a brand with level periods."""

    kind: str
    months: int
    points: Decimal  # that count now
    first: date  # the first day whose points count
    last: date | None  # the last day of a calendar period; None for rolling periods
    level_until: date | None = None  # the last day of the level; None for a level that does not end
    grace_until: date | None = None  # the last day for earning the missing points
    missing: Decimal | None = None  # to renew it: None before their time and for a deleted level, 0 once renewed


def level_end(*, brand: Brand, account: UserPoints, ladder: Sequence[Level], at: datetime) -> LevelEnd | None:
    """None if levels do not end; then it reads nothing. Else it reads only this member's ledger entries."""
    rule = rule_of(brand)
    if rule is None:
        return None
    day = rule.today(at)
    first = account.period_from or rule.counted_from(day)
    period = (rule.kind, rule.months, account.period_points, first, rule.period_end(first))
    current = level_named(levels=ladder, name=account.current_level)
    until = account.level_until
    if until is None:
        return LevelEnd(*period)
    begins = rule.renewal_starts_on(until)
    if current is None or day < begins:
        return LevelEnd(*period, until, rule.first_day_after_grace(until) - DAY)
    renewal = [(account.pk, begins, rule.first_day_after_grace(until))]
    earned = member_levels.points_between(rule, renewal, at)[account.pk].points
    missing = max(ZERO, current.threshold - earned)
    level_until = until if missing else rule.renewed_until(until)
    return LevelEnd(*period, level_until, rule.first_day_after_grace(level_until) - DAY, missing)


def counted_points(*, brand: Brand, account: UserPoints | None) -> Decimal:
    """The points that count towards a level: all lifetime points, or those of the period."""
    if account is None:
        return ZERO
    return account.lifetime if rule_of(brand) is None else account.period_points
