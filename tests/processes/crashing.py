"""Settings of a worker for which one kind of event is deadly, and one kills it sometimes."""

import os
import signal
from typing import TYPE_CHECKING

from config.ports import EVENT_HANDLERS
from tests.settings import *  # noqa: F403 - the same but for the handlers

if TYPE_CHECKING:
    from events.messages import LeasedEvent

EVENT_HANDLERS = {
    **EVENT_HANDLERS,
    "deadly": "tests.processes.crashing.die",
    "harmless": "tests.processes.crashing.live",
    "twice-deadly": "tests.processes.crashing.die_twice",
}


def die(_delivery: "LeasedEvent") -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_twice(delivery: "LeasedEvent") -> None:
    if delivery.attempts <= 3:
        os.kill(os.getpid(), signal.SIGKILL)
    live(delivery)


def live(delivery: "LeasedEvent") -> None:
    from events import leases  # these are the settings, which come before the models

    leases.finish(delivery)
