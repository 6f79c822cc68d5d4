"""The preview of an import before it is confirmed: counts, the first rows, the first errors."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from portal.import_export.plans import CellChanges, Outcome, Plan, PlannedRow

PREVIEW_ROWS = 100
MAX_CELL_LENGTH = 500  # characters of a value in a preview


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A line of the file as text."""

    line: int
    outcome: str
    name: str
    values: list[str]
    changes: CellChanges
    errors: dict[str, str]

    @property
    def is_new(self) -> bool:
        return self.outcome == Outcome.NEW

    @property
    def label(self) -> str:
        return str(Outcome(self.outcome).label)


def preview_row(row: PlannedRow) -> PreviewRow:
    """A preview is stored, so secrets are masked."""
    values = row.values if row.masked_values is None else row.masked_values
    return PreviewRow(
        line=row.line,
        outcome=row.outcome.value,
        name=str(row.instance)[:120] if row.instance is not None and not row.errors else "",
        values=[value[:MAX_CELL_LENGTH] for value in values],
        changes={
            name: (before[:MAX_CELL_LENGTH], after[:MAX_CELL_LENGTH]) for name, (before, after) in row.changes.items()
        },
        errors=dict(row.errors),
    )


@dataclass(frozen=True, slots=True)
class Preview:
    """`rows` and `faulty` are the first changed and the first faulty rows; `digest` identifies the whole plan."""

    counts: dict[str, int]
    rows: list[PreviewRow]
    faulty: list[PreviewRow]
    digest: str

    def count(self, outcome: Outcome) -> int:
        return self.counts.get(outcome.value, 0)

    @property
    def is_empty(self) -> bool:
        return not any(self.count(each) for each in (Outcome.NEW, Outcome.CHANGED, Outcome.ERROR))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(stored: dict[str, Any]) -> Preview:
    """The inverse of `as_json`."""
    rows, faulty = ([_row(each) for each in stored[name]] for name in ("rows", "faulty"))
    return Preview(stored["counts"], rows, faulty, stored["digest"])


def _row(stored: dict[str, Any]) -> PreviewRow:
    changes = {name: (before, after) for name, (before, after) in stored["changes"].items()}
    return PreviewRow(**{**stored, "changes": changes})


@dataclass(slots=True)
class Tally:
    """Sums up the plans of a file's portions, in memory that does not grow with the file."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: list[PreviewRow] = field(default_factory=list)
    faulty: list[PreviewRow] = field(default_factory=list)
    digest: str = ""

    def add(self, plan: Plan) -> None:
        self.counts.update(row.outcome.value for row in plan.rows)
        self._add_first(self.rows, plan.of(Outcome.NEW, Outcome.CHANGED))
        self._add_first(self.faulty, plan.of(Outcome.ERROR))
        self.digest = hashlib.sha256(f"{self.digest}{plan.digest}".encode()).hexdigest()

    def _add_first(self, first: list[PreviewRow], rows: Iterable[PlannedRow]) -> None:
        for row in rows:
            if len(first) == PREVIEW_ROWS:
                return
            first.append(preview_row(row))

    def preview(self) -> Preview:
        return Preview(dict(self.counts), self.rows, self.faulty, self.digest)
