"""Undo of a merge, within a day: restores both accounts. What came since the merge stays with the target."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from core.errors import Invalid, raises
from core.numbers import rounded
from events import publishing
from loyalty.errors import MergeUndoNotPossible
from loyalty.merges import level_periods
from loyalty.merges.merge import consequences, sides_now, sides_of
from loyalty.merges.parts import parts
from loyalty.merges.totals import ZERO, PastActivity, Totals, carry_over
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge
from loyalty.models.orders import CreditedOrder, OrderReturn
from loyalty.models.pending import PendingPoints
from loyalty.models.programme.referrals import Referral
from loyalty.models.rewards import Redemption
from loyalty.points import accounts, ledger, levels
from loyalty.rewards import reassignment


def current_merge(*, source: UserPoints) -> AccountMerge | None:
    """The merge that ended this account, unless it was undone."""
    return AccountMerge.objects.filter(source=source, undone_at=None).first()


def undo_until(made: AccountMerge, at: datetime) -> datetime | None:
    """Until when the merge can be undone, or None if it no longer can."""
    return made.undo_ends_at if made.undone_at is None and at < made.undo_ends_at else None


@raises(MergeUndoNotPossible)
def undo(*, made: AccountMerge, audit_context: AuditContext) -> AccountMerge:
    """Undo the merge. A second call returns the same. Owns the transaction.

    Raises Invalid without a reason, and MergeUndoNotPossible with the obstacle, without any change.
    """
    if not audit_context.reason.strip():
        raise Invalid(_("Enter a reason for undoing the merge."), details={"field": "reason"})
    at = audit_context.at
    with transaction.atomic():
        accounts.lock_many(accounts=sorted([made.target_id, made.source_id]))
        made = AccountMerge.objects.get(pk=made.pk)
        if made.undone_at is not None:
            return made
        rows = UserPoints.objects.select_related("user", "brand").in_bulk([made.target_id, made.source_id])
        target, source = rows[made.target_id], rows[made.source_id]
        if why := undo_error(made, target, source, at):
            raise MergeUndoNotPossible(why)
        write_undo(made, target, source, at)
        following = consequences(made, sides_now(made), at=at)
        publishing.publish(messages=following, brand_id=made.brand_id, at=at)
        log(made, target, source, audit_context)
        return made


def undo_error(made: AccountMerge, target: UserPoints, source: UserPoints, at: datetime) -> str | None:
    """Why the accounts cannot be restored, or None if they can."""
    if undo_until(made, at) is None:
        return _("A merge can be undone for one day; this one is older.")
    if not (target.user.is_active and source.user.is_active):
        return _("The data of one of the members has been erased since the merge.")
    if made.settled:
        return _("The merge settled points owed. Settled points cannot be owed again.")
    totals = Totals.from_json(made.carried)
    if target.points < totals.points:
        message = _(
            "Points have been spent since the merge: %(missing)s points that would go back are missing. Add them first."
        )
        return message % {"missing": rounded(totals.points - target.points, 2)}
    return rows_error(made, source, totals) or (
        None
        if totals.can_leave(target)
        else _("The kept account has changed too much since the merge to separate the accounts.")
    )


def rows_error(made: AccountMerge, source: UserPoints, totals: Totals) -> str | None:
    pending = PendingPoints.objects.filter(pk__in=made.moved["pending"]).aggregate(left=Sum("remaining"))["left"]
    if (pending or ZERO) != totals.pending:
        return _("Pending points of the ended account have been released or cancelled since the merge.")
    cancelled = Redemption.objects.filter(pk__in=made.moved["redemptions"], cancelled_at__gte=made.created_at)
    if cancelled.exists():
        return _("A redemption of the ended account has been cancelled since the merge.")
    orders = CreditedOrder.objects.filter(brand=made.brand_id, user=source.user_id).values("order_id")
    returned = OrderReturn.objects.filter(brand=made.brand_id, order_id__in=orders, applied_at__gte=made.created_at)
    if returned.exists():
        return _("An order of the ended account has been returned since the merge.")
    sides = sides_of(made.target, source)
    return next((why for name, part in parts() if (why := part.undo_error(sides, made.moved.get(name, [])))), None)


def write_undo(made: AccountMerge, target: UserPoints, source: UserPoints, at: datetime) -> None:
    """Write the undo. Both accounts are locked."""
    accounts.set_separate(source=source, target=target)
    carry_over(
        Totals.from_json(made.carried),
        PastActivity(**made.moved["past"]),
        source=target.pk,
        target=source.pk,
        reason=f"{made.pk}:undo",
        notes=(
            gettext_noop("Moved back: your accounts are separate again"),
            gettext_noop("Back: your accounts are separate again"),
        ),
        at=at,
    )
    PendingPoints.objects.filter(pk__in=made.moved["pending"]).update(user_point=source)
    reassignment.reassign(redemptions=made.moved["redemptions"], account=source.pk)
    waiting = Referral.objects.filter(pk__in=made.moved["referrals"], state=Referral.State.WAITING)
    waiting.update(referrer=source)
    for name, part in parts():
        part.undo(sides_of(target, source), made.moved.get(name, []), at)
    if level_periods.has_periods(target.brand):
        level_periods.after_undo(
            target=target,
            source=source,
            moved=made.moved["level_periods"] or {},
            level_before=made.level_before,
            level_after=made.level_after,
            at=at,
        )
    else:
        restore_level(made, target.pk, at)
    made.undone_at = at
    made.save(update_fields=["undone_at"])


def restore_level(made: AccountMerge, account: int, at: datetime) -> None:
    """Remove a level that only the merge reached."""
    target = UserPoints.objects.select_related("brand").get(pk=account)
    if made.level_before == made.level_after or target.current_level != made.level_after:
        return
    own = levels.level_after(levels=levels.levels_of(target.brand), name=made.level_before, lifetime=target.lifetime)
    if own != target.current_level:
        ledger.set_current_level(account=account, level=own, at=at)


def log(made: AccountMerge, target: UserPoints, source: UserPoints, audit_context: AuditContext) -> None:
    changes: dict[str, tuple[Any, Any]] = {"merge": (f"#{source.pk} → #{target.pk}", None)}
    points = {
        target.pk: (target.points, target.points - made.points),
        source.pk: (Decimal(0), made.points),
    }
    rows = [AuditedChange(row, made.brand_id, {**changes, "points": points[row.pk]}) for row in (target, source)]
    audit_log.record(audit_context=audit_context, action=gettext_noop("Merge undone"), rows=rows)
