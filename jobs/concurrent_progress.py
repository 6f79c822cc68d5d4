"""Reports a job's progress during a long transaction of its handler, whose own updates would not be visible."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.db import connection

from jobs.runner import Run


@contextmanager
def report_progress(run: Run) -> Iterator[Callable[[int, int], None]]:
    """Yield `run.progress` on a connection outside the transaction. Its exceptions reach the caller."""
    with ThreadPoolExecutor(1, thread_name_prefix="progress") as thread:
        try:
            yield lambda done, total: thread.submit(run.progress, done, total).result()
        finally:
            thread.submit(_close_thread_connection).result()


def _close_thread_connection() -> None:
    connection.close()
