"""A member's level while it is settled, and the points that the ledger has for a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from brands.tenants import local_time
from core.db.statements import command, query
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import LevelChange
from loyalty.points.ledger import lifetime_of
from loyalty.points.level_periods.rules import DAY, LevelRule
from loyalty.points.levels import Level, level_named, reached

ZERO = Decimal(0)
Reason = LevelChange.Reason


@dataclass(frozen=True, slots=True)
class PeriodPoints:
    """An account's points from a time that count towards a level, and when its first entry was."""

    account: int
    points: Decimal
    oldest: datetime | None


FETCH_PERIOD_POINTS = query("loyalty/points/level_periods/sql/fetch_period_points.sql", returns=PeriodPoints)
WRITE_LEVELS = command("loyalty/points/sql/write_levels.sql", lifetime=lifetime_of("a"))


@dataclass(slots=True)
class MemberLevel:
    """A member's level and its end. `counted` lifetime points, earned from `period_from`, count towards a level."""

    account: int
    user_id: int
    level: str
    balance: Decimal
    lifetime: Decimal
    is_notified: bool  # whether the member receives notifications about the level
    period_from: date | None
    until: date | None
    warned_until: date | None
    counted: Decimal = ZERO
    due_at: datetime | None = None

    @property
    def displayed(self) -> tuple[str, Decimal, date | None]:
        """What wallet passes display."""
        return self.level, self.counted, self.until

    @classmethod
    def of(cls, row: UserPoints) -> "MemberLevel":
        return cls(
            account=row.pk,
            user_id=row.user_id,
            level=row.current_level,
            balance=row.points,
            lifetime=row.lifetime,
            is_notified=row.status == UserPoints.Status.ACTIVE,
            period_from=row.period_from,
            until=row.level_until,
            warned_until=row.level_warned_until,
            counted=row.period_points,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A changed or renewed level. `points` decided it, and it lasts until the day `until`."""

    account: int
    user_id: int
    before: str
    after: str
    reason: str
    points: Decimal
    until: date | None
    ended_on: date | None = None  # the last day of the previous level


def ends(ladder: Sequence[Level], name: str) -> bool:
    """Whether a level can be lost: true for all but the lowest, and for levels that the brand has deleted."""
    level = level_named(levels=ladder, name=name)
    return name != "" if level is None else level.threshold > 0


def after_end(ladder: Sequence[Level], current: str, points: Decimal) -> tuple[str, str]:
    """The level after the end of the level `current`, given the points of its period, and why."""
    top = reached(levels=ladder, lifetime=points)
    own = level_named(levels=ladder, name=current)
    if own is None or top is None or top.threshold < own.threshold:
        return (top.name if top else ""), Reason.LOWERED
    return top.name, Reason.RENEWED if top.threshold == own.threshold else Reason.REACHED


def points_between(
    rule: LevelRule, times: Iterable[tuple[int, date, date | None]], at: datetime
) -> Mapping[int, PeriodPoints]:
    """For each account, the points earned from the first day and before the second; None means until now."""
    rows = list(times)
    if not rows:
        return {}
    now = at + timedelta(days=1)  # clocks of other machines may be ahead
    rows_of_time = FETCH_PERIOD_POINTS.all(
        accounts=[account for account, _first, _before in rows],
        firsts=[local_time.midnight(first, rule.zone) for _account, first, _before in rows],
        befores=[local_time.midnight(before, rule.zone) if before else now for _account, _first, before in rows],
    )
    return {each.account: each for each in rows_of_time}


def due_at(rule: LevelRule, member: MemberLevel, day: date, oldest: datetime | None) -> datetime:
    """When the account must be settled again: after `day`, which is settled.

    Reaching a level does not change this moment, so it is no later than the first warning of a level reached after it.
    """
    days = [rule.counted_points_change_on(day, oldest.astimezone(rule.zone).date() if oldest else None)]
    if rule.warning_days:
        days.append(rule.warns_on(rule.last_day_of_level(day)))
    if member.until:
        days.append(rule.first_day_after_grace(member.until))
        if rule.warning_days and member.warned_until != member.until:
            days.append(rule.warns_on(member.until))
    return local_time.midnight(max(min(days), day + DAY), rule.zone)


def write(members: Sequence[MemberLevel], at: datetime) -> None:
    """Write the members' levels to their accounts, which are locked."""
    WRITE_LEVELS.run(
        accounts=[each.account for each in members],
        levels=[each.level for each in members],
        counted=[each.counted for each in members],
        periods=[each.period_from for each in members],
        untils=[each.until for each in members],
        warned=[each.warned_until for each in members],
        dues=[each.due_at for each in members],
        at=at,
    )


def add_history(changes: Sequence[Change], *, brand_id: int, at: datetime) -> None:
    LevelChange.objects.bulk_create(
        LevelChange(
            brand_id=brand_id,
            user_point_id=each.account,
            level_before=each.before,
            level_after=each.after,
            reason=each.reason,
            points=each.points,
            level_until=each.until,
            created_at=at,
        )
        for each in changes
    )
