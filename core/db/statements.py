"""Loads hand-written statements: `.sql` files next to the module that runs them, as `<topic>/sql/<verb_object>.sql`.

A file begins with comments: why it does not use the ORM, what it returns and its locks. The reasons: `hot`, a scan or
an accrual waits for it; `set`, it reads or changes many rows at once; `check`, it proves that data are consistent.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from core.db import sql

PROJECT = Path(__file__).resolve().parent.parent.parent
COMMENT = "--"
Row = TypeVar("Row")

# Loaded statements by file name, which a test plans; and the files that are parts of others.
LOADED: dict[str, str] = {}
PARTS: set[str] = set()


class Query(Generic[Row]):
    """A statement that returns rows: `returns` converts a row's columns, in the statement's order.

    The first run compares the columns' names with `fields`. Trailing fields may be missing.
    """

    def __init__(self, text: str, name: str, *, returns: Callable[..., Row], fields: Sequence[str]) -> None:
        self.text, self.name = text, name
        self._returns, self._fields, self._is_checked = returns, tuple(fields), False

    def all(self, **parameters: Any) -> list[Row]:
        """Every row. Joins the caller's transaction, or else commits by itself."""
        returns = self._returns
        return [returns(*row) for row in sql.execute(self.text, parameters, self._fetch)]

    def first(self, **parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = sql.execute(self.text, parameters, self._fetch)
        return self._returns(*rows[0]) if rows else None

    def _fetch(self, cursor: Any) -> list[tuple[Any, ...]]:
        if not self._is_checked:
            named = tuple(column.name for column in cursor.description)
            if named != self._fields[: len(named)]:
                raise TypeError(f"{self.name} returns {', '.join(named)}; expected {', '.join(self._fields)}")
            self._is_checked = True
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


class Command:
    """A statement that returns no rows."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name

    def run(self, **parameters: Any) -> int:
        """Returns how many rows it changed. Joins the caller's transaction, or else commits by itself."""
        return sql.execute(self.text, parameters, lambda cursor: int(cursor.rowcount))


def query(path: str, *, returns: type[Row], **parts: str) -> Query[Row]:
    """The statement in a file; each row becomes a `returns`, a dataclass whose first fields have the columns' names."""
    fields = [field.name for field in dataclasses.fields(returns)]  # type: ignore[arg-type] # others raise an error
    return Query(_load(path, parts), path, returns=returns, fields=fields)


def query_values(path: str, column: str, **parts: str) -> Query[Any]:
    """The statement in a file, which returns the values of one column."""
    return Query(_load(path, parts), path, returns=_value, fields=[column])


def _value(value: Any) -> Any:
    return value


def command(path: str, **parts: str) -> Command:
    return Command(_load(path, parts), path)


def part(path: str, **parts: str) -> str:
    """The text of a file that other statements include as a CTE."""
    PARTS.add(path)
    return _text(path, parts)


def _load(path: str, parts: Mapping[str, str]) -> str:
    LOADED[path] = _text(path, parts)
    return LOADED[path]


def _text(path: str, parts: Mapping[str, str]) -> str:
    """A file's text without its comments."""
    lines = (PROJECT / path).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith(COMMENT))
    for name, put_in in parts.items():
        if f"{{{name}}}" not in text:
            raise ValueError(f"{path} has no placeholder {{{name}}}")
        text = text.replace(f"{{{name}}}", put_in)
    return text
