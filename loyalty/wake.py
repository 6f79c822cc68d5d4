"""Wakes a worker up when there is something to deliver. It may fail: the sweeper finds what it missed."""

import logging
from functools import cache

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

CALL = "loyalty:worker-called"
# A call that nobody answers stops counting after this; until then the next ones would add nothing to it.
CALL_LASTS_MS = 1_000


@cache
def _redis() -> redis.Redis:
    seconds = settings.REDIS_TIMEOUT_SECONDS
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=seconds, socket_connect_timeout=seconds)


def wake_worker() -> None:
    """Send one Celery message, unless one is under way that no worker has taken up yet.

    Under load one message thus stands for many events, and a scan pays for a Redis SET instead of a publish.
    """
    try:
        if _redis().set(CALL, 1, nx=True, px=CALL_LASTS_MS):
            current_app.send_task("loyalty.tasks.deliver_due", ignore_result=True)
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no worker could be woken (%s); the sweeper will deliver", error)


def answered() -> None:
    """The worker is up: from now on a new event needs a new call. Call before looking for events."""
    try:
        _redis().delete(CALL)
    except redis.RedisError as error:
        logger.warning("the call could not be taken down (%s); it lapses by itself", error)
