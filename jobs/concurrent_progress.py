"""Saying how far a job is while its handler holds one long transaction, whose own updates nobody would see."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.db import connection

from jobs.runner import Run


@contextmanager
def report_progress(run: Run) -> Iterator[Callable[[int, int], None]]:
    """Yields `run.progress` from a connection outside the transaction: it raises the same, to end that too."""
    with ThreadPoolExecutor(1, thread_name_prefix="progress") as thread:
        try:
            yield lambda done, total: thread.submit(run.progress, done, total).result()
        finally:
            thread.submit(_close_thread_connection).result()


def _close_thread_connection() -> None:
    connection.close()
