"""What tests of webhooks begin with: an endpoint that leads to a receiver, and the senders' turn."""

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
    made, _secret = webhook_endpoints.create(brand=brand, url=url, types=types, at=timezone.now(), **fields)
    return made


def send() -> None:
    """What the workers of the slow lanes do, until nothing is due."""
    while sum(worker.drain_slow(lane=lane) for lane in ("announce", "webhooks")):
        pass


def data_of(receiver: Receiver, kind: str) -> list[dict[str, Any]]:
    """What a receiver has been sent of a type, in the order of its arrival, as the API's description has it."""
    bodies = [call.payload for call in receiver.calls if call.payload["type"] == kind]
    for body in bodies:
        openapi.webhook_validator(kind).validate(body)
    return [body["data"] for body in bodies]


def hasten() -> None:
    """As if the pause before the next attempt were over."""
    Event.objects.pending().filter(lane="webhooks").update(due_at=timezone.now())
