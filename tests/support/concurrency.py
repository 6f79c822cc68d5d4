"""Runs functions concurrently, each on its own database connection: one many times, or a second during a first."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection, transaction

from tests.support.locks import locked_by_another_session

THREADS = 24
WAIT_SECONDS = 10
WAITING_SESSIONS = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
BLOCKED_BY_THIS_SESSION = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def run_concurrently(work: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS) -> list[Any]:
    """The results of `work` on each item, in order; an exception is a result. All threads start at the same time."""
    start = Barrier(min(threads, len(items)))

    def run_portion(portion: Sequence[Any]) -> list[Any]:
        start.wait()
        try:
            return [_outcome(work, item) for item in portion]
        finally:
            connection.close()

    portions = [items[number :: start.parties] for number in range(start.parties)]
    with ThreadPoolExecutor(start.parties) as pool:
        return [result for results in pool.map(run_portion, portions) for result in results]


def run_concurrently_behind_lock(
    lock: str, parameters: Sequence[Any], work: Callable[[Any], Any], items: Sequence[Any]
) -> list[Any]:
    """Run concurrently; the lock that the statement takes blocks every thread until all of them wait for it.

    Each has then done its reads and none has written: the worst case, however busy the machine is.
    """
    with ThreadPoolExecutor(1) as pool:
        with locked_by_another_session(lock, parameters):
            future = pool.submit(run_concurrently, work, items, threads=len(items))
            end = time.monotonic() + WAIT_SECONDS
            with connection.cursor() as cursor:
                while not future.done() and time.monotonic() < end:
                    cursor.execute(WAITING_SESSIONS)
                    if cursor.fetchone() == (len(items),):
                        break
                    time.sleep(0.005)
        return future.result()


def _outcome(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except Exception as error:  # noqa: BLE001 - the test checks each outcome
        return error


def run_during_transaction(
    first: Callable[[], Any], second: Callable[[], Any], remaining: Callable[[], Any] = lambda: None
) -> Any:
    """The result of `second`, or its exception, if it starts when `first` is done but not committed.

    `remaining` runs in the transaction of `first`, once `second` waits for that transaction or has ended.
    """
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            future = start_until_blocked(pool, second)
            remaining()
        return result_or_error(future)


def start_until_blocked(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
    """Start `work`. Returns when it waits for a lock of this session, or has ended."""

    def with_separate_connection() -> Any:
        try:
            return work()
        finally:
            connection.close()

    future = pool.submit(with_separate_connection)
    end = time.monotonic() + WAIT_SECONDS
    with connection.cursor() as cursor:
        while not future.done() and time.monotonic() < end:
            cursor.execute(BLOCKED_BY_THIS_SESSION)
            if cursor.fetchone():
                break
            time.sleep(0.005)
    return future


def result_or_error(future: Future[Any]) -> Any:
    return future.exception(timeout=WAIT_SECONDS) or future.result()
