"""Random histories of a brand's points, and what they add up to in plain Python."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import ledger
from tests.support import factories

# Movement -> column, reason, prefix of the reason's id, and sign of the change to the balance.
KINDS = {
    "brought_along": ("points_earned", "earned", "opening:", 1),
    "earned": ("points_earned", "earned", "order:", 1),
    "released": ("points_earned", "released", "order:", 1),
    "refunded": ("points_earned", "earned", "redeem-undo:", 1),
    "redeemed": ("points_redeemed", "redeemed", "redeem:", -1),
    "expired": ("points_expired", "expired", "expire:", -1),
    "returned": ("points_reversed", "reversed", "return:", -1),
    "adjusted_up": ("points_earned", "earned", "adjust:", 1),
    "adjusted_down": ("points_redeemed", "redeemed", "adjust:", -1),
    "received": ("points_earned", "earned", "transfer:", 1),
    "sent": ("points_redeemed", "redeemed", "transfer:", -1),
    "merged_in": ("points_earned", "merged", "merge-in:", 1),
    "merged_out": ("points_earned", "merged", "merge-out:", -1),
    "pending": ("points_pending", "pending", "order:", 0),
    "cancelled": ("points_cleared", "cancelled", "cancel:", 0),
}
OF_BALANCE = [kind for kind, (_column, _reason, _prefix, sign) in KINDS.items() if sign]
# These need two accounts: tests/loyalty/merges makes them as production does.
MERGES = ("merged_in", "merged_out")
# Sign of the change to the account's pending points.
PENDING = {"pending": 1, "released": -1, "cancelled": -1}


def movement_of(entry: LoyaltyTransaction) -> str:
    """The movement of an entry, written independently of the tested table."""
    if entry.reason_id.startswith("adjust:"):
        return "adjusted_up" if entry.reason == "earned" else "adjusted_down"
    if entry.reason_id.startswith("transfer:"):
        return "received" if entry.reason == "earned" else "sent"
    if entry.reason == "merged":
        return "merged_in" if entry.reason_id.startswith("merge-in:") else "merged_out"
    if entry.reason_id.startswith("opening:"):
        return "brought_along"
    if entry.reason_id.startswith("redeem-undo:"):
        return "refunded"
    return {"reversed": "returned"}.get(entry.reason, entry.reason)


def entry(account: UserPoints, kind: str, points: Decimal, at: datetime) -> LoyaltyTransaction:
    """Write a ledger entry at any moment and update the account's balance."""
    column, reason, prefix, sign = KINDS[kind]
    cleared = {"points_cleared": points} if kind == "released" else {}
    ledger_entry = LoyaltyTransaction.objects.create(
        user_point=account, reason=reason, reason_id=f"{prefix}{uuid4()}", created_at=at, **{column: points}, **cleared
    )
    account.points += sign * points
    account.points_pending += PENDING.get(kind, 0) * points
    if sign:
        setattr(account, column, getattr(account, column) + points)
    if kind == "received":
        account.points_received += points
    if kind == "refunded":
        account.points_returned += points
    account.save()
    return ledger_entry


def member(brand: Brand, *, enrolled_at: datetime) -> UserPoints:
    account = factories.account(factories.customer(brand), brand)
    UserPoints.objects.filter(pk=account.pk).update(enrolled_at=enrolled_at)
    account.refresh_from_db()
    return account


def moments(brand: Brand, rng: random.Random, *, months: int, now: datetime) -> Iterator[datetime]:
    """Random moments; half of them within two hours of the start of a month in the brand's zone."""
    while True:
        at = now - timedelta(days=rng.random() * 30 * months)
        if rng.random() < 0.5:
            month_start = at.astimezone(brand.zone).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            at = month_start.astimezone(UTC) + timedelta(minutes=rng.randint(-120, 120))
        if at <= now:
            yield at


def fill(brand: Brand, rng: random.Random, *, now: datetime, entries: int = 160, months: int = 8) -> None:
    """Create members who enrolled in different months, and their entries in order of time."""
    first_enrolment = now - timedelta(days=30 * months + 40)
    accounts = [member(brand, enrolled_at=first_enrolment + timedelta(days=rng.random() * 200)) for _ in range(6)]
    upcoming = moments(brand, rng, months=months, now=now)
    for at in sorted(next(upcoming) for _ in range(entries)):
        account = rng.choice(accounts)
        kind = rng.choice([*(kind for kind in KINDS if kind not in MERGES), "earned", "earned"])
        amount = Decimal(rng.randint(1, 5000)) / 100
        if KINDS[kind][3] < 0:
            amount = min(amount, account.points)
        if kind == "refunded":
            amount = min(amount, account.points_redeemed - account.points_returned)
        if kind in {"released", "cancelled"}:
            amount = min(amount, account.points_pending)
        if kind == "returned":
            amount = min(amount, account.lifetime)
        if amount > 0:
            entry(account, kind, amount, at)


def book(brand: Brand, first: date, last: date) -> list[tuple[date, Decimal, dict[str, Decimal], Decimal]]:
    """Month, opening balance, points by movement and closing balance, from the ledger entries alone."""
    by_month: dict[date, dict[str, Decimal]] = {}
    for entry in LoyaltyTransaction.objects.filter(user_point__brand=brand):
        month = entry.created_at.astimezone(brand.zone).date().replace(day=1)
        points = by_month.setdefault(month, dict.fromkeys(KINDS, Decimal(0)))
        points[movement_of(entry)] += entry.amount
    balance = Decimal(0)
    rows = []
    month = min([first, *by_month])
    while month <= last:
        points = by_month.get(month, dict.fromkeys(KINDS, Decimal(0)))
        opening = balance
        balance += sum((KINDS[kind][3] * amount for kind, amount in points.items()), Decimal(0))
        if month >= first:
            rows.append((month, opening, points, balance))
        month = (month + timedelta(days=32)).replace(day=1)
    return rows


assert ledger.ADJUSTED == "adjust:"  # KINDS must use the prefixes of production
assert ledger.RETURNED == "redeem-undo:"
assert ledger.OPENING == "opening:"
