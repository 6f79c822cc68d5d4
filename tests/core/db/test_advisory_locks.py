"""Advisory locks are numbered in one module, and have the keys in PostgreSQL that older processes use."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction

from core.db import advisory_locks
from core.db.advisory_locks import (
    LOCK_PAIR,
    Lock,
    LockOfRow,
    LockOfText,
    lock,
    lock_row,
    lock_text,
    try_lock_row,
)
from tests.support.locks import locked_by_another_session
from tests.test_architecture import ORDER

LOCKS_OF_SESSION = """
    SELECT classid::bigint, objid::bigint, objsubid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
"""
BIGINT, PAIR = 1, 2  # the values of objsubid that distinguish the two
ROOT = Path(settings.BASE_DIR)
# The number in each call that takes an advisory lock; empty if it is none.
NUMBER = r"pg_(?:try_)?advisory_\w+\((?:hashtextextended\(.*, )?(\d*)"


def locks_of_session():
    with connection.cursor() as cursor:
        cursor.execute(LOCKS_OF_SESSION)
        return cursor.fetchall()


def test_numbers_are_those_of_older_processes():
    assert {each.name: each.value for each in Lock} == {"OWNERSHIP": 7216002, "DEMO": 7216004, "TAKEN_CODES": 7216006}
    assert {each.name: each.value for each in LockOfRow} == {
        "PREFIXES": 7216001,
        "CODE_CHANGES": 7216002,
        "PRINT_RUNS": 7216003,
        "QUOTAS": 7216007,
        "SEGMENT_EVALUATION": 7216009,
        "SEGMENT_REFERENCES": 7216010,
        "REPLAYS": 7216017,
    }
    assert {each.name: each.value for each in LockOfText} == {"PREFIX_LETTERS": 7216005, "ADJUSTMENTS": 7216008}


@pytest.mark.django_db
def test_global_lock_is_one_bigint():
    lock(Lock.OWNERSHIP)

    assert locks_of_session() == [(0, 7216002, BIGINT)]


@pytest.mark.django_db
def test_row_lock_is_a_pair_of_integers():
    lock_row(LockOfRow.CODE_CHANGES, 5)

    assert locks_of_session() == [(7216002, 5, PAIR)]


@pytest.mark.django_db
def test_row_lock_truncates_ids_longer_than_an_integer():
    lock_row(LockOfRow.PREFIXES, 2**31 + 7)

    assert locks_of_session() == [(7216001, 7, PAIR)]


@pytest.mark.django_db
def test_text_lock_is_the_hash_of_the_text_as_a_bigint():
    lock_text(LockOfText.ADJUSTMENTS, "adjustments:3:4")

    with connection.cursor() as cursor:
        cursor.execute("SELECT hashtextextended('adjustments:' || 3 || ':' || 4, 7216008)")
        hashed = cursor.fetchone()[0] % 2**64
    assert locks_of_session() == [(hashed >> 32, hashed % 2**32, BIGINT)]


@pytest.mark.django_db(transaction=True)
def test_try_lock_fails_for_a_locked_row_and_otherwise_lasts_for_the_transaction():
    with locked_by_another_session(LOCK_PAIR, [LockOfRow.REPLAYS.value, 1]), transaction.atomic():
        assert not try_lock_row(LockOfRow.REPLAYS, 1)
        assert try_lock_row(LockOfRow.REPLAYS, 2)
        assert locks_of_session() == [(7216017, 2, PAIR)]

    assert locks_of_session() == []


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("SELECT pg_advisory_lock(7216001, 5)", "7216001"),
        ("SELECT pg_try_advisory_xact_lock_shared(42)", "42"),
        ("SELECT pg_advisory_xact_lock(hashtextextended(rtrim(name, '0'), 7))", "7"),
        ("SELECT pg_advisory_xact_lock(%s::bigint)", ""),
    ],
)
def test_lock_numbers_are_read_from_statements(statement, number):
    assert re.findall(NUMBER, statement) == [number]


def test_only_listed_files_take_advisory_locks_with_defined_numbers():
    other_files = {path for app in ORDER for pattern in ("*.py", "*.sql") for path in (ROOT / app).rglob(pattern)}
    other_files.remove(Path(advisory_locks.__file__))
    numbers = {path: re.findall(NUMBER, path.read_text()) for path in other_files}
    numbers = {path.relative_to(ROOT).as_posix(): each for path, each in numbers.items() if each}

    assert numbers.keys() == {
        "authcodes/migrations/0002_triggers_and_storage.py",
        "brands/tenants/sql/take_turn_with_limits.sql",
    }
    defined = {LockOfText.PREFIX_LETTERS, Lock.TAKEN_CODES, LockOfRow.QUOTAS}
    assert {number for each in numbers.values() for number in each} == {str(number.value) for number in defined}
