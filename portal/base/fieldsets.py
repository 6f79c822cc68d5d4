"""The sections of a form's page, without the fields that the user may not see."""

from collections.abc import Collection
from typing import Any


def fieldsets_without(fieldsets: Any, names: Collection[str]) -> list[Any]:
    """Fieldsets without some of their fields, and without those that have none left."""
    result = []
    for title, options in fieldsets:
        fields: list[Any] = []
        for field in options["fields"]:
            row = tuple(name for name in (field if isinstance(field, tuple) else (field,)) if name not in names)
            if row:
                fields.append(row if isinstance(field, tuple) else row[0])
        if fields:
            result.append((title, {**options, "fields": tuple(fields)}))
    return result
