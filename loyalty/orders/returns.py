"""Returns of orders, and the points they reverse. The only code that writes OrderReturn."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from core.json_values import json_number, json_safe
from events import messages
from loyalty.errors import OrderOfAnother, OrderUnknown, ReturnExceedsOrder, ReturnIdReused
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import CreditedOrder, OrderReturn
from loyalty.models.pending import PendingPoints
from loyalty.models.webhooks import WebhookType
from loyalty.orders import shares
from loyalty.orders.shares import ReturnedBefore, ReturnRequest
from loyalty.points import accounts, ledger, levels
from loyalty.points.balance_events import balance_changed
from loyalty.points.level_periods import raising
from loyalty.points.level_periods.rules import rule_of
from loyalty.points.levels import levels_of

ZERO = Decimal(0)
# An arbitrary constant UUID: the namespace of event ids derived from returns.
EVENT_ID_NAMESPACE = uuid.UUID("0d3a2b63-2f62-4f0f-9a0e-0f5cbe7c9a41")
WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class OrderReturnRequest:
    """A return as a shop reported it. `event` is the primary key of its event."""

    brand_id: int
    user_id: int
    order_id: str
    return_id: str
    kind: str
    currency: str  # empty: the order's currency
    requested: ReturnRequest
    event: int
    at: datetime

    @classmethod
    def of(cls, event: messages.LeasedEvent, *, at: datetime) -> "OrderReturnRequest":
        """Parse the payload of `order-returned` and `order-cancelled` (docs/events.md)."""
        payload = event.payload
        amount = payload.get("amount")
        return cls(
            brand_id=event.brand_id,
            user_id=event.arguments["user_id"],
            order_id=payload["order"]["orderId"],
            return_id=payload.get("returnId") or WHOLE,
            kind=event.kind,
            currency=payload["order"].get("currency") or "",
            requested=ReturnRequest(
                amount=Decimal(str(amount)) if amount is not None else None, items=tuple(payload.get("items") or ())
            ),
            event=event.id,
            at=at,
        )

    @property
    def content(self) -> dict[str, Any]:
        """What a repeated return with the same id must match."""
        amount = str(self.requested.amount) if self.requested.amount is not None else None
        content: dict[str, Any] = json_safe({"amount": amount, "items": list(self.requested.items)})
        return content


@dataclass(frozen=True, slots=True)
class AppliedReturn:
    """The result of a return. One that was applied before has only its answer: nothing changed now.

    `returned_before` and `returned` are the parts of `paid` that are returned, without and with this return.
    """

    answer: dict[str, Any]
    followups: Sequence[messages.NewEvent]
    order_is_gone: bool
    order_event_id: uuid.UUID | None
    paid: Decimal = ZERO
    returned_before: Decimal = ZERO
    returned: Decimal = ZERO
    user_id: int | None = None  # the account's user


def note_waiting(request: OrderReturnRequest) -> None:
    """Store a return whose order is not known yet, so that the order finds it."""
    fields = {
        "user_id": request.user_id,
        "kind": request.kind,
        "request": request.content,
        "event": request.event,
        "created_at": request.at,
    }
    OrderReturn.objects.get_or_create(
        brand_id=request.brand_id, order_id=request.order_id, return_id=request.return_id, defaults=fields
    )


def events_waiting_for(*, brand_id: int, order_id: str) -> list[int]:
    """The events of returns that wait for this order."""
    waiting = OrderReturn.objects.filter(brand=brand_id, order_id=order_id, status=OrderReturn.Status.WAITING)
    return list(waiting.values_list("event", flat=True))


def reject_waiting(request: OrderReturnRequest) -> None:
    """Reject a return that waits for its order, because the order never came or the return is not possible."""
    waiting = OrderReturn.objects.filter(
        brand=request.brand_id, order_id=request.order_id, return_id=request.return_id, event=request.event
    )
    waiting.filter(status=OrderReturn.Status.WAITING).update(status=OrderReturn.Status.REJECTED)


def apply(request: OrderReturnRequest, *, cause: str) -> AppliedReturn:
    """Reverse what the returned part of the order earned: pending points first, then the balance.

    Call in a transaction: the account stays locked until it ends. Raises OrderUnknown, OrderOfAnother,
    ReturnExceedsOrder and ReturnIdReused, without any change.
    """
    order = CreditedOrder.objects.filter(brand=request.brand_id, order_id=request.order_id).first()
    if order is None:
        raise OrderUnknown
    account = accounts.lock_current(brand_id=request.brand_id, user_id=request.user_id)
    if account is None or not is_order_of(account, order):
        raise OrderOfAnother
    request = replace(request, user_id=account.user_id)
    returns = list(OrderReturn.objects.filter(brand=request.brand_id, order_id=request.order_id).order_by("pk"))
    known = next((each for each in returns if each.return_id == request.return_id), None)
    if known and known.request != request.content:
        raise ReturnIdReused
    if known and known.status == OrderReturn.Status.APPLIED:
        return AppliedReturn(answer_of(known), (), order_is_gone=False, order_event_id=None)
    check_currency(request, order)
    return write(request, order, account, returns, known, cause)


def is_order_of(account: UserPoints, order: CreditedOrder) -> bool:
    """Whether the order belongs to this account, or to one that was merged into it."""
    if order.user_id == account.user_id:
        return True
    return accounts.is_merged(brand_id=account.brand_id, user_id=order.user_id, into=account.pk)


def check_currency(request: OrderReturnRequest, order: CreditedOrder) -> None:
    own = order.currency or Brand.objects.values_list("currency", flat=True).get(pk=request.brand_id)
    if request.currency not in {"", own}:
        message = _("The order was paid in %(own)s. State the return in the same currency.") % {"own": own}
        raise ReturnExceedsOrder(message, details={"field": "order.currency", "accepted": own})


def returned_before(returns: Sequence[OrderReturn], order: CreditedOrder) -> ReturnedBefore:
    applied = [each for each in returns if each.status == OrderReturn.Status.APPLIED]
    amount = sum((each.amount for each in applied), ZERO)
    return ReturnedBefore(
        amount=amount,
        points=sum((each.points_reversed + each.points_cancelled for each in applied), ZERO),
        items=tuple(item for each in applied for item in each.request["items"]),
        is_complete=any(is_whole(each) for each in applied) or bool(order.amount and amount >= order.amount),
    )


def is_whole(row: OrderReturn) -> bool:
    return row.request["amount"] is None and not row.request["items"]


def write(
    request: OrderReturnRequest,
    order: CreditedOrder,
    account: UserPoints,
    returns: Sequence[OrderReturn],
    known: OrderReturn | None,
    cause: str,
) -> AppliedReturn:
    before = returned_before(returns, order)
    amount = shares.amount_returned(request.requested, paid=order.amount, items=order.items, before=before)
    total = before.amount + amount
    is_last = request.requested.is_whole or bool(order.amount and total >= order.amount)
    own = LoyaltyTransaction.objects.filter(user_point__in=account.ledger_accounts)
    entry = own.filter(reason_id=f"order:{order.order_id}").first()
    awarded = entry.points_earned + entry.points_pending if entry else ZERO
    points = shares.points_back(awarded=awarded, paid=order.amount, returned=total, before=before, is_last=is_last)
    pending = pending_of(entry, points)
    row = known or OrderReturn(
        brand_id=request.brand_id,
        order_id=request.order_id,
        return_id=request.return_id,
        user_id=request.user_id,
        kind=request.kind,
        request=request.content,
        created_at=request.at,
    )
    row.user_id = request.user_id
    row.event, row.status, row.applied_at = request.event, OrderReturn.Status.APPLIED, request.at
    row.amount, row.points_cancelled, row.points_reversed = amount, pending, points - pending
    row.save()
    followups = write_entries(row, account, entry, cause)
    return AppliedReturn(
        answer_of(row),
        followups,
        order_is_gone=is_last,
        order_event_id=order.event_id,
        user_id=request.user_id,
        paid=order.amount or ZERO,
        returned_before=before.amount,
        returned=total,
    )


def pending_of(entry: LoyaltyTransaction | None, points: Decimal) -> Decimal:
    """How many of the points are still pending. Those are reversed first."""
    if entry is None or entry.reason != LoyaltyTransaction.Reason.PENDING:
        return ZERO
    # The lock orders this before or after a concurrent release.
    rows = PendingPoints.objects.select_for_update(no_key=True).filter(entry=entry)
    remaining = rows.values_list("remaining", flat=True).first() or ZERO
    return min(points, remaining)


def write_entries(
    row: OrderReturn, account: UserPoints, entry: LoyaltyTransaction | None, cause: str
) -> list[messages.NewEvent]:
    """Write the ledger entries and the level. Returns the events for wallets and webhooks."""
    assert row.applied_at is not None  # noqa: S101 - the caller has set it
    at = row.applied_at
    if row.kind == OrderReturn.Kind.CANCELLED:
        note = gettext_noop("Cancelled order %(order)s") % {"order": row.order_id}
    else:
        note = gettext_noop("Returned order %(order)s") % {"order": row.order_id}
    if row.points_cancelled and entry:
        ledger.cancel_pending(entry=entry.pk, points=row.points_cancelled, reason=row.return_id, note=note, at=at)
    if row.points_reversed:
        reason_id = f"{ledger.REVERSED}{row.order_id}:{row.return_id}"
        ledger.reverse(account=account.pk, points=row.points_reversed, reason_id=reason_id, note=note, at=at)
    if not row.points_reversed and not row.points_cancelled:
        return []
    account.refresh_from_db()
    account.current_level, following = level_after_return(account, entry, row.points_reversed, at)
    return [*events_of(row, account, note, cause), *following]


def level_after_return(
    account: UserPoints, entry: LoyaltyTransaction | None, points: Decimal, at: datetime
) -> tuple[str, list[messages.NewEvent]]:
    """The level after a return, which lowers it only if the brand says so; and events of brands with level periods."""
    brand = Brand.objects.get(pk=account.brand_id)
    if rule_of(brand):
        return raising.after_return(brand=brand, account=account.pk, entry=entry, points=points, at=at)
    if brand.after_return == Brand.AfterReturn.RETAIN:
        return account.current_level, []
    ladder = levels_of(brand)
    level = levels.reached(levels=ladder, lifetime=account.lifetime)
    name = level.name if level else ""
    if name != account.current_level and any(each.name == account.current_level for each in ladder):
        ledger.set_current_level(account=account.pk, level=name, at=at)
        return name, []
    return account.current_level, []


def events_of(row: OrderReturn, account: UserPoints, note: str, cause: str) -> list[messages.NewEvent]:
    assert row.applied_at is not None  # noqa: S101 - the return is applied
    balance = balance_changed(
        brand_id=row.brand_id,
        user_id=row.user_id,
        account=account.pk,
        points=account.points,
        level=account.current_level,
        cause=cause,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{row.pk}"),
    )
    data = {
        "order_id": row.order_id,
        "return_id": row.return_id,
        "points_reversed": json_number(row.points_reversed),
        "pending_cancelled": json_number(row.points_cancelled),
        "points_owed": json_number(account.points_owed),
        "points_pending": json_number(account.points_pending),
        "new_balance": json_number(account.points),
        "note": note,
        "current_level": account.current_level,
        "lifetime_points": json_number(account.lifetime),
        "cause": cause,
    }
    return [
        balance,
        *webhook_events.events_for_subscribers(
            WebhookType.POINTS_REVERSED,
            data,
            brand_id=row.brand_id,
            user_id=row.user_id,
            event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{row.pk}"),
            at=row.applied_at,
        ),
    ]


def answer_of(row: OrderReturn) -> dict[str, Any]:
    """The outcome stored on the event."""
    return {
        "order_id": row.order_id,
        "return_id": row.return_id,
        "amount": json_number(row.amount),
        "points_reversed": json_number(row.points_reversed),
        "pending_cancelled": json_number(row.points_cancelled),
    }
