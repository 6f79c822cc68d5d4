"""Inserts many rows in one statement, INSERT ... SELECT, with the columns and the defaults of their model."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Field, Model
from django.db.models.fields import NOT_PROVIDED
from django.utils import timezone
from psycopg.sql import Literal

# PostgreSQL functions in place of Python defaults that the model calls for each row.
CALLED: dict[Callable[[], Any], str] = {
    timezone.now: "now()",
    uuid.uuid4: "gen_random_uuid()",
    dict: "'{}'",
    list: "'[]'",
}


def insert(model: type[Model], rows: str, **values: str) -> str:
    """A statement that adds `rows`, which is the part after a SELECT's columns: FROM and so on.

    `values` has SQL for fields by name, a foreign key's with _id. All others get the model's default. Raises
    TypeError for a name that is not a field of the model, and for a field without a value or a default.
    """
    fields = {field.attname: field for field in model._meta.local_concrete_fields}
    if unknown := values.keys() - fields.keys():
        message = f"{model.__name__} has no {', '.join(sorted(unknown))}"
        raise TypeError(message)
    expressions = {field.column: values.get(name) or default(field) for name, field in fields.items()}
    filled = {f'"{column}"': value for column, value in expressions.items() if value is not None}
    table = model._meta.db_table
    return f'INSERT INTO "{table}" ({", ".join(filled)})\nSELECT {", ".join(filled.values())}\n{rows}'


def default(field: "Field[Any, Any]") -> str | None:
    """The field's default as SQL; None if PostgreSQL sets it, or if it is NULL."""
    if field.generated or getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return None if field.generated else "now()"
    if field.db_default is not NOT_PROVIDED or field.get_internal_type().endswith("AutoField"):
        return None
    if callable(field.default) and field.has_default():
        if field.default in CALLED:
            return CALLED[field.default]
    elif field.has_default() or (field.empty_strings_allowed and field.blank and not field.null):
        value = field.get_db_prep_save(field.get_default(), connection)
        return Literal(value).as_string(None).replace("%", "%%")
    elif field.null:
        return None
    message = f"{field.model.__name__}.{field.attname} needs a value"
    raise TypeError(message)
