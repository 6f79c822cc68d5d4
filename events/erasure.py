"""The erasure of a person from events: with publishing, leases and retention the only code that writes Event.

What waits is dropped in the erasure's own transaction. What is done is found by reading a brand's events, which no
index leads to, so an event of its own does that later, in portions.
"""

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from core.db.statements import command, part
from events import leases
from events.messages import LeasedEvent, NewEvent
from events.models import Event

KIND = "erase-events"
PORTION = 50_000  # ids looked at in one transaction

ERASE_EVENTS = part("events/sql/erase_events.sql")
ERASE_WAITING = command("events/sql/erase_waiting_events.sql", erase_events=ERASE_EVENTS)
ERASE_PORTION = command("events/sql/erase_portion_of_events.sql", erase_events=ERASE_EVENTS)
ERASED_OUTCOME = '{"error": "PERSON_ERASED", "message": "The person\'s data was erased.", "details": {}}'


def drop_waiting(*, user_id: int, brand_id: int, to: int, at: datetime) -> int:
    """Nothing that waits for a worker, or is with one, happens any more. Call inside the transaction that erases."""
    return ERASE_WAITING.run(user_id=user_id, brand_id=brand_id, to=to, at=at, refused=ERASED_OUTCOME)


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
    parameters = {
        "user_id": delivery.payload["of"],
        "brand_id": delivery.brand_id,
        "to": delivery.arguments["user_id"],
        "at": delivery.time,
        "refused": ERASED_OUTCOME,
    }
    changed, reached = delivery.payload.get("changed", 0), delivery.payload.get("reached", 0)
    while reached < delivery.id:
        until = min(reached + PORTION, delivery.id)
        with transaction.atomic():
            leases.renew(delivery)
            changed += ERASE_PORTION.run(**parameters, after=reached, until=until)
            note(delivery, {**delivery.payload, "changed": changed, "reached": until})
        reached = until
    with transaction.atomic():
        leases.finish(delivery, outcome={"events": changed})
        note(delivery, {})


def note(delivery: LeasedEvent, payload: dict[str, Any]) -> None:
    Event.objects.filter(pk=delivery.id).update(detail={"arguments": delivery.arguments, "payload": payload})
