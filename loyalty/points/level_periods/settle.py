"""Settles accounts: what counts, levels that end, and warnings. The only code that lowers levels at their end.

Code that decides about a level first settles the account if it is due: the job on the due day, or an earlier accrual.
So a level is decided by the points of its own period, however late the job runs.
"""

from collections.abc import Sequence
from datetime import date, datetime

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import LevelPeriodState
from loyalty.points import accounts as account_rows
from loyalty.points.level_periods import consequences, member_levels
from loyalty.points.level_periods.consequences import EndWarning
from loyalty.points.level_periods.member_levels import Change, MemberLevel
from loyalty.points.level_periods.rules import LevelRule, rule_of
from loyalty.points.levels import Level, level_named, levels_of


def settle(*, brand: Brand, accounts: Sequence[int], at: datetime) -> dict[int, MemberLevel]:
    """Settle these accounts of the brand at `at`, and return their levels by account. Locks them.

    Publishes lowered and renewed levels and warnings. If the brand's levels no longer end, accounts with old periods
    are freed of them. Call in a transaction.
    """
    account_rows.lock_many(accounts=accounts)
    every = [MemberLevel.of(row) for row in UserPoints.objects.filter(pk__in=accounts, brand=brand).order_by("pk")]
    rule = rule_of(brand)
    if rule is None:
        remove_periods(every, at)
        return {}
    day, ladder = rule.today(at), levels_of(brand)
    state = LevelPeriodState.objects.filter(brand=brand).first()
    members = [each for each in every if not is_ahead(each, rule, state, day)]
    before = {each.account: each.displayed for each in members}
    for each in members:
        set_last_day(each, rule, state, ladder, day)
    changes = renew_or_lower_ended(members, rule, ladder, day, at)
    oldest = count_points(members, rule, day, at)
    warnings = warn(members, rule, ladder, day, at)
    for each in members:
        each.due_at = member_levels.due_at(rule, each, day, oldest[each.account])
    member_levels.write(members, at)
    member_levels.add_history(changes, brand_id=brand.pk, at=at)
    by_account = {each.account: each for each in members}
    displayed = [each for each in members if each.displayed != before[each.account]]
    consequences.publish(brand, by_account, changes, warnings, displayed=displayed, at=at)
    return {each.account: each for each in every}


def remove_periods(members: Sequence[MemberLevel], at: datetime) -> None:
    """Remove the periods: levels do not end, and all lifetime points count again."""
    left = [each for each in members if each.period_from is not None]
    for each in left:
        each.counted, each.due_at = each.lifetime, None
        each.period_from = each.until = each.warned_until = None
    if left:
        member_levels.write(left, at)


def is_ahead(member: MemberLevel, rule: LevelRule, state: LevelPeriodState | None, day: date) -> bool:
    """Whether a machine with a fast clock has already begun the account's next period."""
    began = member.period_from
    return began is not None and rule.counted_from(day) < began and follows(state, rule, member.account)


def follows(state: LevelPeriodState | None, rule: LevelRule, account: int) -> bool:
    """Whether the account follows the brand's current setting."""
    if state is None or state.setting != rule.setting:
        return False
    return state.reached is None or account <= state.reached


def extends(state: LevelPeriodState | None, rule: LevelRule) -> bool:
    """Whether the brand's setting gives accounts that do not follow it yet a whole period from now."""
    if state is not None and state.setting == rule.setting:
        return state.extends
    return state is None or not state.setting.startswith(f"{rule.period}:") or state.reached is not None


def set_last_day(
    member: MemberLevel, rule: LevelRule, state: LevelPeriodState | None, ladder: Sequence[Level], day: date
) -> None:
    """Set the last day of the level: not before a whole period under the rule, and not earlier than was promised."""
    if not member_levels.ends(ladder, member.level):
        member.until = None
        return
    is_new = not follows(state, rule, member.account) and extends(state, rule)
    if member.until is None or is_new:
        member.until = max(member.until or date.min, rule.last_day_of_level(day))


def renew_or_lower_ended(
    members: Sequence[MemberLevel], rule: LevelRule, ladder: Sequence[Level], day: date, at: datetime
) -> list[Change]:
    """Process each passed end in turn. After a long pause, several of a member's ends may have passed."""
    changes: list[Change] = []
    while ending := [each for each in members if each.until and day >= rule.first_day_after_grace(each.until)]:
        earned = member_levels.points_between(
            rule,
            [
                (each.account, rule.renewal_starts_on(each.until), rule.first_day_after_grace(each.until))
                for each in ending
                if each.until is not None
            ],
            at,
        )
        changes += [renew_or_lower(member, rule, ladder, earned[member.account]) for member in ending]
    return changes


def renew_or_lower(
    member: MemberLevel, rule: LevelRule, ladder: Sequence[Level], earned: member_levels.PeriodPoints
) -> Change:
    assert member.until is not None  # noqa: S101 - it has passed
    before, ended_on = member.level, member.until
    member.level, reason = member_levels.after_end(ladder, before, earned.points)
    member.until = rule.renewed_until(ended_on) if member_levels.ends(ladder, member.level) else None
    return Change(member.account, member.user_id, before, member.level, reason, earned.points, member.until, ended_on)


def count_points(
    members: Sequence[MemberLevel], rule: LevelRule, day: date, at: datetime
) -> dict[int, datetime | None]:
    """Set what counts towards a level from now on. Returns the moment of each account's first counted entry."""
    first = rule.counted_from(day)
    earned = member_levels.points_between(rule, [(each.account, first, None) for each in members], at)
    for each in members:
        each.period_from, each.counted = first, earned[each.account].points
    return {each.account: earned[each.account].oldest for each in members}


def warn(
    members: Sequence[MemberLevel], rule: LevelRule, ladder: Sequence[Level], day: date, at: datetime
) -> list[EndWarning]:
    """Warnings for members whose level ends soon, with the missing points. Each end is warned of once."""
    soon = [
        each
        for each in members
        if rule.warning_days and each.until and each.warned_until != each.until and day >= rule.warns_on(each.until)
    ]
    earned = member_levels.points_between(
        rule, [(each.account, rule.renewal_starts_on(each.until), None) for each in soon if each.until], at
    )
    result = []
    for each in soon:
        each.warned_until = each.until
        own = level_named(levels=ladder, name=each.level)
        missing = own.threshold - earned[each.account].points if own else member_levels.ZERO
        if missing > 0 and each.is_notified and each.until:
            result.append(EndWarning(each.account, each.user_id, each.level, missing, each.until))
    return result
