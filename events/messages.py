"""Events, their lanes and handlers, and the exceptions by which a handler controls its event."""

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

# An arbitrary constant UUID: the namespace for IDs of following events.
EVENT_ID_NAMESPACE = uuid.UUID("0c3f7a52-92f0-4c55-8a57-8d1b6d8f2f7e")
MAX_PAUSE = timedelta(hours=1)
CLOCK = time.monotonic
POINTS = "points"
EXTERNAL = "external"  # events that could earn points, of brands with an external loyalty system


class LeaseLostError(Exception):
    """This attempt has lost its lease; everything it did must be rolled back."""


class CrashedTooOften(Exception):
    """Each process that tried the event crashed or lost its database connection."""

    def __init__(self, deaths: int) -> None:
        super().__init__(f"Given up: {deaths} attempts ended their process or their connection to the database.")


class RetryLater(Exception):
    """Raised by a handler that wants its next attempt in `after`, for example as a receiver requested.

    `retry_hours`: the event is retried at least this long after it was stored; the handler must end it earlier.
    """

    def __init__(self, message: str, *, after: timedelta, retry_hours: int = 0) -> None:
        super().__init__(message)
        self.after, self.retry_hours = after, retry_hours


class OnHold(Exception):
    """Raised by a handler for an event that waits for its customer: until `release`, at most holds.MAX_ON_HOLD.

    `still_holds` locks the condition, so that `release` comes before or after it, and returns whether it is still not
    fulfilled. `error` is the event's result when the time is over.
    """

    def __init__(self, error: DomainError, *, user_id: int, still_holds: Callable[[], bool]) -> None:
        super().__init__(error.message)
        self.error, self.user_id, self.still_holds = error, user_id, still_holds


class RerouteEvent(Exception):
    """Raised by a handler that would block its lane's workers; `lane` then retries it for `retry_hours`."""

    def __init__(self, lane: str, *, retry_hours: int) -> None:
        super().__init__(lane)
        self.lane, self.retry_hours = lane, retry_hours


@dataclass(frozen=True, slots=True)
class Lane:
    """Kinds that are delivered together: how many events a worker claims at once, and their lease in seconds.

    `workers` limits how many deliver the lane at once, so that a lane with hanging receivers does not block the others.
    """

    batch: int
    lease_seconds: int
    queue: str
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to publish. A given `event_id` is derived from the cause, so that the event can exist only once.

    An event without a consumer is stored as ignored. It is due after `wait_seconds` and retried for `retry_hours`
    (default: settings.EVENT_RETRY_HOURS).
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
    """An event as held by one attempt. `is_inline`: inside the request that brought it.

    `taken_at`: when it was claimed, by this process's monotonic clock.
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
        """An ID for what follows from this event, the same in each attempt.

        Derived from the row's ID, because brands or sources may use the same event ID.
        """
        return uuid.uuid5(EVENT_ID_NAMESPACE, f"{self.id}:{what}")

    @property
    def payload(self) -> dict[str, Any]:
        result: dict[str, Any] = self.detail.get("payload", {})
        return result


EventHandler = Callable[[LeasedEvent], None]
EventBatchHandler = Callable[[Sequence[LeasedEvent]], Sequence[LeasedEvent]]


@cache
def handler_of(kind: str) -> EventHandler | None:
    """The handler of this detail-type in settings.EVENT_HANDLERS.

    It does its work and calls `finish` in the same transaction, raises DomainError, or fails and is retried.
    """
    path = settings.EVENT_HANDLERS.get(kind)
    return import_string(path) if path else None


def delivery_handler_of(kind: str) -> EventHandler | None:
    """The handler of an event that waits for a worker; kinds that the service does not know are the brand's own."""
    return handler_of(kind) or _handler_of_own_kinds()


@cache
def _handler_of_own_kinds() -> EventHandler | None:
    path = settings.OWN_KIND_HANDLER
    return import_string(path) if path else None


@cache
def batch_handler_of(kind: str) -> EventBatchHandler | None:
    """The batch handler of this detail-type in settings.EVENT_BATCH_HANDLERS: it finishes many events at once.

    It returns the events that it left unfinished; it must have no effect on these. If it raises, each goes alone.
    """
    path = settings.EVENT_BATCH_HANDLERS.get(kind)
    return import_string(path) if path else None


def lane_of(kind: str) -> str:
    """The lane of this detail-type in settings.EVENT_LANES; other kinds are in the lane of points."""
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
    """1, 2, 4, ... seconds, at most an hour, each up to 50 % longer so that failed events are not retried together."""
    seconds = min(2.0 ** min(attempts - 1, 20), MAX_PAUSE.total_seconds())
    return timedelta(seconds=seconds * random.uniform(1, 1.5))  # noqa: S311 - jitter, not a secret
