"""A friend, and what gives points to them."""

from django.db import connection

from loyalty.models.accounts import UserPoints
from loyalty.points import consistency


def balances(*customers):
    return [UserPoints.objects.get(user=each).points for each in customers]


def contradictions(checks=consistency.CHECKS):
    """What the checks say, read in the test's own transaction."""
    with connection.cursor() as cursor:
        result = []
        for check, statement in checks.items():
            cursor.execute(statement)
            result += [(check, row[0]) for row in cursor.fetchall()]
    return result
