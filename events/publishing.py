"""Stores new events in the transaction of the change that they report, and wakes the workers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.db.statements import part, query_values
from core.json_values import ENCODER
from core.observability import tracing
from events import worker_signals
from events.messages import LeasedEvent, NewEvent, handler_of, lane_named, lane_of
from events.models import OWN_SOURCE, Event

# Of the service's own events.
SOURCE, ACCOUNT, REGION = OWN_SOURCE, "000000000000", "local"

EVENTS = "jsonb_array_elements(%(events)s::jsonb) AS o (event)"


def insert_events(*, source_cte: str) -> str:
    """The part of a statement that publishes, for a CTE `source_cte` of at most one row: without a row, nothing."""
    return part("events/sql/insert_events.sql", origin=f"{source_cte} CROSS JOIN {EVENTS}")


def insert_events_of(items_cte: str) -> str:
    """The same for a statement with a CTE `items_cte`, which has the `item` of each of several changes."""
    return part(
        "events/sql/insert_events.sql", origin=f"{items_cte} JOIN {EVENTS} ON (o.event->>8)::int = {items_cte}.item"
    )


INSERT_ALONE = part("events/sql/insert_events.sql", origin=EVENTS)
PUBLISH_EVENTS = query_values("events/sql/publish_events.sql", "id", insert_events=INSERT_ALONE)
PUBLISH_EVENTS_ONCE = query_values("events/sql/publish_events_once.sql", "id", insert_events=INSERT_ALONE)


def insertion(*, messages: Sequence[NewEvent], brand_id: int, at: datetime) -> dict[str, Any]:
    """Parameters of insert_events.sql, for a statement that writes its own rows together with these events."""
    return insertion_of([insert_values(message, brand_id, tracing.request_id()) for message in messages], at)


def insertion_of(written: list[list[Any]], at: datetime) -> dict[str, Any]:
    return {
        "event_source": SOURCE,
        "event_account": ACCOUNT,
        "event_region": REGION,
        "event_time": at,
        "events": ENCODER.encode(written),
    }


def insert_values(message: NewEvent, brand_id: int, request_id: str, item: int = 0) -> list[Any]:
    return [
        message.event_id,
        message.kind,
        _first_status(is_for_a_worker=message.is_for_a_worker),
        {"arguments": message.arguments, "payload": message.payload},
        lane_of(message.kind),
        message.wait_seconds,
        message.retry_hours or settings.EVENT_RETRY_HOURS,
        brand_id,
        item,
        request_id,
    ]


def _first_status(*, is_for_a_worker: bool) -> str:
    return Event.Status.PENDING.value if is_for_a_worker else Event.Status.IGNORED.value


def publish(*, messages: Sequence[NewEvent], brand_id: int, at: datetime, once: bool = False) -> int:
    """Store events in the caller's transaction; workers are woken when it commits. Returns how many are new.

    `once`: skip events whose ID exists already; otherwise that is an error.
    """
    if not messages:
        return 0
    statement = PUBLISH_EVENTS_ONCE if once else PUBLISH_EVENTS
    stored = statement.all(**insertion(messages=messages, brand_id=brand_id, at=at))
    wake_after_commit(messages)
    return len(stored)


def wake_after_commit(messages: Sequence[NewEvent]) -> None:
    """Wake the workers after the commit, for events due at once. For statements that publish with other changes."""
    for lane in {lane_of(message.kind) for message in messages if message.is_for_a_worker and not message.wait_seconds}:
        transaction.on_commit(partial(call_worker, lane))


def call_worker(lane: str) -> None:
    worker_signals.wake_worker(lane=lane, queue=lane_named(lane).queue)


def receive(*, event: Event, is_own_kind: bool = False) -> bool:
    """Store an event from outside, once per brand, source and ID. False: it was stored before.

    `is_own_kind`: the brand has registered its kind, so settings.OWN_KIND_HANDLER handles it.
    """
    event.status = _first_status(is_for_a_worker=is_own_kind or handler_of(event.detail_type) is not None)
    event.lane = lane_of(event.detail_type)
    event.request_id = tracing.request_id()
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        return False
    if event.status == Event.Status.PENDING:
        transaction.on_commit(partial(call_worker, event.lane))
    return True


def receive_postponed(*, event: Event) -> LeasedEvent | None:
    """Store an event with a lease for its first attempt, which the caller makes at once. None: it was stored before."""
    event.attempts = 1
    event.due_at = timezone.now() + timedelta(seconds=settings.EVENT_LEASE_SECONDS)
    if not receive(event=event):
        return None
    return LeasedEvent(
        id=event.pk,
        event_id=event.event_id,
        kind=event.detail_type,
        brand_id=event.brand_id,
        time=event.time,
        detail=event.detail,
        attempts=event.attempts,
        give_up_at=event.give_up_at,
        request_id=event.request_id,
        lane=event.lane,
        is_inline=True,
    )
