"""Runs things at once, each on a database connection of its own: the same many times, or two in each other's midst."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection, transaction

from tests.support.locks import holding

THREADS = 24
PATIENCE_SECONDS = 10
WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
WAITING_FOR_ME = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def at_once(work: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS) -> list[Any]:
    """The results of `work` on each item, in order; an exception is a result. Threads begin together."""
    start = Barrier(min(threads, len(items)))

    def share(portion: Sequence[Any]) -> list[Any]:
        start.wait()
        try:
            return [_outcome(work, item) for item in portion]
        finally:
            connection.close()

    shares = [items[number :: start.parties] for number in range(start.parties)]
    with ThreadPoolExecutor(start.parties) as pool:
        return [result for results in pool.map(share, shares) for result in results]


def at_once_behind(lock: str, parameters: Sequence[Any], work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """As `at_once`, and none gets past the lock that the statement takes until all have come to it.

    So each has read what it reads before that, and none has written: the worst case, however busy the machine is.
    """
    with ThreadPoolExecutor(1) as pool:
        with holding(lock, parameters):
            later = pool.submit(at_once, work, items, threads=len(items))
            end = time.monotonic() + PATIENCE_SECONDS
            with connection.cursor() as cursor:
                while not later.done() and time.monotonic() < end:
                    cursor.execute(WAITING)
                    if cursor.fetchone() == (len(items),):
                        break
                    time.sleep(0.005)
        return later.result()


def _outcome(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except Exception as error:  # noqa: BLE001 - the test looks at what came of each
        return error


def while_uncommitted(first: Callable[[], Any], then: Callable[[], Any], rest: Callable[[], Any] = lambda: None) -> Any:
    """What comes of `then`, an exception too, if it begins when `first` is done and not committed yet.

    `rest` is done, in the transaction of `first`, when `then` waits for that or is over.
    """
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            later = start_until_blocked(pool, then)
            rest()
        return outcome_of(later)


def start_until_blocked(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
    """Begins `work`, and returns when it waits for a lock of the caller's, or is over."""

    def with_own_connection() -> Any:
        try:
            return work()
        finally:
            connection.close()

    later = pool.submit(with_own_connection)
    end = time.monotonic() + PATIENCE_SECONDS
    with connection.cursor() as cursor:
        while not later.done() and time.monotonic() < end:
            cursor.execute(WAITING_FOR_ME)
            if cursor.fetchone():
                break
            time.sleep(0.005)
    return later


def outcome_of(later: Future[Any]) -> Any:
    return later.exception(timeout=PATIENCE_SECONDS) or later.result()
