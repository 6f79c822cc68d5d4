"""Reports orders as a shop's hub does, runs the worker, and reads the accounts and the ledger afterwards."""

import uuid
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from authcodes.scanning import consistency
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.earning_rules import is_own_kind
from events import publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def send(brand: Brand, customer: User, kind: str, payload: dict[str, Any], *, at: datetime | None = None) -> Event:
    """The event as it is stored, before a worker handles it."""
    event = Event(
        event_id=uuid.uuid4(),
        source="shop.customer-app",
        detail_type=kind,
        brand=brand,
        time=at or timezone.now(),
        detail={"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload},
    )
    publishing.receive(event=event, is_own_kind=is_own_kind(kind))
    return event


def report(brand: Brand, customer: User, kind: str, payload: dict[str, Any], *, at: datetime | None = None) -> Event:
    event = send(brand, customer, kind, payload, at=at)
    worker.drain()
    event.refresh_from_db()
    return event


def buy(brand: Brand, customer: User, order_id: str = "A-1", subtotal: Any = "100.00", **order: Any) -> Event:
    payload = {"type": "order", "order": {"orderId": order_id, "subtotal": str(subtotal), **order}}
    return report(brand, customer, "order-complete", payload)


def return_payload(order_id: str = "A-1", return_id: str | None = None, **fields: Any) -> dict[str, Any]:
    named = {"returnId": return_id} if return_id else {}
    return {"type": "order-return", "order": {"orderId": order_id}, **named, **fields}


def return_order(
    brand: Brand, customer: User, order_id: str = "A-1", return_id: str | None = None, **fields: Any
) -> Event:
    return report(brand, customer, "order-returned", return_payload(order_id, return_id, **fields))


def cancel(brand: Brand, customer: User, order_id: str = "A-1") -> Event:
    return report(brand, customer, "order-cancelled", {"type": "order-cancellation", "order": {"orderId": order_id}})


def deliver(brand: Brand, customer: User, order_id: str = "A-1") -> Event:
    return report(brand, customer, "order-delivered", {"type": "order-delivery", "order": {"orderId": order_id}})


def inconsistencies() -> list[Any]:
    """The differences that `check_ledger` would report, read in the test's own transaction."""
    differences = []
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            differences += [(check, *row) for row in cursor.fetchall()]
    return differences


def checked_account(brand: Brand, customer: User) -> UserPoints:
    """The member's account, after a check that the ledger adds up."""
    assert inconsistencies() == []
    return factories.account(customer, brand)


def point_totals(brand: Brand, customer: User) -> tuple[Any, Any, Any]:
    """The balance, the pending points and the owed points."""
    account = checked_account(brand, customer)
    return account.points, account.points_pending, account.points_owed


def ledger_entries() -> list[tuple[str, str, Any]]:
    """The ledger entries: reason, its id and the points."""
    rows = LoyaltyTransaction.objects.order_by("pk")
    return [(row.reason, row.reason_id, row.amount) for row in rows]
