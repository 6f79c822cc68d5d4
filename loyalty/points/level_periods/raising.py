"""Levels that points raise outside accruals, or that returned orders lower."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from brands.models.tenants import Brand
from events import messages
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import ledger, levels
from loyalty.points.expiry_rules import months_later
from loyalty.points.level_periods import consequences, member_levels
from loyalty.points.level_periods.member_levels import Change, MemberLevel, Reason
from loyalty.points.level_periods.rules import LevelRule, rule_of
from loyalty.points.level_periods.settle import settle
from loyalty.points.levels import levels_of


def raise_level(
    *, brand: Brand, account: int, level: str, lifetime: Decimal, gained: Decimal, at: datetime
) -> tuple[str, bool]:
    """The level of an account that just `gained` points, and whether these points reached it.

    `level` and `lifetime` are the values at the write of the points. Call in the transaction that wrote them.
    """
    ladder, counted, rule = levels_of(brand), lifetime, rule_of(brand)
    if rule:
        now = settle(brand=brand, accounts=[account], at=at)[account]
        level, counted = now.level, now.counted
    name = levels.level_after(levels=ladder, name=level, lifetime=counted)
    if name == level:
        return level, False
    ledger.set_current_level(account=account, level=name, at=at)
    if rule:
        note_raised(brand=brand, raised=[(account, level, name, counted)], at=at)
    return name, levels.newly_reached(levels=ladder, name=name, before=counted - gained, after=counted)


def note_raised(*, brand: Brand, raised: Iterable[tuple[int, str, str, Decimal]], at: datetime) -> None:
    """Record the end of raised levels and their history. `raised` has account, old level, new level and period points.

    Does nothing at a brand without level periods. Call in the transaction that raised them.
    """
    rule = rule_of(brand)
    if rule is None:
        return
    ladder, end = levels_of(brand), rule.last_day_of_level(rule.today(at))
    changes = [
        Change(account, 0, before, after, Reason.REACHED, points, end if member_levels.ends(ladder, after) else None)
        for account, before, after, points in raised
    ]
    for until in (end, None):
        rows = UserPoints.objects.filter(pk__in=[each.account for each in changes if each.until == until])
        rows.update(level_until=until)
    member_levels.add_history(changes, brand_id=brand.pk, at=at)


def set_level(row: UserPoints, level: str, *, until: date | None, reason: str, at: datetime) -> None:
    """Give a locked account the level and end of another account, or its own previous ones.

    The account is due at once, because the end may come, and be warned of, before the account was due.
    """
    rows = UserPoints.objects.filter(pk=row.pk)
    rows.update(current_level=level, level_until=until, level_warned_until=None, level_due_at=at, updated_at=at)
    change = Change(row.pk, row.user_id, row.current_level, level, reason, row.period_points, until)
    member_levels.add_history([change], brand_id=row.brand_id, at=at)


def set_end(row: UserPoints, *, until: date | None) -> None:
    """Set the end of a locked account's level, before it is settled."""
    rows = UserPoints.objects.filter(pk=row.pk)
    rows.update(level_until=until)


def after_return(
    *, brand: Brand, account: int, entry: LoyaltyTransaction | None, points: Decimal, at: datetime
) -> tuple[str, list[messages.NewEvent]]:
    """The level after a return took `points` that the order's `entry` had earned, at a brand with level periods.

    Points are subtracted from the period in which they counted. The level is lowered only if these points reached it
    and the brand lowers levels. Returns the events to publish. Call after writing the return.
    """
    member, rule = settle(brand=brand, accounts=[account], at=at)[account], rule_of(brand)
    if rule is None or brand.after_return == Brand.AfterReturn.RETAIN or member.until is None or entry is None:
        return member.level, []
    ladder = levels_of(brand)
    own = levels.level_named(levels=ladder, name=member.level)
    before = rule.renewal_starts_on(member.until)
    first = months_later(before, -rule.months)
    reached_by = member_levels.points_between(rule, [(account, first, before)], at)[account].points
    own_accounts = UserPoints.objects.get(pk=account).ledger_accounts
    earned_on = rule.today(_counted_at(entry, own_accounts))
    had = max(
        member.counted + (points if earned_on >= rule.counted_from(rule.today(at)) else 0),
        reached_by + (points if first <= earned_on < before else 0),
    )
    best = max(member.counted, reached_by)
    if own is None or had < own.threshold or best >= own.threshold:
        return member.level, []
    return _lower(brand, rule, member, reached_by=reached_by, at=at)


def _counted_at(entry: LoyaltyTransaction, accounts: Sequence[int]) -> datetime:
    """When an order's points were earned. For pending points, this is their release."""
    if entry.reason != LoyaltyTransaction.Reason.PENDING:
        return entry.created_at
    # The release is on another account if the order's account was merged in the meantime.
    released = LoyaltyTransaction.objects.filter(user_point__in=accounts, reason_id=f"release:{entry.pk}")
    return released.values_list("created_at", flat=True).first() or entry.created_at


def _lower(
    brand: Brand, rule: LevelRule, member: MemberLevel, *, reached_by: Decimal, at: datetime
) -> tuple[str, list[messages.NewEvent]]:
    ladder, before = levels_of(brand), member.level
    points = max(member.counted, reached_by)
    top = levels.reached(levels=ladder, lifetime=points)
    member.level = top.name if top else ""
    if not member_levels.ends(ladder, member.level):
        member.until = None
    elif not rule.is_rolling and top and member.counted >= top.threshold:
        member.until = rule.last_day_of_level(rule.today(at))
    member.warned_until = None
    row = UserPoints.objects.filter(pk=member.account)
    row.update(current_level=member.level, level_until=member.until, level_warned_until=None, updated_at=at)
    change = Change(
        member.account, member.user_id, before, member.level, Reason.RETURNED, points, member.until, rule.today(at)
    )
    member_levels.add_history([change], brand_id=brand.pk, at=at)
    kind = consequences.TYPES[Reason.RETURNED]
    if not webhook_events.listens(brand_id=brand.pk, kind=kind):
        return member.level, []
    return member.level, [consequences.webhook_event_of(change, member, brand.pk, at)]
