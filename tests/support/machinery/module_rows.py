"""Rows that the tests of a module begin with, made once: each test works on a copy, in its own savepoint.

Only for modules without transactional tests: their flush would wait for this transaction.
"""

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction

from tests.support.machinery.log_watch import LogWatch, secrets_in

T = TypeVar("T")


@contextmanager
def shared_rows(make: Callable[[], T], *, blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], T]]:
    """Rows that `make` makes, in a transaction that is rolled back at the end. Yields a function that copies them."""
    with blocker.unblock():
        outer = transaction.atomic()
        outer.__enter__()
        try:
            made = make()
            assert secrets_in(log_watch.take()) == []
        except BaseException:
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)
            raise
    pickled = pickle.dumps(made)  # a deep copy takes ten times as long
    try:
        yield lambda: pickle.loads(pickled)  # noqa: S301 - written above
    finally:
        with blocker.unblock():
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)
