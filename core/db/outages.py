"""What workers do when the database goes away: drop the dead connection, wait and try again."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

T = TypeVar("T")

logger = logging.getLogger(__name__)

# SQLSTATEs of a server that is gone, has no connection left, starts or stops. Without one, the connection failed. A
# statement that fills the disk or memory is not an outage.
SERVER_AWAY = ("08", "53300", "57P")
LOCK_NOT_AVAILABLE = "55P03"
QUERY_CANCELED = "57014"  # by statement_timeout, or by an operator
PAUSE_SECONDS = 0.5
# The time that PostgreSQL needs to replay its log after a crash, with a margin.
PATIENCE_SECONDS = 60


def drop_dead_connections() -> None:
    """Call before a task: the next statement then opens a new connection if the current one is dead.

    Django does so before each request. Celery does not when connections outlive tasks.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def sqlstate_of(error: BaseException) -> str | None:
    """PostgreSQL's code for an error that Django raised; None if it came without one, as when the connection broke."""
    return getattr(error.__cause__, "sqlstate", None)


def is_outage(error: BaseException) -> bool:
    """Whether the server or the connection is gone, as opposed to a wrong statement."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = sqlstate_of(error)
    return state is None or state.startswith(SERVER_AWAY)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether a statement waited for another transaction's lock for longer than lock_timeout."""
    return isinstance(error, OperationalError) and sqlstate_of(error) == LOCK_NOT_AVAILABLE


def through_outages(work: Callable[[], T]) -> T:
    """Run `work`, and repeat it while the database is away. It must be idempotent.

    Raises the last attempt's error after PATIENCE_SECONDS.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError) as error:
            if not is_outage(error) or time.monotonic() > deadline:
                raise
            logger.warning("the database is away (%s); trying again", str(error).strip())
            connections.close_all()
            time.sleep(PAUSE_SECONDS)
