"""Advisory locks: the numbers of them all, and the only code that takes one by itself, until the transaction ends.

PostgreSQL keeps two sets of locks: those of one bigint, and those of a pair of integers. A number of the one is free in
the other. Processes of an older version share the numbers, so none is given another meaning.
"""

from enum import IntEnum, unique

from django.db import connection

LOCK = "SELECT pg_advisory_xact_lock(%s::bigint)"
LOCK_PAIR = "SELECT pg_advisory_xact_lock(%s::int, %s::int)"
TRY_LOCK_PAIR = "SELECT pg_try_advisory_xact_lock(%s::int, %s::int)"
LOCK_TEXT = "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, %s::bigint))"


@unique
class Lock(IntEnum):
    """One for everybody; the bigint."""

    OWNERSHIP = 7216002
    DEMO = 7216004
    TAKEN_CODES = 7216006  # triggers of authcodes share it


@unique
class LockOfRow(IntEnum):
    """One for each row of a kind, a brand mostly; the first of the pair. Its id is the second."""

    PREFIXES = 7216001
    CODE_CHANGES = 7216002
    PRINT_RUNS = 7216003
    QUOTAS = 7216007  # taken by brands/tenants/sql/take_turn_with_limits.sql
    SEGMENT_EVALUATION = 7216009
    SEGMENT_REFERENCES = 7216010
    REPLAYS = 7216017


@unique
class LockOfText(IntEnum):
    """One for each text: what it is hashed with, into the bigint."""

    PREFIX_LETTERS = 7216005  # taken by a trigger of authcodes
    ADJUSTMENTS = 7216008


def lock(number: Lock) -> None:
    """Wait for everybody else who holds it."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [number.value])


def lock_row(number: LockOfRow, row_id: int) -> None:
    """Wait for everybody else who holds it for this row."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_PAIR, pair(number, row_id))


def try_lock_row(number: LockOfRow, row_id: int) -> bool:
    """Whether nobody else holds it for this row; then we do."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK_PAIR, pair(number, row_id))
        is_taken: bool = cursor.fetchone()[0]
    return is_taken


def lock_text(number: LockOfText, text: str) -> None:
    """Wait for everybody else who holds it for this text."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_TEXT, [text, number.value])


def pair(number: LockOfRow, row_id: int) -> list[int]:
    """The second is an integer, and an id may be larger: those that are cut off to the same share a lock."""
    return [number.value, row_id % 2**31]
