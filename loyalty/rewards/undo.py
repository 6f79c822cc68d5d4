"""Lets customers undo a redemption shortly after they made it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from core import json_values
from core.errors import Invalid, NotFound, raises
from loyalty.errors import MemberBlocked, RedemptionUsed, UndoNotPossible
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.points import accounts
from loyalty.rewards import pools
from loyalty.rewards.returns import reverse

# How long the customer may undo a redemption.
UNDO_MINUTES = 5


@dataclass(frozen=True, slots=True)
class Undone:
    """An undone redemption, and the balance in points after it."""

    redemption: Redemption
    balance: Decimal


def undo_since(at: datetime) -> datetime:
    return at - timedelta(minutes=settings.REDEMPTION_UNDO_MINUTES)


def may_undo_use(redemption: Redemption, *, at: datetime) -> bool:
    """Whether it was used recently enough to undo the use."""
    used_at = redemption.used_at
    return redemption.status == Redemption.Status.USED and used_at is not None and used_at > undo_since(at)


def too_late() -> Invalid:
    return Invalid(_("The code is not used, or its use can no longer be undone."))


@raises(NotFound, MemberBlocked, RedemptionUsed, UndoNotPossible)
def undo(*, brand_id: int, user_id: int, redemption_id: int, at: datetime) -> Undone:
    """Undo an unused redemption that is less than UNDO_MINUTES old. A repeated call returns the same.

    Raises NotFound, MemberBlocked, RedemptionUsed and UndoNotPossible. Owns the transaction.
    """
    rows = Redemption.objects.select_related("pool_code")
    rows = rows.filter(user_point__user_id=user_id, user_point__brand_id=brand_id)
    if not rows.filter(pk=redemption_id).exists():
        raise NotFound
    with transaction.atomic():
        account = UserPoints.objects.select_for_update(no_key=True).get(user_id=user_id, brand_id=brand_id)
        accounts.reject_closed(account.status)
        redemption = rows.get(pk=redemption_id)
        if redemption.status != Redemption.Status.CANCELLED:
            if undo_until(redemption, at) is None or not reverse(redemption, account, at):
                raise why_not_undone(redemption)
            account.refresh_from_db()
        return Undone(redemption, account.points)


def undo_until(redemption: Redemption, at: datetime) -> datetime | None:
    """Until when the customer may undo it. None if not possible, as for a partner's code, which they have seen."""
    end = redemption.created_at + timedelta(minutes=UNDO_MINUTES)
    may = redemption.cost and redemption.status == Redemption.Status.ISSUED and at < end
    return end if may and pools.code_of(redemption) is None else None


def why_not_undone(redemption: Redemption) -> Exception:
    redemption.refresh_from_db()
    if redemption.used_at:
        return RedemptionUsed(details={"used_at": json_values.iso(redemption.used_at)})
    return UndoNotPossible()
