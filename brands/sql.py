"""Runs the hot path's hand-written statements: bound and planned by the server, once per connection."""

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection
from psycopg.types.json import JsonbLoader, JsonLoader


def rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Every row of one statement; it joins the caller's transaction, else commits by itself.

    Django's own cursors bind on the client, so PostgreSQL parses and plans each statement anew. This one binds on
    the server, and psycopg prepares it (never behind PgBouncer: see DATABASES). Cast parameters in the statement:
    the server sees no Python types. Query logs and counters see it as any other statement.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    if connection.needs_rollback:
        connection.validate_no_broken_transaction()
    raw = psycopg.Cursor(connection.connection)
    # Django has its fields decode JSON; here nobody else would.
    raw.adapters.register_loader("json", JsonLoader)
    raw.adapters.register_loader("jsonb", JsonbLoader)
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(raw) as cursor:  # type: ignore[arg-type] # any cursor of the driver will do
        cursor.execute(statement, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def row(statement: str, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The first row, or None."""
    found = rows(statement, parameters)
    return found[0] if found else None
