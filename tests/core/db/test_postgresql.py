"""The database connection: a dead one is noticed before the next statement, at no cost for a live one."""

import pytest
from django.db import DataError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from core.db import sql

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session():
    """A session as a request receives it: opened by an earlier request, and due for a health check."""
    sql.rows("SELECT 1", {})
    connection.health_check_enabled = True
    connection.health_check_done = False
    yield connection.connection.info.backend_pid
    connection.health_check_enabled = False


def terminate(session):
    other = connections.create_connection("default")
    with other.as_owner(), other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [session])
    other.close()


def test_session_ended_by_the_server_is_replaced(session):
    terminate(session)

    assert sql.row("SELECT pg_backend_pid()::int", {}) != (session,)


def test_control_statement_fails_without_the_health_check(session):
    connection.health_check_enabled = False
    terminate(session)

    with pytest.raises(connection.Database.OperationalError) as failure:
        connection.prepared.execute("SELECT 1")

    assert failure.value.sqlstate in {"57P01", None}
    connection.close()


def test_live_session_is_reused_without_an_extra_query(session):
    with CaptureQueriesContext(connection) as captured:
        assert sql.row("SELECT pg_backend_pid()::int", {}) == (session,)

    assert len(captured) == 1
    assert connection.health_check_done


def test_a_closed_connection_is_not_usable(session):
    connection.connection.close()

    assert not connection.is_usable()
    connection.close()


def test_connection_is_not_usable_until_a_failed_transaction_ends(session):
    with transaction.atomic():
        with pytest.raises(DataError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        assert not connection.is_usable()
        transaction.set_rollback(True)
    assert connection.is_usable()


def test_sql_helpers_decode_json_and_cursors_return_text():
    assert sql.row("""SELECT '{"a": [1]}'::jsonb, '[2]'::json""", {}) == ({"a": [1]}, [2])
    with connection.cursor() as cursor:
        cursor.execute("""SELECT '{"a": [1]}'::jsonb""")
        assert cursor.fetchone() == ('{"a": [1]}',)


def test_named_parameters_are_numbered_and_percent_signs_unescaped():
    statement = "SELECT %(b)s::int, %(a)s::text LIKE '1%%', %(b)s::int"

    assert sql.numbered(statement) == (b"SELECT $1::int, $2::text LIKE '1%', $1::int", ["b", "a"])
    assert sql.row(statement, {"a": "12", "b": 3, "not named": 0}) == (3, True, 3)
    with CaptureQueriesContext(connection):
        assert sql.row(statement, {"a": "12", "b": 3, "not named": 0}) == (3, True, 3)
