"""Staff cancel redemptions, or undo the use of a code."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from core.errors import Invalid
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards.returns import reverse
from loyalty.rewards.undo import too_late, undo_since


def undo_use(*, redemption: Redemption, audit_context: AuditContext) -> None:
    """Undo the use of a code, within settings.REDEMPTION_UNDO_MINUTES.

    Raises Invalid without a reason, after that time, and for an unused code. Owns the transaction.
    """
    require_reason(audit_context)
    with transaction.atomic():
        recent = Redemption.objects.filter(
            pk=redemption.pk,
            status=Redemption.Status.USED,
            used_at__gt=undo_since(audit_context.at),
            used_request=redemption.used_request,
        )
        if not recent.update(
            status=Redemption.Status.ISSUED, used_at=None, used_by=None, used_key=None, used_request=None
        ):
            raise too_late()
        changes = {"status": (Redemption.Status.USED.value, Redemption.Status.ISSUED.value)}
        note(redemption, gettext_noop("Use undone"), changes, audit_context)


def cancel(*, redemption: Redemption, audit_context: AuditContext) -> None:
    """Cancel an unused redemption: returns its points and stock, and invalidates the code.

    Raises Invalid without a reason, and if it is not unused. Owns the transaction.
    """
    require_reason(audit_context)
    with transaction.atomic():
        if not reverse(redemption, locked_account(redemption), audit_context.at):
            raise Invalid(_("Only unused codes can be cancelled."))
        changes = {"status": (Redemption.Status.ISSUED.value, Redemption.Status.CANCELLED.value)}
        note(redemption, gettext_noop("Redemption cancelled"), changes, audit_context)


def locked_account(redemption: Redemption) -> UserPoints:
    """The redemption's account, locked. A merge may reassign the redemption before the lock is acquired."""
    while True:
        account = UserPoints.objects.select_for_update(no_key=True).get(pk=redemption.user_point_id)
        redemption.refresh_from_db(fields=["user_point"])
        if redemption.user_point_id == account.pk:
            return account


def require_reason(audit_context: AuditContext) -> None:
    if not audit_context.reason.strip():
        raise Invalid(_("Enter a reason."), details={"field": "reason"})


def note(
    redemption: Redemption, action: str, changes: Mapping[str, tuple[Any, Any]], audit_context: AuditContext
) -> None:
    audit_log.record(
        audit_context=audit_context, action=action, rows=[AuditedChange(redemption, redemption.brand_id, changes)]
    )
