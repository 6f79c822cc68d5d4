"""The event bus: the only code that writes Event. PostgreSQL is the truth; Celery and Redis only wake workers up."""

import json
import logging
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from brands import sql
from brands.refusals import Refused
from loyalty.models import Event
from loyalty.wake import wake_worker

logger = logging.getLogger(__name__)

ENVELOPE_VERSION = "0"
# Any constant UUID: a name space of its own for ids of what follows from events.
FOLLOWING = uuid.UUID("0c3f7a52-92f0-4c55-8a57-8d1b6d8f2f7e")
LONGEST_PAUSE = timedelta(hours=1)
# Past its retry window an event that never came back from a worker (it may be what kills it) is dead after so many.
CRASHES_ALLOWED = 5

COLUMNS = """
    event_id, source, detail_type, brand_id, account, region, time, detail, status, attempts, due_at, give_up_at,
    last_error, created_at
"""

# Several events from parallel arrays; `{origin}` is what they are written beside: no row there, no event.
INSERT = f"""
    INSERT INTO loyalty_event ({COLUMNS})
    SELECT o.event_id, %(event_source)s::text, o.detail_type, %(event_brand)s::bigint, %(event_account)s::text,
           %(event_region)s::text, %(event_time)s::timestamptz, o.detail, o.status, 0,
           statement_timestamp(), %(event_give_up_at)s::timestamptz, '', statement_timestamp()
      FROM {{origin}},
           unnest(%(event_ids)s::uuid[], %(event_types)s::text[], %(event_details)s::jsonb[],
                  %(event_statuses)s::text[]) AS o (event_id, detail_type, detail, status)
"""  # noqa: S608 - built from constants

CLAIM = """
    UPDATE loyalty_event e
       SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => %(lease)s::float)
     WHERE id = ANY (ARRAY(
               SELECT id FROM loyalty_event
                WHERE status = 'pending' AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
    RETURNING id, event_id, detail_type, brand_id, time, detail, attempts, give_up_at
"""

# Only the attempt that still holds the lease may finish; the same statement writes what follows from the event.
FINISH = f"""
    WITH finished AS (
        UPDATE loyalty_event
           SET status = %(status)s::text, outcome = %(outcome)s::jsonb, finished_at = statement_timestamp(),
               last_error = ''
         WHERE id = %(id)s::bigint AND status = 'pending' AND attempts = %(attempts)s::int
        RETURNING id
    ), following AS ({INSERT.format(origin="finished")})
    SELECT id FROM finished
"""  # noqa: S608 - built from constants


class LeaseLost(Exception):  # noqa: N818 - a fact, not an error: another worker took the event over
    """This attempt ran past its lease; whatever it did must be rolled back."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something to publish. `event_id` given: derived from its cause, so that it can exist only once."""

    kind: str
    payload: dict[str, Any]
    arguments: dict[str, Any]
    event_id: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event as one attempt holds it."""

    id: int
    event_id: uuid.UUID
    kind: str
    brand_id: int
    time: datetime
    detail: dict[str, Any]
    attempts: int
    give_up_at: datetime

    @property
    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = self.detail.get("arguments", {})
        return found

    def following_id(self, what: str) -> uuid.UUID:
        """An id for what follows from this event, the same at each attempt.

        From the row, not from the sender's id: two brands or sources may use the same one.
        """
        return uuid.uuid5(FOLLOWING, f"{self.id}:{what}")

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = self.detail.get("payload", {})
        return found


Handler = Callable[[Delivery], None]


@cache
def handler_of(kind: str) -> Handler | None:
    """The handler that settings.EVENT_HANDLERS names for this detail-type.

    It does its work and calls `finish` in the same transaction, or raises Refused, or fails and is tried again.
    """
    path = settings.EVENT_HANDLERS.get(kind)
    return import_string(path) if path else None


def envelope(event: Event) -> dict[str, Any]:
    """The event as spec section 6 shows it."""
    return {
        "version": ENVELOPE_VERSION,
        "id": str(event.event_id),
        "detail-type": event.detail_type,
        "source": event.source,
        "account": event.account,
        "time": iso(event.time),
        "region": event.region,
        "resources": [],
        "detail": event.detail,
    }


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as events write time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def insertion(*, messages: Sequence[Message], brand_id: int, at: datetime) -> dict[str, Any]:
    """Parameters of INSERT, for a statement that writes its own rows and these events as one."""
    return {
        "event_source": settings.EVENT_SOURCE,
        "event_account": settings.EVENT_ACCOUNT,
        "event_region": settings.EVENT_REGION,
        "event_brand": brand_id,
        "event_time": at,
        "event_give_up_at": at + timedelta(hours=settings.EVENT_RETRY_HOURS),
        "event_ids": [message.event_id for message in messages],
        "event_types": [message.kind for message in messages],
        "event_details": [
            json.dumps({"arguments": m.arguments, "payload": m.payload}, cls=DjangoJSONEncoder) for m in messages
        ],
        "event_statuses": [_first_status(message.kind).value for message in messages],
    }


def _first_status(kind: str) -> Event.Status:
    return Event.Status.PENDING if handler_of(kind) else Event.Status.IGNORED


def publish(*, messages: Sequence[Message], brand_id: int, at: datetime) -> None:
    """Store events in the caller's transaction; workers hear of them when it commits."""
    parameters = insertion(messages=messages, brand_id=brand_id, at=at)
    statement = INSERT.format(origin="(SELECT 1) AS here") + " RETURNING id"
    sql.rows(statement, parameters)
    wake_after_commit(messages)


def wake_after_commit(messages: Sequence[Message]) -> None:
    """For statements that embed INSERT: tell the workers, once it is true, if any of these needs one."""
    if any(handler_of(message.kind) for message in messages):
        transaction.on_commit(wake_worker)


def receive(*, event: Event) -> bool:
    """Store an event that came from outside, once per brand, source and id. False: it was here already."""
    event.status = _first_status(event.detail_type)
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        return False
    if event.status == Event.Status.PENDING:
        transaction.on_commit(wake_worker)
    return True


def receive_held(*, event: Event) -> Delivery | None:
    """Store an event and hold its first attempt, for the caller to deliver at once. None: it was here already."""
    event.attempts = 1
    event.due_at = timezone.now() + timedelta(seconds=settings.EVENT_LEASE_SECONDS)
    if not receive(event=event):
        return None
    return Delivery(
        id=event.pk,
        event_id=event.event_id,
        kind=event.detail_type,
        brand_id=event.brand_id,
        time=event.time,
        detail=event.detail,
        attempts=event.attempts,
        give_up_at=event.give_up_at,
    )


def claim(*, limit: int) -> list[Delivery]:
    """Take up to `limit` due events for settings.EVENT_LEASE_SECONDS; a worker that dies gives them back by that."""
    taken = sql.rows(CLAIM, {"lease": settings.EVENT_LEASE_SECONDS, "limit": limit})
    return [Delivery(*found) for found in taken]


def deliver(delivery: Delivery) -> None:
    """Run the handler once. Every way it can end is written on the event, but for a lost lease or database."""
    handler = handler_of(delivery.kind)
    try:
        if handler is None:
            finish(delivery, status=Event.Status.IGNORED)
        else:
            handler(delivery)
    except Refused as refusal:
        refuse(delivery, refusal)
    except LeaseLost:
        logger.warning("event %s: another worker took it over", delivery.event_id)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        logger.exception("event %s: attempt %d failed", delivery.event_id, delivery.attempts)
        retry_later(delivery, error)


def finish(
    delivery: Delivery,
    *,
    status: Event.Status = Event.Status.DONE,
    outcome: dict[str, Any] | None = None,
    following: Sequence[Message] = (),
    at: datetime | None = None,
) -> None:
    """Write the final answer and the events that follow from it, in the transaction that keeps the effects.

    Raises LeaseLost when another attempt has taken over: then nothing of this one may stay.
    """
    parameters = insertion(messages=following, brand_id=delivery.brand_id, at=at or timezone.now())
    parameters |= {
        "id": delivery.id,
        "attempts": delivery.attempts,
        "status": status.value,
        "outcome": json.dumps(outcome, cls=DjangoJSONEncoder) if outcome is not None else None,
    }
    if sql.row(FINISH, parameters) is None:
        raise LeaseLost
    wake_after_commit(following)


def refuse(delivery: Delivery, refusal: Refused) -> None:
    """A refusal is a final answer. Joins the caller's transaction, if there is one."""
    outcome = {"error": refusal.code, "message": refusal.message, "details": refusal.details}
    try:
        finish(delivery, status=Event.Status.REFUSED, outcome=outcome)
    except LeaseLost:
        logger.warning("event %s: refused here, but another worker took it over", delivery.event_id)


def retry_later(delivery: Delivery, error: Exception) -> None:
    """Put the event back with a growing, jittered pause; past its window it is dead and waits for staff."""
    now = timezone.now()
    held = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    what = f"{type(error).__name__}: {error}"[:2000]
    if now >= delivery.give_up_at:
        held.update(status=Event.Status.DEAD, last_error=what, finished_at=now)
    else:
        held.update(due_at=now + pause(delivery.attempts), last_error=what)


def pause(attempts: int) -> timedelta:
    """1, 2, 4, ... seconds, an hour at most, each up to half longer so that failures do not come back together."""
    seconds = min(2.0 ** min(attempts - 1, 20), LONGEST_PAUSE.total_seconds())
    return timedelta(seconds=seconds * random.uniform(1, 1.5))  # noqa: S311 - jitter, no secret


def drain() -> int:
    """Deliver everything that is due; returns how many events that was."""
    delivered = 0
    while taken := claim(limit=settings.EVENT_BATCH):
        for delivery in taken:
            deliver(delivery)
        delivered += len(taken)
    return delivered


def bury() -> int:
    """Declare events dead that are past their window and never came back from a worker; returns how many."""
    now = timezone.now()
    lost = Event.objects.pending().filter(due_at__lte=now, give_up_at__lte=now, attempts__gte=CRASHES_ALLOWED)
    return lost.update(status=Event.Status.DEAD, last_error="The worker never came back from it.", finished_at=now)


def redeliver(*, event: Event, at: datetime) -> bool:
    """Give a dead event another full window of attempts. False: it is not dead."""
    again = Event.objects.dead().filter(pk=event.pk)
    changed = again.update(
        status=Event.Status.PENDING,
        attempts=0,
        due_at=at,
        finished_at=None,
        give_up_at=at + timedelta(hours=settings.EVENT_RETRY_HOURS),
    )
    if changed:
        transaction.on_commit(wake_worker)
    return bool(changed)
