"""The erasure of a person from events: with publishing, leases and retention the only code that writes Event.

What waits is dropped in the erasure's own transaction. What is done is found by reading a brand's events, which no
index leads to, so an event of its own does that later, in portions.
"""

import uuid
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from events import leases
from events.messages import LeasedEvent, NewEvent
from events.models import Event

KIND = "erase-events"
PORTION = 50_000  # ids looked at in one transaction

# `type` says what kind of action it was, `campaigns` what it advanced, which progress is held against; everything else
# may say who, where or what.
FORGET = """
    UPDATE events_event e
       SET detail = jsonb_build_object(
               'arguments', jsonb_build_object('brand_id', e.brand_id, 'user_id', %(to)s::bigint),
               'payload', jsonb_strip_nulls(jsonb_build_object('type', e.detail -> 'payload' -> 'type'))),
           status = CASE WHEN e.status = 'pending' THEN 'refused' ELSE e.status END,
           outcome = CASE e.status
               WHEN 'pending' THEN %(refused)s::jsonb
               WHEN 'done' THEN jsonb_strip_nulls(jsonb_build_object('campaigns', e.outcome -> 'campaigns'))
               WHEN 'refused' THEN jsonb_build_object(
                   'error', e.outcome -> 'error', 'message', '', 'details', jsonb_build_object()) END,
           finished_at = coalesce(e.finished_at, %(at)s::timestamptz), last_error = '', held_for = NULL
     WHERE e.brand_id = %(brand_id)s::bigint
       AND e.detail -> 'arguments' -> 'user_id' = to_jsonb(%(user_id)s::bigint)
       AND e.detail_type NOT IN ('erase-events', 'expire-pass')  -- the erasure's own
       AND {which}
"""
WAITING = FORGET.format(which="e.status = 'pending'")
IN_PORTION = FORGET.format(which="e.id > %(after)s::bigint AND e.id <= %(until)s::bigint")
REFUSED = '{"error": "PERSON_ERASED", "message": "The person\'s data was erased.", "details": {}}'


def drop_waiting(*, user_id: int, brand_id: int, to: int, at: datetime) -> int:
    """Nothing that waits for a worker, or is with one, happens any more. Call inside the transaction that erases."""
    return run(WAITING, {"user_id": user_id, "brand_id": brand_id, "to": to, "at": at, "refused": REFUSED})


def later(*, user_id: int, brand_id: int, to: int) -> NewEvent:
    """The event that does the rest. It names the person until it is done, and not any more then."""
    return NewEvent(
        kind=KIND,
        arguments={"brand_id": brand_id, "user_id": to},
        payload={"of": user_id},
        event_id=uuid.uuid4(),
        retry_hours=24 * 30,
    )


def on_erase_events(delivery: LeasedEvent) -> None:
    """Each portion is a transaction of its own, with how far it came: who takes over goes on there.

    What comes after the erasure's own event is left alone: who stays elsewhere may be a customer here again by then.
    """
    about = {
        "user_id": delivery.payload["of"],
        "brand_id": delivery.brand_id,
        "to": delivery.arguments["user_id"],
        "at": delivery.time,
        "refused": REFUSED,
    }
    changed, reached = delivery.payload.get("changed", 0), delivery.payload.get("reached", 0)
    while reached < delivery.id:
        until = min(reached + PORTION, delivery.id)
        with transaction.atomic():
            leases.keep(delivery)
            changed += run(IN_PORTION, {**about, "after": reached, "until": until})
            note(delivery, {**delivery.payload, "changed": changed, "reached": until})
        reached = until
    with transaction.atomic():
        leases.finish(delivery, outcome={"events": changed})
        note(delivery, {})


def note(delivery: LeasedEvent, payload: dict[str, Any]) -> None:
    Event.objects.filter(pk=delivery.id).update(detail={"arguments": delivery.arguments, "payload": payload})


def run(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
