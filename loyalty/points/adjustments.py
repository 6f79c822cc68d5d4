"""Adjustments: points that staff add or deduct by hand. Each has a reason, is made once, and is in the audit log."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.advisory_locks import LockOfText, lock_text
from core.errors import Invalid
from core.json_values import json_number
from core.numbers import grouped
from events import messages, publishing
from loyalty.errors import MemberBlocked, MemberMerged
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts, ledger
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import Credit
from loyalty.points.level_periods.raising import raise_level

ZERO = Decimal(0)
LINE = "ledger line"  # key in the audit log, only for adjustments and opening balances
WAITING = "opening balance"  # key in the audit log, for one that waits for a confirmed address
MAX_SCANS = 100  # at the brand's ceiling: the daily maximum for anyone but the operator


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The result of an adjustment, in points."""

    points: Decimal
    new_balance: Decimal
    transaction_id: int
    current_level: str
    level_updated: bool


def adjust(*, account: UserPoints, points: Decimal, key: UUID, audit_context: AuditContext) -> Adjustment:
    """Add `points` to an account, or deduct them if negative; once per `key`. Owns the transaction.

    Staff and the customer read `audit_context.reason`. A blocked member can only lose points. Raises Invalid without a
    reason or points, or above the user's daily limit; MemberBlocked; NotEnoughPoints if the balance would become
    negative; and PointsAlreadyClaimed if this key's adjustment exists already.
    """
    check_request(points=points, reason=audit_context.reason)
    is_bounded = points > 0 and not (audit_context.user is not None and audit_context.user.is_superuser)
    with transaction.atomic():
        if is_bounded:
            lock_additions(brand_id=account.brand_id, by=audit_context.user)
        lock_open(account=account, points=points)
        write = ledger.credit if points > 0 else ledger.debit
        reason_id = f"{ledger.ADJUSTED}{key}"
        line = write(
            account=account.pk, points=abs(points), reason_id=reason_id, note=audit_context.reason, at=audit_context.at
        )
        if is_bounded:  # after the ledger, which rejects an adjustment that was already made
            check_limit(account=account, points=points, audit_context=audit_context)
        level, updated = raise_level(
            brand=account.brand,
            account=account.pk,
            level=line.current_level,
            lifetime=line.lifetime,
            gained=max(points, ZERO),
            at=audit_context.at,
        )
        made = Adjustment(points, line.balance, line.loyalty_transaction_id, level, updated)
        events = events_of(account, made, line, key, audit_context)
        publishing.publish(messages=events, brand_id=account.brand_id, at=audit_context.at)
        log_adjustment(account, made, audit_context)
    return made


def check_request(*, points: Decimal, reason: str) -> None:
    if not reason.strip():
        raise Invalid(_("Enter a reason for the adjustment."), details={"field": "reason"})
    if not points or points != points.quantize(Decimal("0.01")):
        raise Invalid(_("Enter an amount above 0 with at most two decimals."), details={"field": "amount"})


def lock_open(*, account: UserPoints, points: Decimal) -> None:
    """Lock the account, and check that it is open: it may have been merged, blocked or erased since it was read."""
    accounts.lock(account=account.pk)
    account.refresh_from_db(fields=["status", "user"])
    if account.status == UserPoints.Status.MERGED:
        raise MemberMerged
    if points > 0 and account.status == UserPoints.Status.BLOCKED:
        raise MemberBlocked(_("This member is blocked and earns nothing. Unblock them first."))


def lock_additions(*, brand_id: int, by: User | None) -> None:
    """Serialise additions by one user for a brand: two at once could exceed the daily limit together."""
    lock_text(LockOfText.ADJUSTMENTS, f"adjustments:{brand_id}:{by.pk if by else 0}")


def check_limit(*, account: UserPoints, points: Decimal, audit_context: AuditContext) -> None:
    """Check what one user adds for a brand in a day (UTC), in all adjustments.

    It does not apply to the operator, who sets the ceiling.
    """
    most = max_a_day(account.brand)
    before = added_today(brand_id=account.brand_id, by=audit_context.user, at=audit_context.at)
    if before + points <= most:
        return
    message = _("You can add at most %(most)s points a day. Ask the operator to add more.") % {"most": grouped(most)}
    if before:
        added = _("You have added %(points)s today.") % {"points": grouped(before)}
        message = f"{message} {added}"
    raise Invalid(message, details={"field": "amount"})


def max_a_day(brand: Brand) -> int:
    """The points that anyone but the operator may add for a brand in a day, singly or with files."""
    return MAX_SCANS * brand.max_points_per_scan


def added_today(*, brand_id: int, by: User | None, at: datetime) -> Decimal:
    """According to the audit log. Deductions do not increase what is left."""
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    made = AuditLogEntry.objects.filter(
        user=by, brand=brand_id, kind="loyalty.userpoints", at__gte=day, changes__has_any_keys=[LINE, WAITING]
    )
    events = [(each.get("points"), each.get(WAITING)) for each in made.values_list("changes", flat=True)]
    differences = (Decimal(str(after)) - Decimal(str(before or 0)) for before, after in (a or b for a, b in events))
    return sum((each for each in differences if each > 0), ZERO)


def events_of(
    account: UserPoints, made: Adjustment, line: Credit, key: UUID, audit_context: AuditContext
) -> list[messages.NewEvent]:
    """Events for wallets and webhooks, as after an accrual, and the webhook event of the adjustment itself."""
    cause = f"{ledger.ADJUSTED}{key}"
    recipient: dict[str, Any] = {"brand_id": account.brand_id, "user_id": account.user_id}
    balance = balance_changed(
        **recipient,
        account=account.pk,
        points=made.new_balance,
        level=made.current_level,
        level_updated=made.level_updated,
        cause=cause,
    )
    listened = webhook_events.listened_at(account.brand_id)
    credit = webhook_events.Credit(
        **recipient,
        points_earned=json_number(max(made.points, ZERO)),
        new_balance=json_number(made.new_balance),
        lifetime_points=json_number(line.lifetime),
        transaction_id=str(made.transaction_id),
        reason_ids=[cause],
        note=audit_context.reason,
        current_level=made.current_level,
        level_updated=made.level_updated,
        cause=cause,
        at=audit_context.at,
    )
    events = [balance, *webhook_events.of_credit(credit, listened=listened, ids=lambda what: uuid5(key, what))]
    kind = WebhookType.POINTS_ADJUSTED
    if kind in listened:
        data = {
            "points_adjusted": json_number(made.points),
            "new_balance": credit.new_balance,
            "transaction_id": credit.transaction_id,
            "note": credit.note,
            "current_level": credit.current_level,
            "lifetime_points": credit.lifetime_points,
            "cause": cause,
        }
        event_id = uuid5(key, f"announce:{kind}")
        events.append(webhook_events.webhook_event(kind, data, **recipient, event_id=event_id, at=audit_context.at))
    return events


def log_adjustment(account: UserPoints, made: Adjustment, audit_context: AuditContext) -> None:
    changes: dict[str, tuple[Any, Any]] = {"points": (made.new_balance - made.points, made.new_balance)}
    if made.level_updated:
        changes["current_level"] = (account.current_level, made.current_level)
    changes[LINE] = (None, made.transaction_id)
    action = gettext_noop("Points added manually") if made.points > 0 else gettext_noop("Points deducted manually")
    audit_log.record(
        audit_context=audit_context, action=action, rows=[AuditedChange(account, account.brand_id, changes)]
    )
