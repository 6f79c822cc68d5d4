"""Redemption codes at the till: looking them up and using them."""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from brands.models.people import User
from core import json_values
from core.errors import raises
from loyalty.errors import MemberBlocked, RedemptionCancelled, RedemptionCodeUnknown, RedemptionExpired, RedemptionUsed
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes

# --- At the till -----------------------------------------------------------------------------------------------------


@raises(RedemptionCodeUnknown)
def find(*, brand_ids: Any, text: str) -> Redemption:
    """The redemption of a code that somebody typed or scanned. Raises RedemptionCodeUnknown.

    `brand_ids`: where to look; None looks everywhere.
    """
    code = codes.read(text)
    rows = Redemption.objects.select_related("user_point__user", "brand", "used_by")
    if brand_ids is not None:
        rows = rows.filter(brand__in=brand_ids)
    found = rows.filter(code=code).first() if code else None
    if found is None:
        raise RedemptionCodeUnknown
    return found


@raises(MemberBlocked, RedemptionUsed, RedemptionExpired, RedemptionCancelled)
def use(
    *, redemption: Redemption, at: datetime, by: User | None = None, key_id: int | None = None, request: uuid.UUID
) -> Redemption:
    """Mark a code used, exactly once; the same `request` again is told the same.

    Raises RedemptionUsed, RedemptionExpired, RedemptionCancelled, MemberBlocked.
    """
    # Exists, not a join: Django would look for the row in a subquery then, which is not asked again after a wait.
    active = Exists(UserPoints.objects.filter(pk=OuterRef("user_point"), status=UserPoints.Status.ACTIVE))
    good = active & (Q(expires_at__isnull=True) | Q(expires_at__gt=at))
    fresh = Redemption.objects.filter(good, pk=redemption.pk, status=Redemption.Status.ISSUED)
    taken = fresh.update(
        status=Redemption.Status.USED, used_at=at, used_by=by, used_key_id=key_id, used_request=request
    )
    redemption.refresh_from_db()
    if not taken and redemption.used_request != request:
        raise why_unusable(redemption, at)
    return redemption


def state_of(redemption: Redemption, at: datetime) -> str:
    """good, used, expired, cancelled, or blocked: good again once its member is let in."""
    if redemption.status != Redemption.Status.ISSUED:
        return redemption.status
    if redemption.expires_at is not None and redemption.expires_at <= at:
        return "expired"
    return "blocked" if redemption.user_point.status == UserPoints.Status.BLOCKED else "good"


def why_unusable(redemption: Redemption, at: datetime) -> Exception:
    """Why a code that is not good is none."""
    if redemption.status == Redemption.Status.USED and redemption.used_at:
        return RedemptionUsed(details={"used_at": json_values.iso(redemption.used_at)})
    if redemption.status == Redemption.Status.CANCELLED:
        return RedemptionCancelled()
    if state_of(redemption, at) == "blocked":
        return MemberBlocked()
    return RedemptionExpired(
        details={"expired_at": json_values.iso(redemption.expires_at)} if redemption.expires_at else {}
    )
