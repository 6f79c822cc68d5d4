"""Rows with dates and times that no row may have, as a database restored from elsewhere might have."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, models

APPS = ("brands", "staff_login", "events", "jobs", "campaigns", "loyalty", "authcodes")
FIELDS = [
    field
    for app in APPS
    for model in apps.get_app_config(app).get_models()
    for field in model._meta.concrete_fields
    if isinstance(field, models.DateField | models.TimeField) and not model._meta.proxy
]
CHECKS_OF_COLUMN = """
    SELECT c.conname, pg_get_expr(c.conbin, c.conrelid), cardinality(c.conkey) FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
    WHERE c.contype = 'c' AND c.convalidated AND c.conrelid = %s::regclass AND a.attname = %s
"""


def checks_of(field: Any) -> list[tuple[str, str, int]]:
    """The CHECK constraints on a field's column: name, condition and number of columns."""
    with connection.cursor() as cursor:
        cursor.execute(CHECKS_OF_COLUMN, [f'"{field.model._meta.db_table}"', field.column])
        checks: list[tuple[str, str, int]] = cursor.fetchall()
        return checks


@contextmanager
def unbounded(fields: Collection[Any]) -> Iterator[Any]:
    """A cursor of the owner, in a transaction without the bounds of these fields."""
    constraints = {
        (field.model._meta.db_table, name) for field in fields for name, _condition, _columns in checks_of(field)
    }
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table, name in constraints:
            cursor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"')
        yield cursor


def store_in_all_fields(value: str, *, except_for: Collection[str] = ()) -> int:
    """Store a value in every date and time of every row, except of some models. Returns how many rows it changed."""
    fields, changed = [field for field in FIELDS if field.model._meta.label_lower not in except_for], 0
    with unbounded(fields) as cursor:
        for table in {field.model._meta.db_table for field in fields}:
            columns = [field for field in fields if field.model._meta.db_table == table]
            values = ", ".join(f'"{field.column}" = %s::{field.db_type(connection)}' for field in columns)
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
            cursor.execute(f'UPDATE "{table}" SET {values}', [value] * len(columns))
            changed += cursor.rowcount
            cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')
    return changed
