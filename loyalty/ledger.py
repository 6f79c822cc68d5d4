"""The ledger: the only code that changes a customer's points."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from brands import sql
from loyalty.refusals import PointsAlreadyClaimed

# The unique pair (account, reason_id) decides; the balance moves only if the line was new.
CREDIT = """
    WITH entry AS (
        INSERT INTO loyalty_transaction
               (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
                "createdAt", "updatedAt")
        VALUES (%(account)s::bigint, %(points)s::numeric, 0, 0, 'earned', %(reason_id)s::text, %(note)s::text,
                %(at)s::timestamptz, %(at)s::timestamptz)
        ON CONFLICT (user_point_id, reason_id) DO NOTHING
        RETURNING loyalty_transaction_id
    )
    UPDATE user_points
       SET points = points + %(points)s::numeric,
           points_earned = points_earned + %(points)s::numeric,
           "updatedAt" = %(at)s::timestamptz
      FROM entry
     WHERE user_point_id = %(account)s::bigint
    RETURNING entry.loyalty_transaction_id, points, points_earned, current_level
"""

PROMOTE = """
    UPDATE user_points SET current_level = %(level)s::text, "updatedAt" = %(at)s::timestamptz
     WHERE user_point_id = %(account)s::bigint RETURNING user_point_id
"""


@dataclass(frozen=True, slots=True)
class Credit:
    """A line just written and what the account holds after it, in points."""

    loyalty_transaction_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str


def credit(*, account: int, points: Decimal, reason_id: str, note: str, at: datetime) -> Credit:
    """Add `points` (hundredths at most, never negative) for `reason_id`, once per account.

    Raises PointsAlreadyClaimed when this reason already earned there. Call inside the action's transaction: the
    account stays locked until it ends.
    """
    parameters = {"account": account, "points": points, "reason_id": reason_id, "note": note, "at": at}
    written = sql.row(CREDIT, parameters)
    if written is None:
        raise PointsAlreadyClaimed
    return Credit(*written)


def promote(*, account: int, level: str, at: datetime) -> None:
    """Move the account into `level`. Call inside the transaction that credited it."""
    sql.rows(PROMOTE, {"account": account, "level": level, "at": at})
