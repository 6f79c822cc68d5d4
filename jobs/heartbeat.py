"""The heartbeat: says that a job's worker lives while its handler waits for a statement, a lock or an upload."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from django.db import Error, connection

logger = logging.getLogger(__name__)


@contextmanager
def beating(sign: Callable[[], bool], *, every: timedelta) -> Iterator[None]:
    """Call `sign` now and then from a thread with a connection of its own, until it answers False or the body is left.

    A process that is killed gives no sign any more: its thread goes with it.
    """
    over = Event()
    thread = Thread(target=_beat, args=(sign, over, every.total_seconds()), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat(sign: Callable[[], bool], over: Event, seconds: float) -> None:
    try:
        while not over.wait(seconds) and _is_due(sign):
            pass
    finally:
        connection.close()


def _is_due(sign: Callable[[], bool]) -> bool:
    try:
        return sign()
    except Error as error:
        logger.warning("a job could not give a sign of life (%s); it tries again", error)
        connection.close()
        return True
