"""The erasure of a person from events.

Waiting events are dropped in the erasure's own transaction. Finished events are not indexed by person, so an event of
its own later erases them, in portions of the brand's events.
"""

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from core.db.statements import command, part
from core.json_values import ENCODER
from events import leases
from events.messages import LeasedEvent, NewEvent
from events.models import Event

KIND = "erase-events"
PORTION = 50_000  # IDs checked in one transaction

ERASE_EVENTS = part("events/sql/erase_events.sql")
ERASE_WAITING = command("events/sql/erase_waiting_events.sql", erase_events=ERASE_EVENTS)
ERASE_PORTION = command("events/sql/erase_portion_of_events.sql", erase_events=ERASE_EVENTS)
ERASED_CODE = "PERSON_ERASED"  # only on events; no answer has this code
ERASED_OUTCOME = ENCODER.encode({"error": ERASED_CODE, "message": "The person's data was erased.", "details": {}})


def drop_waiting(*, user_id: int, brand_id: int, to: int, at: datetime) -> int:
    """Drop all events that wait for a worker or are with one. Call inside the transaction that erases."""
    return ERASE_WAITING.run(user_id=user_id, brand_id=brand_id, to=to, at=at, refused=ERASED_OUTCOME)


def later(*, user_id: int, brand_id: int, to: int) -> NewEvent:
    """The event that erases the remaining ones. It contains the person's ID only until it is done."""
    return NewEvent(
        kind=KIND,
        arguments={"brand_id": brand_id, "user_id": to},
        payload={"of": user_id},
        event_id=uuid.uuid4(),
        retry_hours=24 * 30,
    )


def on_erase_events(delivery: LeasedEvent) -> None:
    """Erase in portions. Each is a transaction that also stores the position, so another attempt continues there.

    Events after the erasure's own event are left alone: by then the person may be a customer of the brand again.
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
