"""Wakes a worker up when there is something to deliver. It may fail: the sweeper finds what it missed."""

import logging

from celery import current_app
from kombu.exceptions import OperationalError

from brands.limits import ask, client

logger = logging.getLogger(__name__)

CALL = "loyalty:worker-called"
# A call that nobody answers stops counting after this; until then the next ones would add nothing to it.
CALL_LASTS_MS = 1_000


def wake_worker() -> None:
    """Send one Celery message, unless one is under way that no worker has taken up yet.

    Under load one message thus stands for many events, and a scan pays for a Redis SET instead of a publish.
    """
    if not ask(lambda: client().set(CALL, 1, nx=True, px=CALL_LASTS_MS)):
        return
    try:
        current_app.send_task("loyalty.tasks.deliver_due", ignore_result=True)
    except (OperationalError, OSError) as error:
        logger.warning("no worker could be woken (%s); the sweeper will deliver", error)


def answered() -> None:
    """The worker is up: from now on a new event needs a new call. Call before looking for events."""
    ask(lambda: client().delete(CALL))
