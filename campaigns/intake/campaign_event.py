"""The commands that store events from outside: the hub's envelope, and the campaign-event request (spec 4.1)."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from brands.errors import UserNotFound
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from core.api.idempotency import idempotent_id
from core.errors import (
    DomainError,
    Forbidden,
    IdempotencyKeyReused,
    RequestInProgress,
    Unavailable,
    error_classes,
    raises,
)
from core.json_values import json_safe
from events import delivery as events
from events import leases, publishing
from events.erasure import ERASED_CODE
from events.models import Event
from loyalty.errors import EmailNotConfirmed
from loyalty.points import accounts


class StoredError(DomainError):
    """An error stored on an event, to be answered again unchanged."""

    def __init__(self, outcome: dict[str, Any]) -> None:
        super().__init__(outcome["message"], details=outcome.get("details"))
        kind = error_classes()[outcome["error"]]
        self.code, self.status = kind.code, kind.status  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Action:
    """A campaign-event request: the token's user (`bearer_id`), the user it is for, the kind and the payload."""

    brand: Brand
    key_kind: str
    bearer_id: int
    user_id: int
    kind: str
    payload: dict[str, Any]
    idempotency_key: str
    at: datetime

    @property
    def event_id(self) -> uuid.UUID:
        """The same key of the same caller gives the same event; without a key, each request is a new event."""
        if not self.idempotency_key:
            return uuid.uuid4()
        return idempotent_id("campaign/event", self.key_kind, self.brand.pk, self.bearer_id, self.idempotency_key)


@raises(UserNotFound, Forbidden, RequestInProgress, IdempotencyKeyReused, EmailNotConfirmed)
def process_campaign_event(action: Action) -> dict[str, Any]:
    """Accrue at once, with the handler that workers use; returns the answer's data.

    A repeated request is answered from the stored event. Raises the handler's DomainErrors, RequestInProgress,
    IdempotencyKeyReused, UserNotFound, Forbidden; and Unavailable if it failed and will be retried.
    """
    check_user(action)
    event = Event(
        event_id=action.event_id,
        source=f"{action.key_kind}.customer-app",
        detail_type=action.kind,
        brand=action.brand,
        account=publishing.ACCOUNT,
        region=publishing.REGION,
        time=action.at,
        detail={
            "arguments": {"brand_id": action.brand.pk, "user_id": action.user_id},
            "payload": json_safe(action.payload),
        },
    )
    delivery = publishing.receive_postponed(event=event)
    if delivery is None:
        return _replay(event)
    with leases.holding([delivery]):
        events.deliver(delivery)
    return _answer(Event.objects.get(pk=delivery.id))


def check_user(action: Action) -> None:
    """An app key acts only for its own user; a hub key for the token's user and any customer of its brand."""
    if action.user_id == action.bearer_id:
        return
    if action.key_kind != ApiKey.Kind.HUB:
        raise Forbidden("An app key acts only for the user of the access token.")
    if accounts.find(brand=action.brand, user_id=action.user_id) is None:
        raise UserNotFound


def _replay(event: Event) -> dict[str, Any]:
    stored = Event.objects.filter(brand=event.brand, source=event.source, event_id=event.event_id).first()
    if stored is None:  # it was old and has just been deleted
        raise Unavailable("The earlier answer is kept no longer; please try again.")
    if not _is_same_request(stored, event):
        raise IdempotencyKeyReused
    if stored.status == Event.Status.PENDING and stored.on_hold_for is None:
        raise RequestInProgress
    return _answer(stored)


def _is_same_request(stored: Event, event: Event) -> bool:
    """Whether both have the same content. The event of a merged account is stored as that of the current member."""
    if (stored.detail_type, stored.detail) == (event.detail_type, event.detail):
        return True
    current = accounts.current_account(brand_id=event.brand_id, user_id=event.detail["arguments"]["user_id"])
    if current is None:
        return False
    readdressed = {**event.detail, "arguments": {**event.detail["arguments"], "user_id": current.user_id}}
    return (stored.detail_type, stored.detail) == (event.detail_type, readdressed)


def _answer(event: Event) -> dict[str, Any]:
    if event.status == Event.Status.DONE and event.outcome is not None:
        result: dict[str, Any] = event.outcome
        return result
    if event.status == Event.Status.REJECTED and event.outcome is not None:
        if event.outcome["error"] == ERASED_CODE:
            raise UserNotFound
        raise StoredError(event.outcome)
    if event.on_hold_for is not None:
        raise EmailNotConfirmed
    raise Unavailable("This could not be finished now; it is kept and will be tried again.")


def ingest(
    *,
    brand: Brand,
    user_id: int,
    token_verified: bool,
    envelope: dict[str, Any],
    payload: dict[str, Any],
    is_own_kind: bool = False,
) -> bool:
    """Store a hub's event for delivery. False: it was stored before. Raises UserNotFound.

    `token_verified`: the event carried the user's own access token. The token itself is not passed on. `is_own_kind`:
    the brand has registered its kind.
    """
    if not token_verified and accounts.find(brand=brand, user_id=user_id) is None:
        raise UserNotFound
    event = Event(
        event_id=envelope["id"],
        source=envelope["source"],
        detail_type=envelope["detail_type"],
        brand=brand,
        account=envelope["account"],
        region=envelope["region"],
        time=envelope["time"],
        detail={"arguments": {"brand_id": brand.pk, "user_id": user_id}, "payload": json_safe(payload)},
    )
    return publishing.receive(event=event, is_own_kind=is_own_kind)
