"""Runs tasks on a working database connection."""

import logging
from collections.abc import Callable
from functools import partial

from celery import Task, shared_task
from django.db import InterfaceError, OperationalError, connections
from django.utils import timezone

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


def periodic_task(name: str, work: Callable[..., int]) -> "Task[[], int]":
    """The Celery task `name`: `work(at=...)` at the current time. settings.CELERY_BEAT_SCHEDULE says how often."""

    @shared_task(name=name)
    def task() -> int:
        return with_fresh_connection(partial(work, at=timezone.now()))

    return task
