"""Checks many rows at once against the database's CHECK and UNIQUE constraints."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import CheckConstraint, Model, UniqueConstraint
from django.utils.translation import gettext as _

from portal.import_export.plans import PlannedRow

MAX_NAMED_LINES = 10  # named in a message
# The condition of each CHECK in PostgreSQL, including those of the columns' bounds.
CONDITIONS = """
SELECT conname, pg_get_expr(conbin, conrelid)
FROM pg_constraint
WHERE conrelid = %s::regclass AND contype = 'c' AND conname = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A row that breaks a rule, by its index, and the message."""

    place: int
    message: str


class Seen:
    """Rows and unique values of earlier portions of a file, in a few bytes each.

    `of_file` holds facts about all portions of the file, under names that the resource defines.
    """

    def __init__(self) -> None:
        self._lines: dict[int, int] = {}
        self.of_file: dict[str, Any] = {}

    def line_of(self, what: tuple[Any, ...]) -> int | None:
        """The line on which an earlier portion has it."""
        return self._lines.get(hash(what))

    def add(self, what: tuple[Any, ...], line: int) -> None:
        self._lines[hash(what)] = line

    def repeated(self, same: Mapping[tuple[Any, ...], Sequence[PlannedRow]]) -> Iterator[tuple[PlannedRow, str]]:
        """Given rows by a key that must be unique, the repeated ones with the numbers of the conflicting lines."""
        for what, rows in same.items():
            earlier = self.line_of(what)
            self.add(what, earlier or rows[0].line)
            lines = [*([earlier] if earlier else []), *(row.line for row in rows[:MAX_NAMED_LINES])]
            if len(lines) > 1:
                yield from ((row, ", ".join(map(str, lines))) for row in rows)


def violations(rows: Sequence[Model], seen: Seen) -> Iterator[Violation]:
    """Violations of the model's constraints. The number of statements does not depend on the number of rows.

    A row's brand must be set. A value of any other row of the brand counts as taken, even if the file would change
    that row. What earlier portions of the file have `seen` counts, too.
    """
    if rows:
        yield from _check_violations(rows)
        yield from _unique_violations(rows, seen)


def _check_violations(rows: Sequence[Model]) -> Iterator[Violation]:
    meta: Any = rows[0]._meta
    constraints = {each.name: each for each in meta.constraints if isinstance(each, CheckConstraint)}
    if not constraints:
        return
    fields = meta.concrete_fields
    values = [{field.column: _stored(field, getattr(row, field.attname)) for field in fields} for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(CONDITIONS, [f'"{meta.db_table}"', list(constraints)])
        conditions = dict(cursor.fetchall())
        for name, condition in conditions.items():
            # The table and the condition come from the catalogue; the rows are passed as a parameter.
            cursor.execute(
                f'SELECT ordinality FROM jsonb_populate_recordset(NULL::"{meta.db_table}", %s::jsonb)'  # noqa: S608
                f" WITH ORDINALITY AS t WHERE NOT ({condition.replace('%', '%%')})",
                [DjangoJSONEncoder().encode(values)],
            )
            message = str(constraints[name].get_violation_error_message())
            yield from (Violation(place - 1, message) for (place,) in cursor.fetchall())


def _stored(field: Any, value: Any) -> Any:
    """A value in JSON form for the database; None for values that the database sets itself."""
    return None if hasattr(value, "resolve_expression") else field.get_prep_value(value)


def _unique_violations(rows: Sequence[Model], seen: Seen) -> Iterator[Violation]:
    meta: Any = rows[0]._meta
    for constraint in meta.constraints:
        if isinstance(constraint, UniqueConstraint) and constraint.fields and constraint.condition is None:
            yield from _repeated(rows, constraint.fields, seen)


def _repeated(rows: Sequence[Model], names: Sequence[str], seen: Seen) -> Iterator[Violation]:
    """Rows whose values of `names` also occur in another row of the file or of the brand."""
    meta: Any = rows[0]._meta
    columns = [meta.get_field(name).attname for name in names]
    places: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        values = tuple(getattr(row, name) for name in columns)
        if None not in values:
            places[values].append(place)
    title = ", ".join(str(meta.get_field(name).verbose_name) for name in names if name != "brand")
    message = _("Another row already has this: %(fields)s.") % {"fields": title}
    taken = _taken(rows, columns)
    for values, where in places.items():
        free = {rows[place].pk for place in where} | {None}
        known = (*names, *values)
        if len(where) > 1 or taken.get(values) not in free or seen.line_of(known):
            yield from (Violation(place, message) for place in where)
        seen.add(known, 1)


def _taken(rows: Sequence[Model], columns: Sequence[str]) -> dict[tuple[Any, ...], Any]:
    """The key of the stored row for each combination of values."""
    values_by_column = {name: {getattr(row, name) for row in rows} - {None} for name in columns}
    conditions = {f"{name}__in": values for name, values in values_by_column.items()}
    matches = type(rows[0])._default_manager.filter(**conditions)
    return {tuple(values): pk for pk, *values in matches.values_list("pk", *columns)}
