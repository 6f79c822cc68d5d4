"""Advisory locks are numbered in one place, and are in PostgreSQL what older processes take them for."""

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
from tests.support.locks import holding
from tests.test_architecture import ORDER

HELD = """
    SELECT classid::bigint, objid::bigint, objsubid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
"""
BIGINT, PAIR = 1, 2  # how PostgreSQL tells the two apart, as objsubid
ROOT = Path(settings.BASE_DIR)


def held():
    with connection.cursor() as cursor:
        cursor.execute(HELD)
        return cursor.fetchall()


@pytest.mark.django_db
def test_a_lock_for_everybody_is_one_bigint():
    lock(Lock.OWNERSHIP)

    assert held() == [(0, 7216002, BIGINT)]


@pytest.mark.django_db
def test_a_lock_of_a_row_is_a_pair_and_no_other_lock_of_the_same_number():
    lock_row(LockOfRow.CODE_CHANGES, 5)

    assert held() == [(7216002, 5, PAIR)]


@pytest.mark.django_db
def test_a_row_s_number_is_cut_off_where_it_is_longer_than_an_integer():
    lock_row(LockOfRow.PREFIXES, 2**31 + 7)

    assert held() == [(7216001, 7, PAIR)]


@pytest.mark.django_db
def test_a_lock_of_a_text_is_its_hash_as_a_bigint():
    lock_text(LockOfText.ADJUSTMENTS, "adjustments:3:4")

    with connection.cursor() as cursor:
        cursor.execute("SELECT hashtextextended('adjustments:' || 3 || ':' || 4, 7216008)")
        hashed = cursor.fetchone()[0] % 2**64
    assert held() == [(hashed >> 32, hashed % 2**32, BIGINT)]


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_somebody_else_holds_is_not_taken_and_lasts_until_the_transaction_ends():
    with holding(LOCK_PAIR, [LockOfRow.REPLAYS.value, 1]), transaction.atomic():
        assert not try_lock_row(LockOfRow.REPLAYS, 1)
        assert try_lock_row(LockOfRow.REPLAYS, 2)
        assert held() == [(7216017, 2, PAIR)]

    assert held() == []


def test_no_other_module_takes_one_and_statements_take_those_that_are_numbered():
    elsewhere = {path for app in ORDER for pattern in ("*.py", "*.sql") for path in (ROOT / app).rglob(pattern)}
    elsewhere.remove(Path(advisory_locks.__file__))
    takers = {path: path.read_text() for path in elsewhere if "advisory_xact_lock" in path.read_text()}

    assert {path.relative_to(ROOT).as_posix() for path in takers} == {
        "authcodes/migrations/0002_triggers_and_storage.py",
        "brands/tenants/sql/take_turn_with_limits.sql",
    }
    assert {int(number) for text in takers.values() for number in re.findall(r"\b7216\d{3}\b", text)} == {
        LockOfText.PREFIX_LETTERS,
        Lock.TAKEN_CODES,
        LockOfRow.QUOTAS,
    }
