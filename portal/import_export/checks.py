"""What the database will demand of many rows, asked for all of them at once: its CHECK and UNIQUE constraints."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import CheckConstraint, Model, UniqueConstraint
from django.utils.translation import gettext as _

from portal.import_export.plans import PlannedRow

MAX_NAMED_LINES = 10  # that a message names
# The condition of each CHECK as PostgreSQL has it, of the columns' bounds too.
CONDITIONS = """
SELECT conname, pg_get_expr(conbin, conrelid)
FROM pg_constraint
WHERE conrelid = %s::regclass AND contype = 'c' AND conname = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """Which of the rows breaks a rule, by its place, and how to say so."""

    place: int
    message: str


class Seen:
    """What earlier portions of a file are about, in a few bytes each: its own rows, and values that must be unique.

    `of_file` is what is true of all its portions, by names of the resource's own.
    """

    def __init__(self) -> None:
        self._lines: dict[int, int] = {}
        self.of_file: dict[str, Any] = {}

    def line_of(self, what: tuple[Any, ...]) -> int | None:
        """Where an earlier portion has it."""
        return self._lines.get(hash(what))

    def add(self, what: tuple[Any, ...], line: int) -> None:
        self._lines[hash(what)] = line

    def repeated(self, same: Mapping[tuple[Any, ...], Sequence[PlannedRow]]) -> Iterator[tuple[PlannedRow, str]]:
        """Of rows by what only one line may be about, each of those with others, and the numbers of their lines."""
        for what, rows in same.items():
            earlier = self.line_of(what)
            self.add(what, earlier or rows[0].line)
            lines = [*([earlier] if earlier else []), *(row.line for row in rows[:MAX_NAMED_LINES])]
            if len(lines) > 1:
                yield from ((row, ", ".join(map(str, lines))) for row in rows)


def violations(rows: Sequence[Model], seen: Seen) -> Iterator[Violation]:
    """Of the constraints of the rows' model, in a number of statements that does not depend on how many rows there are.

    A row's brand must be set. A value that any other row of the brand has now counts as taken, also where the file
    would change that one. What earlier portions of the file have `seen` counts too.
    """
    if rows:
        yield from _check_violations(rows)
        yield from _unique_violations(rows, seen)


def _check_violations(rows: Sequence[Model]) -> Iterator[Violation]:
    meta: Any = rows[0]._meta  # noqa: SLF001 - Django's public API of models
    constraints = {each.name: each for each in meta.constraints if isinstance(each, CheckConstraint)}
    if not constraints:
        return
    fields = meta.concrete_fields
    values = [{field.column: _stored(field, getattr(row, field.attname)) for field in fields} for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(CONDITIONS, [f'"{meta.db_table}"', list(constraints)])
        conditions = dict(cursor.fetchall())
        for name, condition in conditions.items():
            # The table and the condition are the catalogue's own; the rows travel as a parameter.
            cursor.execute(
                f'SELECT ordinality FROM jsonb_populate_recordset(NULL::"{meta.db_table}", %s::jsonb)'  # noqa: S608
                f" WITH ORDINALITY AS t WHERE NOT ({condition.replace('%', '%%')})",
                [DjangoJSONEncoder().encode(values)],
            )
            message = str(constraints[name].get_violation_error_message())
            yield from (Violation(place - 1, message) for (place,) in cursor.fetchall())


def _stored(field: Any, value: Any) -> Any:
    """A value as JSON holds it for the database; nothing for what the database itself will set."""
    return None if hasattr(value, "resolve_expression") else field.get_prep_value(value)


def _unique_violations(rows: Sequence[Model], seen: Seen) -> Iterator[Violation]:
    meta: Any = rows[0]._meta  # noqa: SLF001 - as above
    for constraint in meta.constraints:
        if isinstance(constraint, UniqueConstraint) and constraint.fields and constraint.condition is None:
            yield from _repeated(rows, constraint.fields, seen)


def _repeated(rows: Sequence[Model], names: Sequence[str], seen: Seen) -> Iterator[Violation]:
    """Rows whose values of `names` another one has, in the file or in the brand."""
    meta: Any = rows[0]._meta  # noqa: SLF001 - as above
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
    """Of each combination of values that a stored row has, its key."""
    values_by_column = {name: {getattr(row, name) for row in rows} - {None} for name in columns}
    conditions = {f"{name}__in": values for name, values in values_by_column.items()}
    matches = type(rows[0])._default_manager.filter(**conditions)  # noqa: SLF001 - public, in spite of its name
    return {tuple(values): pk for pk, *values in matches.values_list("pk", *columns)}
