"""Levels of merged accounts, for brands with level periods: the points of both count, and the better level stays.

What counts is read again from both accounts' entries. The source no longer follows any period.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.points import levels
from loyalty.points.level_periods import member_levels
from loyalty.points.level_periods.member_levels import MemberLevel, Reason
from loyalty.points.level_periods.raising import raise_level, set_end, set_level
from loyalty.points.level_periods.rules import rule_of
from loyalty.points.level_periods.settle import remove_periods, settle
from loyalty.points.levels import Level

Moved = dict[str, str | None]  # the end dates of both levels before the merge, for its undo


def has_periods(brand: Brand) -> bool:
    return rule_of(brand) is not None


def preview(*, target: UserPoints, source: UserPoints) -> str:
    """The target's level after a merge, by what counted in both accounts when they were last settled."""
    ladder = levels.levels_of(target.brand)
    points = target.period_points + source.period_points
    own = levels.level_after(levels=ladder, name=target.current_level, lifetime=points)
    return source.current_level if is_higher(ladder, source.current_level, own) else own


def after_merge(*, target: UserPoints, source: UserPoints, at: datetime) -> Moved:
    """Settle the target's level. `source` is the account before the merge. Call after writing the merge."""
    moved: Moved = {"target": _iso(target.level_until), "source": _iso(source.level_until)}
    remove_periods([MemberLevel.of(UserPoints.objects.get(pk=source.pk))], at)
    ladder = levels.levels_of(target.brand)
    row = _settled(target, at)
    if is_higher(ladder, source.current_level, row.current_level):
        set_level(row, source.current_level, until=source.level_until, reason=Reason.REACHED, at=at)
    return moved


def after_undo(
    *, target: UserPoints, source: UserPoints, moved: Moved, level_before: str, level_after: str, at: datetime
) -> None:
    """Remove a level that only the merge gave, and restore the source's level. Call after writing the undo."""
    row = _settled(target, at)
    if level_before != level_after and row.current_level == level_after:
        set_level(row, level_before, until=_day(moved.get("target")), reason=Reason.LOWERED, at=at)
        _settled(target, at)  # the target's own points in the period may be enough for a higher level
    set_end(source, until=_day(moved.get("source")))
    _settled(source, at)


def is_higher(ladder: Sequence[Level], one: str, other: str) -> bool:
    """Whether the level named `one` is higher than `other`. A level that the brand has deleted is the lowest."""
    first, second = levels.level_named(levels=ladder, name=one), levels.level_named(levels=ladder, name=other)
    return first is not None and (second is None or first.threshold > second.threshold)


def _settled(member: UserPoints, at: datetime) -> UserPoints:
    """Read the points of the period again, and return the row with the level that they reach."""
    row = UserPoints.objects.select_related("brand").get(pk=member.pk)
    now = settle(brand=row.brand, accounts=[row.pk], at=at)[row.pk]
    raise_level(
        brand=row.brand, account=row.pk, level=now.level, lifetime=now.lifetime, gained=member_levels.ZERO, at=at
    )
    return UserPoints.objects.select_related("brand").get(pk=member.pk)


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _day(text: Any) -> date | None:
    return date.fromisoformat(text) if text else None
