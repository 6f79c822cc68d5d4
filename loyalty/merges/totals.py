"""An account's totals, and carrying them over to another account in the ledger."""

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, Q
from django.utils.translation import gettext_noop

from core.db.statements import query
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import ledger
from loyalty.points.ledger import LIFETIME
from loyalty.points.point_limits import NO_ACTIONS

ZERO = Decimal(0)
Reason = LoyaltyTransaction.Reason
# The maximum of a ledger entry's columns.
MAX_AMOUNT = Decimal("99999999.99")


@dataclass(frozen=True, slots=True)
class Totals:
    """An account's totals, in points. `points` is its balance, which follows from the others."""

    earned: Decimal
    redeemed: Decimal
    expired: Decimal
    reversed: Decimal
    returned: Decimal
    received: Decimal
    pending: Decimal
    owed: Decimal

    @classmethod
    def of(cls, account: UserPoints) -> "Totals":
        return cls(**{field.name: getattr(account, f"points_{field.name}") for field in fields(cls)})

    @classmethod
    def from_json(cls, stored: dict[str, str]) -> "Totals":
        return cls(**{name: Decimal(value) for name, value in stored.items()})

    def as_json(self) -> dict[str, str]:
        return {name: str(value) for name, value in asdict(self).items()}

    @property
    def points(self) -> Decimal:
        return self.earned - self.redeemed - self.expired - self.reversed

    @property
    def lifetime(self) -> Decimal:
        return self.earned - self.received - self.returned - self.reversed - self.owed

    @property
    def fit_in_ledger(self) -> bool:
        return all(value <= MAX_AMOUNT for value in asdict(self).values())

    def settled_with(self, account: UserPoints) -> Decimal:
        """The points owed that would be settled if these totals moved to `account`."""
        return min(account.points + self.points, account.points_owed + self.owed)

    def can_leave(self, account: UserPoints) -> bool:
        """Whether `account` would remain valid without these totals."""
        remaining = Totals.of(account).minus(self)
        parts_are_left = all(value >= ZERO for value in asdict(remaining).values()) and remaining.points >= ZERO
        return (
            parts_are_left
            and remaining.lifetime >= ZERO
            and remaining.returned <= min(remaining.redeemed, remaining.earned)
        )

    def minus(self, other: "Totals") -> "Totals":
        return Totals(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class PastActivity:
    """The past of an account for conditions of earning rules: how many orders and scans earned, and the last activity.

    It is carried over with the totals, for replays, which read only the ledger.
    """

    orders: int
    scans: int
    last_at: str | None

    @classmethod
    def of(cls, account: UserPoints) -> "PastActivity":
        actions = Q(reason__in=[Reason.EARNED, Reason.PENDING])
        counted = LoyaltyTransaction.objects.filter(actions, user_point=account).aggregate(
            orders=Count("pk", filter=Q(reason_id__startswith="order:")),
            scans=Count("pk", filter=~Q(reason_id__contains=":")),
            last_at=Max("created_at", filter=~Q(reason_id__regex=NO_ACTIONS)),
        )
        last_at = counted["last_at"]
        return cls(counted["orders"], counted["scans"], last_at.isoformat() if last_at else None)


@dataclass(frozen=True, slots=True)
class CarriedSide:
    """One side of a merge or its undo: the account's balance and level after it, and the owed points it settled."""

    account: int
    user_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str
    settled: Decimal


CARRY_OVER = query("loyalty/points/sql/carry_over.sql", returns=CarriedSide, lifetime=LIFETIME)


def carry_over(
    totals: Totals, past: PastActivity, *, source: int, target: int, reason: str, notes: tuple[str, str], at: datetime
) -> dict[int, CarriedSide]:
    """Move `totals` and `past` from one account to the other, with a note for each. Returns both sides.

    Call in the caller's transaction, with both accounts locked in the order of their ids.
    """
    parameters: dict[str, Any] = asdict(totals)
    sides = CARRY_OVER.all(
        **parameters,
        **asdict(past),
        points=totals.points,
        lifetime=totals.lifetime,
        source=source,
        target=target,
        reason=reason,
        source_note=notes[0],
        target_note=notes[1],
        settlement_note=ledger.settlement_note(),
        at=at,
    )
    return {side.account: side for side in sides}


def out_note() -> str:
    return gettext_noop("Moved to another account of yours")


def in_note() -> str:
    return gettext_noop("From another account of yours")
