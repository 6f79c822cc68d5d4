"""Runs a task on a database connection that works."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connections

logger = logging.getLogger(__name__)


def with_fresh_connection(work: Callable[[], int]) -> int:
    """Celery keeps the connection between tasks here, so a dead one must be dropped by us; the lease brings
    the events back."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database is away (%s); events wait for the next sweep", error)
        connections.close_all()
        return 0
