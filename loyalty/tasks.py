"""What the workers run for the event bus. Messages may be lost or repeated: the Event rows decide."""

import logging
from collections.abc import Callable

from celery import shared_task
from django.db import InterfaceError, OperationalError, connections

from loyalty import events, wake

logger = logging.getLogger(__name__)


@shared_task
def deliver_due() -> int:
    """Woken by a new event: deliver everything that is due."""
    wake.answered()
    return _with_fresh_connection(events.drain)


@shared_task
def sweep() -> int:
    """Every few seconds: deliver what no wake-up reached, and bury what can no longer be tried."""
    _with_fresh_connection(events.bury)
    return _with_fresh_connection(events.drain)


def _with_fresh_connection(work: Callable[[], int]) -> int:
    """Celery keeps the connection between tasks here, so a dead one must be dropped by us; the lease brings
    the events back."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database is away (%s); events wait for the next sweep", error)
        connections.close_all()
        return 0
