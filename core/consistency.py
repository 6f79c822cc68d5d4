"""Runs queries that look for contradictions in the data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import connection

from core.db.snapshots import one_snapshot
from core.db.statements import query


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A row of a check's statement: its subject, what was expected and the actual value."""

    subject: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Difference:
    check: str
    subject: str
    expected: str
    actual: str


def check(path: str, **parts: str) -> str:
    """The text of the statement in a file, which returns Contradiction. Run it without parameters."""
    return query(path, returns=Contradiction, **parts).text.replace("%%", "%")


def differences(checks: Mapping[str, str]) -> Iterator[Difference]:
    """Every contradiction, read from one snapshot so that concurrent work causes none."""
    with one_snapshot(), connection.cursor() as cursor:
        for name, statement in checks.items():
            cursor.execute(statement)
            for row in cursor.fetchall():
                yield Difference(name, *row)
