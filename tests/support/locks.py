"""Locks of another session, and a short timeout for those who wait for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def locked_by_another_session(statement: str, parameters: Any = ()) -> Iterator[None]:
    """Until the end of the block, another session holds the locks that the statement takes."""
    other_session = connection.copy()
    try:
        other_session.set_autocommit(False)
        with other_session.cursor() as cursor:
            cursor.execute(statement, parameters)
            yield
    finally:
        other_session.close()


@contextmanager
def short_lock_timeout() -> Iterator[None]:
    """This session has a lock timeout, as those of the web have, but a shorter one."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 20")
        try:
            yield
        finally:
            cursor.execute("RESET lock_timeout")
