"""Helpers for tests of points: balances, and the ledger's consistency checks."""

from django.db import connection

from loyalty.models.accounts import UserPoints
from loyalty.points import consistency


def balances(*customers):
    return [UserPoints.objects.get(user=each).points for each in customers]


def contradictions(checks=consistency.CHECKS):
    """The findings of the consistency checks, read in the test's own transaction."""
    with connection.cursor() as cursor:
        findings = []
        for check, statement in checks.items():
            cursor.execute(statement)
            findings += [(check, row[0]) for row in cursor.fetchall()]
    return findings
