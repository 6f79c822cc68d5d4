"""Runs a task on a working database connection."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connections

logger = logging.getLogger(__name__)


def with_fresh_connection(work: Callable[[], int]) -> int:
    """Drop a dead connection, because Celery keeps connections between tasks here. The lease expires, so the events are
    delivered again."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database is away (%s); events wait for the next sweep", error)
        connections.close_all()
        return 0
