"""Runs the same thing many times at once, each on a database connection of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

THREADS = 24


def at_once(work: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS) -> list[Any]:
    """The results of `work` on each item, in order; an exception is a result. Threads begin together."""
    start = Barrier(min(threads, len(items)))

    def share(mine: Sequence[Any]) -> list[Any]:
        start.wait()
        try:
            return [_outcome(work, item) for item in mine]
        finally:
            connection.close()

    shares = [items[number :: start.parties] for number in range(start.parties)]
    with ThreadPoolExecutor(start.parties) as pool:
        return [result for results in pool.map(share, shares) for result in results]


def _outcome(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except Exception as error:  # noqa: BLE001 - the test looks at what came of each
        return error
