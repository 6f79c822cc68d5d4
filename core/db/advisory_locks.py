"""Advisory locks: all their numbers, and the only code that takes one by itself, until the transaction ends.

PostgreSQL has two separate sets of locks: those of one bigint, and those of a pair of integers. The same number may
be used in both. Processes of an older version use the same numbers, so a number never changes its meaning.
"""

from enum import IntEnum, unique

from django.db import connection

LOCK = "SELECT pg_advisory_xact_lock(%s::bigint)"
LOCK_PAIR = "SELECT pg_advisory_xact_lock(%s::int, %s::int)"
TRY_LOCK_PAIR = "SELECT pg_try_advisory_xact_lock(%s::int, %s::int)"
LOCK_TEXT = "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, %s::bigint))"


@unique
class Lock(IntEnum):
    """A single lock for the whole installation; the bigint."""

    OWNERSHIP = 7216002
    DEMO = 7216004
    TAKEN_CODES = 7216006  # triggers of authcodes share it


@unique
class LockOfRow(IntEnum):
    """A lock for each row, mostly a brand; the first integer of the pair. The second is the row's id."""

    PREFIXES = 7216001
    CODE_CHANGES = 7216002
    PRINT_RUNS = 7216003
    QUOTAS = 7216007  # taken by brands/tenants/sql/take_turn_with_limits.sql
    SEGMENT_EVALUATION = 7216009
    SEGMENT_REFERENCES = 7216010
    REPLAYS = 7216017


@unique
class LockOfText(IntEnum):
    """A lock for each text: the seed with which the text is hashed into the bigint."""

    PREFIX_LETTERS = 7216005  # taken by a trigger of authcodes
    ADJUSTMENTS = 7216008


def lock(number: Lock) -> None:
    """Wait until no other transaction holds the lock, and take it."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [number.value])


def lock_row(number: LockOfRow, row_id: int) -> None:
    """Wait until no other transaction holds the lock for this row, and take it."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_PAIR, pair(number, row_id))


def try_lock_row(number: LockOfRow, row_id: int) -> bool:
    """Take the lock for this row if no other transaction holds it. Returns whether it was taken."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK_PAIR, pair(number, row_id))
        is_taken: bool = cursor.fetchone()[0]
    return is_taken


def lock_text(number: LockOfText, text: str) -> None:
    """Wait until no other transaction holds the lock for this text, and take it."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_TEXT, [text, number.value])


def pair(number: LockOfRow, row_id: int) -> list[int]:
    """The second number is an integer, but an id may be larger. Ids that are equal modulo 2**31 share a lock."""
    return [number.value, row_id % 2**31]
