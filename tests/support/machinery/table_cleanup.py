"""Empties the tables after a test that committed."""

from contextlib import suppress

from django.db import OperationalError, connection
from django.test import TransactionTestCase

# Processes that serve a test cache the ids of content types, which Django's own flush would create again.
PRESERVED_TABLES = {"django_migrations", "django_content_type", "auth_permission"}

# In place of TRUNCATE, which makes new files for each table and index, and takes thirty times as long for a few rows.
# As a replica the session runs no triggers: neither those that check references nor those that prevent a DELETE.
DELETE = """
    LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE;
    SET LOCAL session_replication_role = replica;
    {deletes}
"""


ATTEMPTS = 3


def empty_tables(_test: TransactionTestCase) -> None:
    """Delete all rows, and try again after a deadlock, since rows that stay would fail the tests that follow.

    Processes that still serve the test may lock rows in another order than this locks the tables. PostgreSQL ends such
    a deadlock by cancelling either session.
    """
    for _attempt in range(ATTEMPTS - 1):
        with suppress(OperationalError):
            delete_rows()
            return
    delete_rows()


def delete_rows() -> None:
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        names = sorted(set(connection.introspection.table_names(cursor)) - PRESERVED_TABLES)
        tables = ", ".join(map(connection.ops.quote_name, names))
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone()[0]:
            deletes = "".join(f"DELETE FROM {connection.ops.quote_name(name)};" for name in names)
            cursor.execute(DELETE.format(tables=tables, deletes=deletes))
        else:
            cursor.execute(f"TRUNCATE {tables}")
