"""Webhook events of brands: publishes them, and creates a delivery for each subscribed endpoint."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core import json_values
from events import leases, publishing
from events.messages import LeasedEvent, NewEvent
from loyalty.models.webhooks import WebhookDelivery, WebhookEndpoint, WebhookEndpointQuerySet, WebhookType

WEBHOOK_EVENT, CALL = "announce", "call-webhook"
PING = "webhook.test"
RETRY_HOURS = 72

# SQL for the types that a brand's active webhooks subscribe to, to embed in a larger statement.
SUBSCRIBED_TYPES = """
    ARRAY(SELECT DISTINCT unnest(w.types) FROM loyalty_webhookendpoint w
           WHERE w.brand_id = {brand} AND w.state = 'active')
"""


def webhook_event(
    kind: WebhookType,
    data: dict[str, Any],
    *,
    brand_id: int,
    user_id: int | None = None,
    event_id: UUID | None = None,
    at: datetime | None = None,
) -> NewEvent:
    """An event for the brand's webhooks about `kind`. Publish it in the transaction of the change it reports.

    Any app may call this: `following=[..., webhook_event(WebhookType.REWARD_REDEEMED, {"redemption_id": 7, "reward_id":
    3, "points": 500, "new_balance": 120}, brand_id=..., user_id=..., event_id=...)]`. `user_id` is added to the data,
    and finds the person's deliveries for an erasure. An `event_id` derived from the cause makes the event unique.
    Without subscribers the event does nothing. Where that is frequent, check `listens` first, or embed SUBSCRIBED_TYPES
    in your own statement.
    """
    customer = {"user_id": user_id} if user_id is not None else {}
    return NewEvent(
        kind=WEBHOOK_EVENT,
        payload={"type": kind.value, "timestamp": json_values.iso(at or timezone.now()), "data": {**customer, **data}},
        arguments={"brand_id": brand_id, **customer},
        event_id=event_id or uuid4(),
    )


def events_for_subscribers(kind: WebhookType, data: dict[str, Any], *, brand_id: int, **options: Any) -> list[NewEvent]:
    """`webhook_event` if an active webhook of the brand subscribes to `kind`, and no event otherwise."""
    if not listens(brand_id=brand_id, kind=kind):
        return []
    return [webhook_event(kind, data, brand_id=brand_id, **options)]


@dataclass(frozen=True, slots=True)
class Credit:
    """Points credited to a customer, as webhooks report them. `cause` is an event's id, or another cause."""

    brand_id: int
    user_id: int
    points_earned: int | float | None
    new_balance: int | float | None
    lifetime_points: int | float | None
    transaction_id: str
    reason_ids: Sequence[str]
    note: str
    current_level: str
    level_updated: bool
    cause: str
    at: datetime


def of_credit(credit: Credit, *, listened: Collection[str], ids: Callable[[str], UUID]) -> list[NewEvent]:
    """points.earned if there are points, and level.reached if the level changed, for the subscribed types."""
    level = {"current_level": credit.current_level, "lifetime_points": credit.lifetime_points}
    bodies: dict[WebhookType, dict[str, Any]] = {}
    if credit.points_earned:
        bodies[WebhookType.POINTS_EARNED] = {
            "points_earned": credit.points_earned,
            "new_balance": credit.new_balance,
            "transaction_id": credit.transaction_id,
            "reason_ids": list(credit.reason_ids),
            "note": credit.note,
            **level,
            "cause": credit.cause,
        }
    if credit.level_updated:
        bodies[WebhookType.LEVEL_REACHED] = {**level, "cause": credit.cause}
    common = {"brand_id": credit.brand_id, "user_id": credit.user_id, "at": credit.at}
    return [
        webhook_event(kind, data, event_id=ids(f"announce:{kind}"), **common)  # type: ignore[arg-type]
        for kind, data in bodies.items()
        if kind in listened
    ]


def listened_at(brand_id: int) -> set[str]:
    """The types that the brand's active webhooks subscribe to."""
    endpoints = WebhookEndpoint.objects.active().filter(brand_id=brand_id)
    return {kind for types in endpoints.values_list("types", flat=True) for kind in types}


def listens(*, brand_id: int, kind: WebhookType) -> bool:
    """Whether an active webhook of the brand subscribes to `kind`."""
    return listening(brand_id, kind).exists()


def listening(brand_id: int, kind: str) -> WebhookEndpointQuerySet:
    return WebhookEndpoint.objects.active().filter(brand_id=brand_id, types__contains=[kind])


def on_webhook_event(delivery: LeasedEvent) -> None:
    """Create a webhook delivery and its event for each endpoint that is subscribed now."""
    body, user_id = body_of(delivery.payload), delivery.arguments.get("user_id")
    message_id = f"msg_{delivery.event_id.hex}"
    with transaction.atomic():
        endpoints = listening(delivery.brand_id, delivery.payload["type"]).order_by("pk")
        made = [message_to(endpoint, delivery.payload["type"], message_id, body, user_id) for endpoint in endpoints]
        WebhookDelivery.objects.bulk_create(made)
        calls = [replace(call_of(row), event_id=delivery.following_id(f"{CALL}:{row.endpoint_id}")) for row in made]
        leases.finish(delivery, outcome={"endpoints": len(made)}, following=calls)


def body_of(fields: dict[str, Any]) -> str:
    """The body that is sent and signed. It is the same for each attempt."""
    return json_values.ENCODER.encode(
        {"type": fields["type"], "timestamp": fields["timestamp"], "data": fields["data"]}
    )


def message_to(
    endpoint: WebhookEndpoint, kind: str, message_id: str, body: str, user_id: int | None = None
) -> WebhookDelivery:
    return WebhookDelivery(
        endpoint=endpoint, brand_id=endpoint.brand_id, message_id=message_id, type=kind, user_id=user_id, body=body
    )


def call_of(message: WebhookDelivery) -> NewEvent:
    """The event that attempts a delivery, for up to three days."""
    return NewEvent(
        kind=CALL,
        payload={"message": message.pk},
        arguments={"brand_id": message.brand_id, **({"user_id": message.user_id} if message.user_id else {})},
        retry_hours=RETRY_HOURS,
    )


def ping(*, endpoint: WebhookEndpoint, at: datetime) -> WebhookDelivery:
    """Send a test event to an endpoint like any other event. Its delivery log shows the result."""
    bodies = {"type": PING, "timestamp": json_values.iso(at), "data": {"webhook": endpoint.pk, "message": "Hello."}}
    with transaction.atomic():
        message = message_to(endpoint, PING, f"msg_{uuid4().hex}", body_of(bodies))
        message.save()
        publishing.publish(messages=[call_of(message)], brand_id=endpoint.brand_id, at=at)
    return message


def resend(*, message: WebhookDelivery, at: datetime) -> bool:
    """Send a delivery again under the same id, unless it is still waiting.

    Returns False if it is waiting, its endpoint is not active, or its person was erased.
    """
    again = WebhookDelivery.objects.filter(pk=message.pk, endpoint__state=WebhookEndpoint.State.ACTIVE).exclude(
        Q(state=WebhookDelivery.State.WAITING) | Q(body="")
    )
    with transaction.atomic():
        if not again.update(state=WebhookDelivery.State.WAITING, next_attempt_at=at, finished_at=None):
            return False
        publishing.publish(messages=[call_of(message)], brand_id=message.brand_id, at=at)
    return True


def purge(*, before: datetime, most: int = 10_000) -> int:
    """Delete deliveries older than `before`, at most `most` at a time. Returns how many."""
    # Whatever its state, no delivery waits longer than its retry period.
    lost = before - timedelta(hours=2 * RETRY_HOURS)
    over = ~Q(state=WebhookDelivery.State.WAITING) | Q(created_at__lt=lost)
    old = WebhookDelivery.objects.filter(over, created_at__lt=before).order_by("created_at")
    keys = list(old.values_list("pk", flat=True)[:most])
    WebhookDelivery.objects.filter(pk__in=keys).delete()
    return len(keys)


def erase_user(*, user_id: int, brand_id: int, at: datetime) -> list[int]:
    """For the erasure of personal data: empty the person's deliveries and drop the waiting ones. Returns their keys."""
    rows = WebhookDelivery.objects.filter(user_id=user_id, brand_id=brand_id)
    keys = list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    messages = WebhookDelivery.objects.filter(pk__in=keys)
    messages.filter(state=WebhookDelivery.State.WAITING).update(
        state=WebhookDelivery.State.DROPPED, next_attempt_at=None, finished_at=at
    )
    messages.update(body="", user=None)
    return keys
