"""The ledger: the only code that changes a customer's points."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection

from brands.identity.person_mentions import Mentions, without
from core.db import sql
from loyalty.errors import NotEnoughPoints, PointsAlreadyClaimed

# The unique pair (account, reason_id) decides; the balance moves only if the line was new.
ENTRY = """
    WITH entry AS (
        INSERT INTO loyalty_transaction
               (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
                "createdAt", "updatedAt")
        VALUES (%(account)s::bigint, %(points)s::numeric, 0, 0, 'earned', %(reason_id)s::text, %(note)s::text,
                %(at)s::timestamptz, %(at)s::timestamptz)
        ON CONFLICT (user_point_id, reason_id) DO NOTHING
        RETURNING loyalty_transaction_id
    )
"""
CREDIT = f"""
    {ENTRY.strip()}
    UPDATE user_points
       SET points = points + %(points)s::numeric,
           points_earned = points_earned + %(points)s::numeric,
           "updatedAt" = %(at)s::timestamptz
      FROM entry
     WHERE user_point_id = %(account)s::bigint
    RETURNING entry.loyalty_transaction_id, points, points_earned - points_returned, current_level
"""  # noqa: S608 - built from constants

PROMOTE = """
    UPDATE user_points SET current_level = %(level)s::text, "updatedAt" = %(at)s::timestamptz
     WHERE user_point_id = %(account)s::bigint RETURNING user_point_id
"""


# Numbers for the new lines of an action, a row `a` with a JSON array of reason_ids; a line that is never written leaves
# a gap.
NUMBERS = """
    ARRAY(SELECT nextval('loyalty_transaction_loyalty_transaction_id_seq') FROM jsonb_array_elements(a.reason_ids))
"""

# For a statement that holds accounts and names them, one for each item, in a CTE `held`. The unique pair (account,
# reason_id) is the last word: a second line for a reason is an error, whatever was read before.
LINES = """
    INSERT INTO loyalty_transaction
           (loyalty_transaction_id, user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id,
            note, "createdAt", "updatedAt")
    SELECT line.number, held.account, line.points, 0, 0, 'earned', line.reason_id, line.note,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM held
      JOIN jsonb_to_recordset(%(lines)s::jsonb)
           AS line (item int, number bigint, points numeric, reason_id text, note text)
     USING (item)
"""

# Beside LINES: a balance moves with its ledger or not at all.
BALANCE = """
    UPDATE user_points
       SET points = points + moved.awarded, points_earned = points_earned + moved.awarded,
           current_level = moved.level, "updatedAt" = %(at)s::timestamptz
      FROM held
      JOIN jsonb_to_recordset(%(balances)s::jsonb) AS moved (item int, awarded numeric, level text) USING (item)
     WHERE user_point_id = held.account
"""


# The trigger lets a line's note change while the transaction says that it erases a person, and nothing else ever.
ERASING = "SELECT set_config('ledger.erasing', %(on)s::text, true)"
NOTES = """
    SELECT loyalty_transaction_id, note FROM loyalty_transaction
     WHERE user_point_id = %(account)s::bigint AND note <> ''
"""
REWORD = """
    UPDATE loyalty_transaction t SET note = reworded.note
      FROM jsonb_to_recordset(%(notes)s::jsonb) AS reworded (number bigint, note text)
     WHERE t.loyalty_transaction_id = reworded.number AND t.user_point_id = %(account)s::bigint
"""

# For a statement that holds the account's lock and names it in `{origin}`: no row there, no line and no change.
REDEEM = """
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note, "createdAt",
            "updatedAt")
    SELECT o.account, 0, %(cost)s::numeric, 0, 'redeemed', %(reason_id)s::text, %(note)s::text, %(at)s::timestamptz,
           %(at)s::timestamptz
      FROM {origin} o
"""
SPEND = """
    UPDATE user_points
       SET points = points - %(cost)s::numeric, points_redeemed = points_redeemed + %(cost)s::numeric,
           "updatedAt" = %(at)s::timestamptz
      FROM {origin} o
     WHERE user_point_id = o.account
"""

# Points that come back were earned before: they count for the balance, not for levels.
GIVE_BACK = f"""
    {ENTRY.strip()}
    UPDATE user_points
       SET points = points + %(points)s::numeric, points_earned = points_earned + %(points)s::numeric,
           points_returned = points_returned + %(points)s::numeric, "updatedAt" = %(at)s::timestamptz
      FROM entry
     WHERE user_point_id = %(account)s::bigint
    RETURNING entry.loyalty_transaction_id, points, points_earned - points_returned, current_level
"""  # noqa: S608 - built from constants

# Of the accounts given, which must be locked: what is on each beyond what was earned since a moment, is gone. First
# earned is first spent, so that much of the balance is older, however it was earned and spent. Points that came back
# are as old as they were.
EXPIRE = """
    WITH due AS (
        SELECT a.user_point_id, least(a.points - coalesce(r.recent, 0), 99999999.99) AS amount
          FROM user_points a
          LEFT JOIN LATERAL (
               SELECT sum(t.points_earned) AS recent FROM loyalty_transaction t
                WHERE t.user_point_id = a.user_point_id AND t."createdAt" >= %(kept_from)s::timestamptz
                  AND t.reason_id NOT LIKE 'redeem-undo:%%') r ON true
         WHERE a.user_point_id = ANY (%(accounts)s::bigint[])
    ), lines AS (
        INSERT INTO loyalty_transaction
               (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
                "createdAt", "updatedAt")
        SELECT user_point_id, 0, 0, amount, 'expired', %(reason_id)s::text, %(note)s::text,
               %(at)s::timestamptz, %(at)s::timestamptz
          FROM due WHERE amount > 0
        ON CONFLICT (user_point_id, reason_id) DO NOTHING
        RETURNING user_point_id, points_expired
    )
    UPDATE user_points a
       SET points = a.points - l.points_expired, points_expired = a.points_expired + l.points_expired,
           "updatedAt" = %(at)s::timestamptz
      FROM lines l
     WHERE a.user_point_id = l.user_point_id
    RETURNING a.user_point_id, a.user_id, a.points, a.current_level, l.points_expired
"""
# What reason_ids begin with: of points that came back, that staff added or took, and that a milestone paid.
RETURNED, ADJUSTED, WON = "redeem-undo:", "adjust:", "milestone:"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A line to write: `points` are hundredths at most and never negative, `reason_id` counts once per account."""

    number: int
    points: Decimal
    reason_id: str
    note: str


@dataclass(frozen=True, slots=True)
class Credit:
    """A line just written and what the account holds after it, in points."""

    loyalty_transaction_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str


def posting(items: Sequence[tuple[Sequence[LedgerEntry], str]]) -> dict[str, str]:
    """Parameters of LINES and BALANCE: for each item its lines, and the account's level after them."""
    lines = [
        {
            "item": item,
            "number": line.number,
            "points": str(line.points),
            "reason_id": line.reason_id,
            "note": line.note,
        }
        for item, (new, _) in enumerate(items)
        for line in new
    ]
    balances = [
        {"item": item, "awarded": str(sum((line.points for line in new), Decimal(0))), "level": level}
        for item, (new, level) in enumerate(items)
        if new
    ]
    return {"lines": json.dumps(lines), "balances": json.dumps(balances)}


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


# The balance decides under the account's lock; without enough on it there is no line.
DEBIT = """
    WITH held AS (
        SELECT user_point_id FROM user_points
         WHERE user_point_id = %(account)s::bigint AND points >= %(points)s::numeric
           FOR UPDATE
    ), entry AS (
        INSERT INTO loyalty_transaction
               (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
                "createdAt", "updatedAt")
        SELECT user_point_id, 0, %(points)s::numeric, 0, 'redeemed', %(reason_id)s::text, %(note)s::text,
               %(at)s::timestamptz, %(at)s::timestamptz
          FROM held
        ON CONFLICT (user_point_id, reason_id) DO NOTHING
        RETURNING loyalty_transaction_id
    )
    UPDATE user_points
       SET points = points - %(points)s::numeric,
           points_redeemed = points_redeemed + %(points)s::numeric,
           "updatedAt" = %(at)s::timestamptz
      FROM entry
     WHERE user_point_id = %(account)s::bigint
    RETURNING entry.loyalty_transaction_id, points, points_earned - points_returned, current_level
"""

HAS_LINE = """
    SELECT loyalty_transaction_id FROM loyalty_transaction
     WHERE user_point_id = %(account)s::bigint AND reason_id = %(reason_id)s::text
"""


def debit(*, account: int, points: Decimal, reason_id: str, note: str, at: datetime) -> Credit:
    """Take `points` (hundredths at most, above 0) for `reason_id`, once per account.

    Raises PointsAlreadyClaimed when this reason already has a line there, and NotEnoughPoints when the balance is
    smaller. Call inside the action's transaction: the account stays locked until it ends.
    """
    parameters = {"account": account, "points": points, "reason_id": reason_id, "note": note, "at": at}
    written = sql.row(DEBIT, parameters)
    if written is None:
        if sql.row(HAS_LINE, parameters):
            raise PointsAlreadyClaimed
        raise NotEnoughPoints
    return Credit(*written)


def give_back(*, account: int, points: Decimal, redemption_id: int, note: str, at: datetime) -> Credit:
    """Return what a redemption cost, once; the line says 'earned', but it counts for no level and no limit.

    Raises PointsAlreadyClaimed. Call inside the action's transaction: the account stays locked until it ends.
    """
    reason_id = f"{RETURNED}{redemption_id}"
    parameters = {"account": account, "points": points, "reason_id": reason_id, "note": note, "at": at}
    written = sql.row(GIVE_BACK, parameters)
    if written is None:
        raise PointsAlreadyClaimed
    return Credit(*written)


@dataclass(frozen=True, slots=True)
class Expired:
    """Points that an account just lost, and what it holds after it."""

    account: int
    user_id: int
    balance: Decimal
    current_level: str
    points: Decimal


def expire(*, accounts: Sequence[int], kept_from: datetime, reason_id: str, note: str, at: datetime) -> list[Expired]:
    """Take from each account what was earned before `kept_from` and is still there; once for a `reason_id`.

    Call inside the action's transaction, with the accounts locked.
    """
    parameters = {"accounts": list(accounts), "kept_from": kept_from, "reason_id": reason_id, "note": note, "at": at}
    return [Expired(*found) for found in sql.rows(EXPIRE, parameters)]


def forget_person(*, account: int, mentions: Mentions, pseudonym: str) -> int:
    """For the erasure of a person's data: their lines name them no more, whatever staff wrote; returns how many did.

    Call inside the transaction that erases, which holds the account's lock.
    """
    notes = [
        {"number": number, "note": reworded}
        for number, note in sql.rows(NOTES, {"account": account})
        if (reworded := without(note, mentions.in_their_own_rows, pseudonym)) != note
    ]
    if notes:
        with connection.cursor() as cursor:
            cursor.execute(ERASING, {"on": "on"})
            cursor.execute(REWORD, {"account": account, "notes": json.dumps(notes)})
            cursor.execute(ERASING, {"on": "off"})
    return len(notes)
