"""Settings of a worker that one kind of event kills each time, and another kind in its first attempts."""

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


def die(_event: "LeasedEvent") -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_twice(event: "LeasedEvent") -> None:
    if event.attempts <= 3:
        os.kill(os.getpid(), signal.SIGKILL)
    live(event)


def live(event: "LeasedEvent") -> None:
    from events import leases  # these are the settings, which come before the models

    leases.finish(event)
