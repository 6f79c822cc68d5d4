"""Statements without one of their guards, for the controls of races."""

from copy import copy
from typing import TypeVar

from core.db.statements import Command, Query

Statement = TypeVar("Statement", Command, Query)  # type: ignore[type-arg]


def with_replacements(statement: Statement, *changes: tuple[str, str]) -> Statement:
    """The statement with each old text, which it must contain, replaced by the new one."""
    changed = copy(statement)
    for old, new in changes:
        assert old in changed.text, old
        changed.text = changed.text.replace(old, new)
    return changed
