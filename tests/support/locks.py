"""What somebody else holds: a lock, taken on a connection of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def holding(statement: str, parameters: Any = ()) -> Iterator[None]:
    """Whatever the statement locks stays locked, by another session, until the end."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(statement, parameters)
            yield
    finally:
        other.close()


@contextmanager
def impatient() -> Iterator[None]:
    """This session waits for locks as those of the web do, but less."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 20")
        try:
            yield
        finally:
            cursor.execute("RESET lock_timeout")
