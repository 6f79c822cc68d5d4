"""The ledger: the only code that changes a customer's points."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils.translation import gettext_noop

from brands.user_mentions import Mentions, replace_mentions
from core.db.statements import command, part, query, query_values
from loyalty.errors import NotEnoughPoints, PointsAlreadyClaimed
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction

# Prefixes of reason ids: returned points, adjustments, milestone points, and opening balances.
RETURNED, ADJUSTED, WON, OPENING = "redeem-undo:", "adjust:", "milestone:", "opening:"
# For a redeemed reward, followed by the redemption's id.
TAKEN = "redeem:"
# For a brand's own event kind, followed by the kind; and for a transfer between members, on both sides.
OWN_EVENT, TRANSFERRED = "event:", "transfer:"
# For a merge of accounts, or its undo, on either side.
MERGED_IN, MERGED_OUT = "merge-in:", "merge-out:"
# For points owed that new points settled, and for returned orders: from the balance, and from pending points.
SETTLED, REVERSED, CANCELLED = "owed:", "return:", "cancel:"
# For a referral, on both sides; and for its reversal when the friend's order is returned.
REFERRED, REFERRAL_REVERSED = "referral:", "referral-return:"
ZERO = Decimal(0)
Reason = LoyaltyTransaction.Reason


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry to write. `points` have at most two decimals and are never negative; `reason_id` is unique per account.

    `release_at` is for pending points; None means when the delivery is confirmed. `details` say why the entry has its
    points: see loyalty/points/explanations.py.
    """

    number: int
    points: Decimal
    reason_id: str
    note: str
    reason: str = LoyaltyTransaction.Reason.EARNED
    release_at: datetime | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Credit:
    """A new entry and the account's state after it, in points."""

    loyalty_transaction_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Points that an account lost by expiry, and the account's state after it."""

    account: int
    user_id: int
    balance: Decimal
    current_level: str
    points: Decimal
    loyalty_transaction_id: int


@dataclass(frozen=True, slots=True)
class OpeningCredit:
    """An opening balance that was credited, and the account's state after it."""

    account: int
    user_id: int
    loyalty_transaction_id: int
    points: Decimal
    balance: Decimal
    lifetime: Decimal
    current_level: str
    level_before: str
    counted: Decimal  # the part of the lifetime points that counts towards a level

    @property
    def level_updated(self) -> bool:
        return self.current_level != self.level_before


@dataclass(frozen=True, slots=True)
class Reversal:
    """The result of a return: this entry took `taken` from the balance, if any; the account owes `owed` in all."""

    loyalty_transaction_id: int | None
    balance: Decimal
    lifetime: Decimal
    current_level: str
    taken: Decimal
    owed: Decimal


@dataclass(frozen=True, slots=True)
class Release:
    """Pending points that were released, and the account's state after it."""

    loyalty_transaction_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str
    points: Decimal
    user_id: int
    brand_id: int
    reason_id: str


def lifetime_of(alias: str) -> str:
    """SQL for the lifetime points of the account `alias`, like UserPoints.lifetime."""
    return " - ".join(f"{alias}.points_{part}" for part in ("earned", "received", "returned", "reversed", "owed"))


LIFETIME = lifetime_of("a")
INSERT_SETTLEMENT = part("loyalty/points/sql/insert_settlement.sql")
CREDIT_OPENING_BALANCES = query(
    "loyalty/points/sql/credit_opening_balances.sql", returns=OpeningCredit, lifetime=lifetime_of("m")
)
CREDIT_POINTS = query(
    "loyalty/points/sql/credit_points.sql", returns=Credit, lifetime=LIFETIME, insert_settlement=INSERT_SETTLEMENT
)
RETURN_POINTS = query(
    "loyalty/points/sql/return_points.sql", returns=Credit, lifetime=LIFETIME, insert_settlement=INSERT_SETTLEMENT
)
DEBIT_POINTS = query("loyalty/points/sql/debit_points.sql", returns=Credit, lifetime=LIFETIME)
REVERSE_POINTS = query("loyalty/points/sql/reverse_points.sql", returns=Reversal, lifetime=LIFETIME)
CANCEL_PENDING = query_values("loyalty/points/sql/cancel_pending.sql", "loyalty_transaction_id")
RELEASE_POINTS = query(
    "loyalty/points/sql/release_points.sql", returns=Release, lifetime=LIFETIME, insert_settlement=INSERT_SETTLEMENT
)
EXPIRE_POINTS = query("loyalty/points/sql/expire_points.sql", returns=Expired)
REWORD_NOTES = command("loyalty/points/sql/reword_notes.sql")
# The trigger allows updates of an entry's note only in a transaction that erases a person.
ERASING = "SELECT set_config('ledger.erasing', %(on)s::text, true)"


def settlement_note() -> str:
    return gettext_noop("Settled: points owed for returned orders")


def entry_parameters(items: Sequence[tuple[Sequence[LedgerEntry], Decimal, str]]) -> dict[str, str]:
    """Parameters of write_accruals.sql for each item: its entries, the points owed that they settle, and the level."""
    lines: list[dict[str, Any]] = [
        {
            "item": item,
            "number": line.number,
            "points": str(line.points),
            "reason": line.reason,
            "reason_id": line.reason_id,
            "note": line.note,
            "release_at": line.release_at and line.release_at.isoformat(),
            "details": line.details,
        }
        for item, (new, _settled, _level) in enumerate(items)
        for line in new
    ]
    lines += [
        {
            "item": item,
            "points": str(settled),
            "reason": Reason.REVERSED,
            "reason_id": f"{SETTLED}{new[-1].number}",
            "note": settlement_note(),
        }
        for item, (new, settled, _level) in enumerate(items)
        if settled
    ]
    balances = [
        {
            "item": item,
            "awarded": str(sum((line.points for line in new if line.reason == Reason.EARNED), ZERO)),
            "pending": str(sum((line.points for line in new if line.reason == Reason.PENDING), ZERO)),
            "settled": str(settled),
            "level": level,
        }
        for item, (new, settled, level) in enumerate(items)
        if new
    ]
    return {"entries": json.dumps(lines), "balances": json.dumps(balances)}


def credit(*, account: int, points: Decimal, reason_id: str, note: str, at: datetime) -> Credit:
    """Add `points` (at most two decimals, never negative) for `reason_id`, once per account.

    They settle points owed first. Raises PointsAlreadyClaimed if this reason already earned there. Call in the caller's
    transaction: the account stays locked until it ends.
    """
    credited = CREDIT_POINTS.first(
        account=account, points=points, reason_id=reason_id, note=note, settlement_note=settlement_note(), at=at
    )
    if credited is None:
        raise PointsAlreadyClaimed
    return credited


def credit_opening_balances(
    *, accounts: Sequence[int], points: Sequence[Decimal], reason_id: str, note: str, at: datetime
) -> list[OpeningCredit]:
    """Add points above 0 to each of a brand's accounts, once per `reason_id`, and update the levels.

    `points` are in the order of `accounts`. Returns the new credits. Call in the caller's transaction, with the
    accounts locked or created in it.
    """
    return CREDIT_OPENING_BALANCES.all(
        accounts=list(accounts),
        points=list(points),
        reason_id=reason_id,
        note=note,
        settlement_note=settlement_note(),
        at=at,
    )


def set_current_level(*, account: int, level: str, at: datetime) -> None:
    """Move the account to `level`. Call in the transaction that credited it."""
    UserPoints.objects.filter(pk=account).update(current_level=level, updated_at=at)


def debit(*, account: int, points: Decimal, reason_id: str, note: str, at: datetime) -> Credit:
    """Deduct `points` (at most two decimals, above 0) for `reason_id`, once per account.

    Raises PointsAlreadyClaimed if this reason already has an entry there, and NotEnoughPoints if the balance is
    smaller. Call in the caller's transaction: the account stays locked until it ends.
    """
    debited = DEBIT_POINTS.first(account=account, points=points, reason_id=reason_id, note=note, at=at)
    if debited is None:
        if LoyaltyTransaction.objects.filter(user_point=account, reason_id=reason_id).exists():
            raise PointsAlreadyClaimed
        raise NotEnoughPoints
    return debited


def return_points(*, account: int, points: Decimal, redemption_id: int, note: str, at: datetime) -> Credit:
    """Return the cost of a redemption, once. The entry is 'earned', but counts towards no level and no limit.

    Raises PointsAlreadyClaimed. Call in the caller's transaction: the account stays locked until it ends.
    """
    reason_id = f"{RETURNED}{redemption_id}"
    returned = RETURN_POINTS.first(
        account=account, points=points, reason_id=reason_id, note=note, settlement_note=settlement_note(), at=at
    )
    if returned is None:
        raise PointsAlreadyClaimed
    return returned


def reverse(*, account: int, points: Decimal, reason_id: str, note: str, at: datetime) -> Reversal:
    """Take back what a returned order earned (`points` above 0). What exceeds the balance is owed.

    Call in the caller's transaction, with the account locked. The caller ensures that the return is new.
    """
    reversal = REVERSE_POINTS.first(account=account, points=points, reason_id=reason_id, note=note, at=at)
    assert reversal is not None  # noqa: S101 - the account is locked, so it exists
    return reversal


def cancel_pending(*, entry: int, points: Decimal, reason: str, note: str, at: datetime) -> int:
    """Cancel `points` (above 0) of the pending points of `entry`. Returns the new entry.

    Call in the caller's transaction, with the account locked.
    """
    reason_id = f"{CANCELLED}{entry}:{reason}"
    line: int | None = CANCEL_PENDING.first(entry=entry, points=points, reason_id=reason_id, note=note, at=at)
    assert line is not None  # noqa: S101 - the caller read what is left under the account's lock
    return line


def release(*, account: int, entry: int, note: str, at: datetime) -> Release | None:
    """Earn the rest of pending points that are due. Returns None if they were released before. Locks the account."""
    return RELEASE_POINTS.first(account=account, entry=entry, note=note, settlement_note=settlement_note(), at=at)


def expire(
    *, accounts: Sequence[int], retained_from: datetime, reason_id: str, note: str, at: datetime
) -> list[Expired]:
    """Expire what is left of points earned before `retained_from`, once per `reason_id`.

    Call in the caller's transaction, with the accounts locked.
    """
    return EXPIRE_POINTS.all(
        accounts=list(accounts), retained_from=retained_from, reason_id=reason_id, note=note, at=at
    )


def erase_user(*, account: int, mentions: Mentions, pseudonym: str) -> int:
    """For the erasure of personal data: remove the person's names from their entries' notes. Returns how many changed.

    Call in the transaction of the erasure, which holds the account's lock.
    """
    entries = LoyaltyTransaction.objects.filter(user_point=account)
    notes = [
        {"number": number, "note": reworded}
        for number, note in entries.exclude(note="").values_list("pk", "note")
        if (reworded := replace_mentions(note, mentions.in_their_own_rows, pseudonym)) != note
    ]
    if notes:
        with connection.cursor() as cursor:
            cursor.execute(ERASING, {"on": "on"})
            REWORD_NOTES.run(account=account, notes=json.dumps(notes))
            cursor.execute(ERASING, {"on": "off"})
    return len(notes)
