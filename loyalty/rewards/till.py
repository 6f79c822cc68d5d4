"""Redemption codes at the till: look-up and use."""

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from brands.models.people import User
from core import json_values
from core.errors import raises
from core.json_values import json_number
from events import publishing
from events.messages import NewEvent
from loyalty.errors import MemberBlocked, RedemptionCancelled, RedemptionCodeUnknown, RedemptionExpired, RedemptionUsed
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts
from loyalty.rewards import codes
from loyalty.rewards.returns import EVENT_ID_NAMESPACE

# A merged member's codes stay valid.
USABLE = (UserPoints.Status.ACTIVE, UserPoints.Status.MERGED)


@raises(RedemptionCodeUnknown)
def find(*, brand_ids: Any, text: str) -> Redemption:
    """The redemption of a typed or scanned code. Raises RedemptionCodeUnknown.

    `brand_ids` limits the search; None searches all brands.
    """
    code = codes.read(text)
    rows = Redemption.objects.select_related("user_point__user", "brand", "used_by")
    if brand_ids is not None:
        rows = rows.filter(brand__in=brand_ids)
    row = rows.filter(code=code).first() if code else None
    if row is None:
        raise RedemptionCodeUnknown
    return row


@raises(MemberBlocked, RedemptionUsed, RedemptionExpired, RedemptionCancelled)
def use(
    *, redemption: Redemption, at: datetime, by: User | None = None, key_id: int | None = None, request: uuid.UUID
) -> Redemption:
    """Mark a code as used, exactly once. The same `request` again gets the same answer. Owns the transaction.

    Raises RedemptionUsed, RedemptionExpired, RedemptionCancelled, MemberBlocked.
    """
    kind = WebhookType.REWARD_USED
    with transaction.atomic():
        is_subscribed = webhook_events.listens(brand_id=redemption.brand_id, kind=kind)
        if is_subscribed:  # serialises this with an erasure, which locks the account too
            accounts.lock(account=redemption.user_point_id)
        if mark_used(redemption, at=at, by=by, key_id=key_id, request=request) and is_subscribed:
            publishing.publish(messages=[use_event(redemption, at)], brand_id=redemption.brand_id, at=at)
    redemption.refresh_from_db()
    if redemption.used_request != request:
        raise why_unusable(redemption, at)
    return redemption


def mark_used(redemption: Redemption, *, at: datetime, by: User | None, key_id: int | None, request: uuid.UUID) -> bool:
    """Returns False if the code is not valid, or already used."""
    # Exists, not a join: for a join, Django adds a subquery, which PostgreSQL does not re-evaluate after a lock wait.
    active = Exists(UserPoints.objects.filter(pk=OuterRef("user_point"), status__in=USABLE))
    good = active & (Q(expires_at__isnull=True) | Q(expires_at__gt=at))
    fresh = Redemption.objects.filter(good, pk=redemption.pk, status=Redemption.Status.ISSUED)
    return bool(
        fresh.update(status=Redemption.Status.USED, used_at=at, used_by=by, used_key_id=key_id, used_request=request)
    )


def use_event(redemption: Redemption, at: datetime) -> NewEvent:
    """reward.used. Staff may undo a use, so a code can be used again: each use has its own event id."""
    [user_id] = UserPoints.objects.filter(pk=redemption.user_point_id).values_list("user_id", flat=True)
    data = {
        "redemption_id": redemption.pk,
        "reward_id": redemption.reward_id,
        "points": json_number(redemption.cost),
        "used_at": json_values.iso(at),
    }
    return webhook_events.webhook_event(
        WebhookType.REWARD_USED,
        data,
        brand_id=redemption.brand_id,
        user_id=user_id,
        event_id=uuid.uuid5(
            EVENT_ID_NAMESPACE, f"announce:{WebhookType.REWARD_USED}:{redemption.pk}:{json_values.iso(at)}"
        ),
        at=at,
    )


def state_of(redemption: Redemption, at: datetime) -> str:
    """good, used, expired, cancelled, or blocked; a blocked code is good again once its member is unblocked."""
    if redemption.status != Redemption.Status.ISSUED:
        return redemption.status
    if redemption.expires_at is not None and redemption.expires_at <= at:
        return "expired"
    return "blocked" if redemption.user_point.status == UserPoints.Status.BLOCKED else "good"


def why_unusable(redemption: Redemption, at: datetime) -> Exception:
    """The error for a code that is not valid."""
    if redemption.status == Redemption.Status.USED and redemption.used_at:
        return RedemptionUsed(details={"used_at": json_values.iso(redemption.used_at)})
    if redemption.status == Redemption.Status.CANCELLED:
        return RedemptionCancelled()
    if state_of(redemption, at) == "blocked":
        return MemberBlocked()
    return RedemptionExpired(
        details={"expired_at": json_values.iso(redemption.expires_at)} if redemption.expires_at else {}
    )
