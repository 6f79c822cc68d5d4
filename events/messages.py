"""Events, their lanes and handlers, and what a handler can ask of the bus."""

import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from core.errors import DomainError

# Any constant UUID: a name space of its own for ids of what follows from events.
EVENT_ID_NAMESPACE = uuid.UUID("0c3f7a52-92f0-4c55-8a57-8d1b6d8f2f7e")
MAX_PAUSE = timedelta(hours=1)
CLOCK = time.monotonic
POINTS = "points"
EXTERNAL = "external"  # events that could earn points, of brands whose own loyalty system is asked first


class LeaseLostError(Exception):
    """This attempt ran past its lease; whatever it did must be rolled back."""


class CrashedTooOften(Exception):
    """The processes that tried the event died, or lost their connection to the database, each time."""

    def __init__(self, deaths: int) -> None:
        super().__init__(f"Given up: {deaths} attempts ended their process or their connection to the database.")


class RetryLater(Exception):
    """Raised by a handler that wants its next attempt `after` so long, such as what a receiver asked for.

    `retry_hours`: the event is tried for so long at least, from when it was stored; the handler ends it before.
    """

    def __init__(self, message: str, *, after: timedelta, retry_hours: int = 0) -> None:
        super().__init__(message)
        self.after, self.retry_hours = after, retry_hours


class OnHold(Exception):
    """Raised by a handler for an event that waits for its customer: until `release`, for holds.MAX_ON_HOLD at most.

    `still_holds` locks what it waits for, so that `release` comes before or after, and says whether it is missing yet.
    `refusal` is the event's answer when it has waited in vain.
    """

    def __init__(self, error: DomainError, *, user_id: int, still_holds: Callable[[], bool]) -> None:
        super().__init__(error.message)
        self.error, self.user_id, self.still_holds = error, user_id, still_holds


class RerouteEvent(Exception):
    """Raised by a handler that would keep the workers of its lane waiting; tried for `retry_hours` there."""

    def __init__(self, lane: str, *, retry_hours: int) -> None:
        super().__init__(lane)
        self.lane, self.retry_hours = lane, retry_hours


@dataclass(frozen=True, slots=True)
class Lane:
    """Kinds that are delivered together: how many a worker takes at a time, and for how many seconds they are its own.

    `workers` bounds how many deliver it at once, so that a lane whose receivers hang leaves room for the others.
    """

    batch: int
    lease_seconds: int
    queue: str
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Something to publish. `event_id` given: derived from its cause, so that it can exist only once.

    An event without a consumer is stored as ignored. It is due after `wait_seconds`, and tried for `retry_hours`
    (settings.EVENT_RETRY_HOURS when not given).
    """

    kind: str
    payload: dict[str, Any]
    arguments: dict[str, Any]
    event_id: uuid.UUID = field(default_factory=uuid.uuid4)
    has_consumer: bool = True
    wait_seconds: float = 0
    retry_hours: int | None = None

    @property
    def is_for_a_worker(self) -> bool:
        return self.has_consumer and handler_of(self.kind) is not None


@dataclass(frozen=True, slots=True)
class LeasedEvent:
    """An event as one attempt holds it. `is_inline`: inside of the request that brought it.

    `taken_at` is when, by this process's own clock of seconds.
    """

    id: int
    event_id: uuid.UUID
    kind: str
    brand_id: int
    time: datetime
    detail: dict[str, Any]
    attempts: int
    give_up_at: datetime
    request_id: str = ""
    lane: str = POINTS
    is_inline: bool = False
    taken_at: float = field(default_factory=CLOCK)

    @property
    def arguments(self) -> dict[str, Any]:
        result: dict[str, Any] = self.detail.get("arguments", {})
        return result

    def following_id(self, what: str) -> uuid.UUID:
        """An id for what follows from this event, the same at each attempt.

        From the row, not from the sender's id: two brands or sources may use the same one.
        """
        return uuid.uuid5(EVENT_ID_NAMESPACE, f"{self.id}:{what}")

    @property
    def payload(self) -> dict[str, Any]:
        result: dict[str, Any] = self.detail.get("payload", {})
        return result


Handler = Callable[[LeasedEvent], None]
BatchHandler = Callable[[Sequence[LeasedEvent]], Sequence[LeasedEvent]]


@cache
def handler_of(kind: str) -> Handler | None:
    """The handler that settings.EVENT_HANDLERS names for this detail-type.

    It does its work and calls `finish` in the same transaction, or raises DomainError, or fails and is tried again.
    """
    path = settings.EVENT_HANDLERS.get(kind)
    return import_string(path) if path else None


def delivery_handler_of(kind: str) -> Handler | None:
    """What handles an event that waits for a worker: of a kind that the service does not know, the brand's own."""
    return handler_of(kind) or _handler_of_own_kinds()


@cache
def _handler_of_own_kinds() -> Handler | None:
    path = settings.OWN_KIND_HANDLER
    return import_string(path) if path else None


@cache
def batch_handler_of(kind: str) -> BatchHandler | None:
    """What settings.EVENT_BATCH_HANDLERS names for this detail-type: it finishes many deliveries at once.

    It returns those that it left alone. If it raises, each goes alone; what it did not finish may have left nothing.
    """
    path = settings.EVENT_BATCH_HANDLERS.get(kind)
    return import_string(path) if path else None


def lane_of(kind: str) -> str:
    """The lane that settings.EVENT_LANES names for this detail-type; what it does not name goes with the points."""
    name: str = settings.EVENT_LANES.get(kind, POINTS)
    return name


def lane_named(name: str) -> Lane:
    if name == POINTS:
        return Lane(batch=settings.EVENT_BATCH, lease_seconds=settings.EVENT_LEASE_SECONDS, queue="events")
    return Lane(
        batch=settings.OUTGOING_BATCH,
        lease_seconds=settings.OUTGOING_LEASE_SECONDS,
        queue="outgoing",
        workers=settings.OUTGOING_WORKERS,
    )


def slow_lanes() -> list[str]:
    return sorted({*settings.EVENT_LANES.values(), EXTERNAL})


def pause(attempts: int) -> timedelta:
    """1, 2, 4, ... seconds, an hour at most, each up to half longer so that failures do not come back together."""
    seconds = min(2.0 ** min(attempts - 1, 20), MAX_PAUSE.total_seconds())
    return timedelta(seconds=seconds * random.uniform(1, 1.5))  # noqa: S311 - jitter, no secret
