"""Runs queries that look for contradictions in the data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import connection, transaction


@dataclass(frozen=True, slots=True)
class Difference:
    check: str
    about: str
    expected: str
    found: str


def differences(checks: Mapping[str, str]) -> Iterator[Difference]:
    """Every contradiction, read from one snapshot, so that work going on at the same time is none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for check, statement in checks.items():
            cursor.execute(statement)
            for row in cursor.fetchall():
                yield Difference(check, *row)
