"""What workers do about a database that went away: drop the dead connection, wait for a while, and try again."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

T = TypeVar("T")

logger = logging.getLogger(__name__)

# SQLSTATEs of a server that is gone, has no connection left, starts or stops; without any, the connection failed.
# A disk or memory that a statement filled is that statement's fault.
SERVER_AWAY = ("08", "53300", "57P")
LOCK_NOT_AVAILABLE = "55P03"
QUERY_CANCELED = "57014"  # by statement_timeout, or by an operator
PAUSE_SECONDS = 0.5
# What PostgreSQL needs to read its log after a crash, and some more.
PATIENCE_SECONDS = 60


def drop_dead_connections() -> None:
    """Before a task: the next statement looks at the connection first, and opens another where it is dead.

    Django does so before each request. Celery does nothing of the kind where connections outlive tasks.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def is_outage(error: BaseException) -> bool:
    """Whether the error says that the server or the connection is gone, and not that the statement is wrong."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(SERVER_AWAY)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether a statement waited for somebody else's lock for longer than lock_timeout."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE


def through_outages(work: Callable[[], T]) -> T:
    """Do `work`, again and again while the database is away. It must bear being done twice.

    Raises what the last attempt raised once PATIENCE_SECONDS are over.
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
