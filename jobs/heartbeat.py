"""The heartbeat: shows that a job's worker lives while its handler waits for a statement, a lock or an upload."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from django.db import Error, connection

logger = logging.getLogger(__name__)


@contextmanager
def beating(sign: Callable[[], bool], *, every: timedelta) -> Iterator[None]:
    """Call `sign` at this interval, in a thread with its own connection, until it returns False or the block ends.

    The heartbeat of a killed process stops with it.
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
