"""The database connection: it is found dead before the next statement, and found alive at no cost."""

import pytest
from django.db import DataError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from core.db import sql

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session():
    """A session as a request finds it: open from the one before, and to be looked at."""
    sql.rows("SELECT 1", {})
    connection.health_check_enabled = True
    connection.health_check_done = False
    yield connection.connection.info.backend_pid
    connection.health_check_enabled = False


def end(session):
    other = connections.create_connection("default")
    with other.as_owner(), other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [session])
    other.close()


def test_a_session_that_the_server_ended_is_replaced(session):
    end(session)

    assert sql.row("SELECT pg_backend_pid()::int", {}) != (session,)


def test_control_without_the_look_the_statement_fails(session):
    """The control."""
    connection.health_check_enabled = False
    end(session)

    with pytest.raises(connection.Database.OperationalError) as failure:
        connection.prepared.execute("SELECT 1")

    assert failure.value.sqlstate in {"57P01", None}
    connection.close()


def test_a_living_session_is_kept_and_not_asked(session):
    with CaptureQueriesContext(connection) as captured:
        assert sql.row("SELECT pg_backend_pid()::int", {}) == (session,)

    assert len(captured) == 1
    assert connection.health_check_done


def test_a_closed_connection_is_not_usable(session):
    connection.connection.close()

    assert not connection.is_usable()
    connection.close()


def test_a_failed_transaction_is_not_usable(session):
    with transaction.atomic():
        with pytest.raises(DataError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        assert not connection.is_usable()
        transaction.set_rollback(True)
    assert connection.is_usable()


def test_json_comes_decoded_here_and_as_text_to_the_fields():
    assert sql.row("""SELECT '{"a": [1]}'::jsonb, '[2]'::json""", {}) == ({"a": [1]}, [2])
    with connection.cursor() as cursor:
        cursor.execute("""SELECT '{"a": [1]}'::jsonb""")
        assert cursor.fetchone() == ('{"a": [1]}',)


def test_names_become_numbers_once_each_and_a_doubled_percent_sign_one():
    statement = "SELECT %(b)s::int, %(a)s::text LIKE '1%%', %(b)s::int"

    assert sql.numbered(statement) == (b"SELECT $1::int, $2::text LIKE '1%', $1::int", ["b", "a"])
    assert sql.row(statement, {"a": "12", "b": 3, "not named": 0}) == (3, True, 3)
    with CaptureQueriesContext(connection):
        assert sql.row(statement, {"a": "12", "b": 3, "not named": 0}) == (3, True, 3)
