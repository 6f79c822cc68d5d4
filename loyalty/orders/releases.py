"""Releases of pending points: when they are due, or when a delivery is confirmed. Each happens exactly once."""

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.db import transaction
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from core.db.outages import is_outage
from core.db.statements import query
from core.json_values import json_number
from events import messages, publishing
from loyalty.errors import OrderOfAnother, OrderUnknown
from loyalty.integrations import webhook_events
from loyalty.models.orders import CreditedOrder
from loyalty.models.pending import PendingPoints
from loyalty.models.webhooks import WebhookType
from loyalty.orders.returns import is_order_of
from loyalty.points import accounts, ledger
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import Release
from loyalty.points.level_periods.raising import raise_level

logger = logging.getLogger(__name__)

# An arbitrary constant UUID: the namespace of event ids derived from releases.
EVENT_ID_NAMESPACE = uuid.UUID("7a53d5f0-6b8f-4a55-9d1e-30b0a0a3bb2e")
# Limits of one call. Celery beat makes one call a minute.
MAX_LINES = 10_000
TURN_SECONDS = 30
TRIED_AGAIN_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DuePending:
    """Pending points that are due: their ledger entry and account."""

    entry: int
    account: int


FETCH_DUE = query("loyalty/orders/sql/fetch_due_pending.sql", returns=DuePending)


def catch_up(*, at: datetime, seconds: float = TURN_SECONDS) -> int:
    """Release what is due, one entry of each brand in turn, for at most `seconds`. Returns how many entries.

    The next call continues where this one stops.
    """
    ends_at, released = monotonic() + seconds, 0
    for due in FETCH_DUE.all(at=at, limit=MAX_LINES):
        released += _is_released(due, at=at)
        if monotonic() > ends_at:
            break
    return released


def _is_released(due: DuePending, *, at: datetime) -> bool:
    """A failed entry, such as one that would overflow its account, is due again later. No other entry waits for it."""
    try:
        return release(due, at=at) is not None
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("the pending points of the entry %d could not be released", due.entry)
        PendingPoints.objects.filter(pk=due.entry).update(release_at=at + TRIED_AGAIN_AFTER)
        return False


def release(due: DuePending, *, at: datetime) -> Release | None:
    """Release pending points in a transaction of its own. Returns None if nothing is due any longer."""
    with transaction.atomic():
        accounts.lock(account=due.account)
        released = ledger.release(account=due.account, entry=due.entry, note=note_of(due.entry), at=at)
        if released:
            followups = followups_of(due, released, at)
            publishing.publish(messages=followups, brand_id=released.brand_id, at=at)
        return released


def note_of(entry: int) -> str:
    reason_id = PendingPoints.objects.values_list("entry__reason_id", flat=True).get(entry=entry)
    return gettext_noop("Released: order %(order)s") % {"order": reason_id.removeprefix("order:")}


def followups_of(due: DuePending, released: Release, at: datetime) -> list[messages.NewEvent]:
    """Raise the level if it is reached now, and return the events for wallets and webhooks."""
    level, is_new = raise_level(
        brand=Brand.objects.get(pk=released.brand_id),
        account=due.account,
        level=released.current_level,
        lifetime=released.lifetime,
        gained=released.points,
        at=at,
    )
    cause = f"release:{due.entry}"
    balance = balance_changed(
        brand_id=released.brand_id,
        user_id=released.user_id,
        account=due.account,
        points=released.balance,
        level=level,
        level_updated=is_new,
        cause=cause,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{due.entry}"),
    )
    common = {"current_level": level, "lifetime_points": json_number(released.lifetime), "cause": cause}
    data = {
        WebhookType.POINTS_RELEASED: {
            "points_released": json_number(released.points),
            "new_balance": json_number(released.balance),
            "transaction_id": str(released.loyalty_transaction_id),
            "reason_id": released.reason_id,
            **common,
        }
    }
    if is_new:
        data[WebhookType.LEVEL_REACHED] = common
    listened = webhook_events.listened_at(released.brand_id)
    return [
        balance,
        *(
            webhook_events.webhook_event(
                kind,
                each,
                brand_id=released.brand_id,
                user_id=released.user_id,
                event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{kind}:{due.entry}"),
                at=at,
            )
            for kind, each in data.items()
            if kind in listened
        ),
    ]


def confirm_delivery(*, brand_id: int, user_id: int, order_id: str, at: datetime) -> Release | None:
    """Release an order's pending points now. Returns None if nothing was pending, or if the member is blocked.

    Raises OrderUnknown and OrderOfAnother. Owns the transaction, which locks the order's account first.
    """
    order = CreditedOrder.objects.filter(brand=brand_id, order_id=order_id).first()
    if order is None:
        raise OrderUnknown
    with transaction.atomic():
        account = accounts.lock_current(brand_id=brand_id, user_id=user_id)
        if account is None or not is_order_of(account, order):
            raise OrderOfAnother
        pending = PendingPoints.objects.filter(
            user_point=account, entry__reason_id=f"order:{order_id}", remaining__gt=0
        ).first()
        if pending is None:
            return None
        if pending.release_at is None or pending.release_at > at:
            PendingPoints.objects.filter(pk=pending.pk).update(release_at=at)
        return release(DuePending(pending.pk, account.pk), at=at)
