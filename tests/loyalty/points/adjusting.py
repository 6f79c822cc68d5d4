"""Helpers for tests of adjustments by staff."""

from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from loyalty.models.accounts import UserPoints
from loyalty.points import adjustments

KEY = UUID(int=7)


def adjust(account: UserPoints, points: Any, *, key: UUID | None = None, by: User | None = None) -> Any:
    audit_context = AuditContext(by, timezone.now(), "req-1", "Goodwill")
    return adjustments.adjust(
        account=account, points=Decimal(str(points)), key=key or uuid4(), audit_context=audit_context
    )


def numbers(account: UserPoints) -> tuple[Decimal, Decimal, Decimal]:
    account.refresh_from_db()
    return account.points, account.points_earned, account.points_redeemed
