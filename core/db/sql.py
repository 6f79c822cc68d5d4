"""Runs the hot path's hand-written statements: bound on the server, and planned once per connection."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from django.db import connections, transaction

from core.db import row_guard
from core.db.postgresql.base import DatabaseWrapper

Fetched = TypeVar("Fetched")
PLACEHOLDER = re.compile(r"%(?:\((\w+)\)s|%)")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A CTE that a caller adds to a statement which writes many items at once and lists them in its CTE `locked`.

    `statement` is the text of the CTE. It reads `beside`, a JSON array of rows: each `item` with its `parameters`.
    """

    statement: str
    parameters: Mapping[str, Any]


def rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Every row of one statement. Joins the caller's transaction, or else commits by itself."""
    return execute(statement, parameters, lambda cursor: cursor.fetchall())


def execute(statement: str, parameters: Mapping[str, Any], fetch: Callable[[Any], Fetched]) -> Fetched:
    """Run one statement, and return what `fetch` reads from the cursor.

    Django's own cursors bind on the client, so PostgreSQL parses and plans each statement again. This one binds on
    the server, and psycopg prepares it (never behind PgBouncer: see DATABASES). Cast parameters in the statement:
    the server sees no Python types. Query logs and counters see it as any other statement.
    """
    connection = cast("DatabaseWrapper", connections["default"])
    if connection.is_pooled and row_guard.current() and not connection.in_atomic_block:
        with transaction.atomic():
            return execute(statement, parameters, fetch)
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    if connection.needs_rollback:
        connection.validate_no_broken_transaction()
    if connection.queries_logged or connection.execute_wrappers:
        watched = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
        named = connection.named
        watched(named).execute(statement, parameters)  # type: ignore[arg-type] # any cursor of the driver will do
        return fetch(named)
    cursor = connection.prepared
    text, names = numbered(statement)
    with connection.wrap_database_errors:
        cursor.execute(text, [parameters[name] for name in names])
        return fetch(cursor)


@lru_cache(maxsize=1024)
def numbered(statement: str) -> tuple[bytes, list[str]]:
    """The statement with PostgreSQL's own $1 for each name, and the names in that order.

    psycopg does the same, but on every call if a statement is longer than 4,096 characters.
    """
    names: dict[str, int] = {}

    def number(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        return f"${names.setdefault(name, len(names) + 1)}" if name else "%"

    return PLACEHOLDER.sub(number, statement).encode(), list(names)


def row(statement: str, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The first row, or None."""
    result = rows(statement, parameters)
    return result[0] if result else None
