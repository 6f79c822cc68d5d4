"""The changes that an import would make, row by row, before anything is written."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

CellChanges = dict[str, tuple[str, str]]  # for each changed column, the cell before and after


class Outcome(models.TextChoices):
    NEW = "new", _("New")
    CHANGED = "changed", _("Changed")
    UNCHANGED = "unchanged", _("Unchanged")
    ERROR = "error", _("Error")


@dataclass(slots=True)
class PlannedRow:
    """One line of the file: its row before and after the import, and its errors."""

    line: int
    values: Sequence[str]
    instance: Any = None
    before: Any = None  # None for a new row
    changes: CellChanges = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)  # by column; "" for the whole row
    more: Any = None  # a resource's own data about related rows
    masked_values: Sequence[str] | None = None  # what the preview shows if `values` contain a secret

    @property
    def outcome(self) -> Outcome:
        if self.errors:
            return Outcome.ERROR
        if self.before is None:
            return Outcome.NEW
        return Outcome.CHANGED if self.changes else Outcome.UNCHANGED

    @property
    def errors_text(self) -> str:
        return " ".join(f"{column}: {text}" if column else text for column, text in self.errors.items())

    def add_error(self, column: str, message: str) -> None:
        self.errors.setdefault(column, message)


@dataclass(frozen=True, slots=True)
class Plan:
    columns: Sequence[str]
    rows: Sequence[PlannedRow]

    def of(self, *outcomes: Outcome) -> Iterator[PlannedRow]:
        return (row for row in self.rows if row.outcome in outcomes)

    def count(self, outcome: Outcome) -> int:
        return sum(1 for _row in self.of(outcome))

    @property
    def digest(self) -> str:
        """Equal for two plans that make the same changes to the same rows, whatever the language of their errors."""
        content: list[Any] = [
            [row.line, row.outcome.value, row.before and row.before.pk, row.changes, sorted(row.errors)]
            for row in self.rows
        ]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
