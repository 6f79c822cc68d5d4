"""Helpers for tests of webhooks: create an endpoint, run the workers and read what a receiver got."""

from typing import Any

from django.utils import timezone

from brands.models.tenants import Brand
from events import worker
from events.models import Event
from loyalty.integrations import webhook_endpoints
from loyalty.models.webhooks import WebhookEndpoint, WebhookType
from tests.support import openapi
from tests.support.fakes.fake_http import Receiver

EVERYTHING = list(WebhookType)


def endpoint(brand: Brand, receiver: Receiver | str, types: Any = EVERYTHING, **fields: Any) -> WebhookEndpoint:
    url = receiver if isinstance(receiver, str) else receiver.url
    created, _secret = webhook_endpoints.create(brand=brand, url=url, types=types, at=timezone.now(), **fields)
    return created


def send() -> None:
    """Run the workers of the webhook lanes until no event is due."""
    while sum(worker.drain_slow(lane=lane) for lane in ("announce", "webhooks")):
        pass


def data_of(receiver: Receiver, kind: str) -> list[dict[str, Any]]:
    """The data of each webhook of a type that a receiver got, in order, validated against the API's description."""
    bodies = [call.payload for call in receiver.calls if call.payload["type"] == kind]
    for body in bodies:
        openapi.webhook_validator(kind).validate(body)
    return [body["data"] for body in bodies]


def hasten() -> None:
    """Make waiting attempts due now."""
    Event.objects.pending().filter(lane="webhooks").update(due_at=timezone.now())
