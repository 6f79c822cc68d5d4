"""What webhooks were told of a person at a brand: to be handed out, and to be forgotten."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from core import json_values
from loyalty.integrations import webhook_delivery, webhook_events
from loyalty.models.webhooks import WebhookDelivery


def export(user_id: int, brand_id: int) -> Iterator[dict[str, Any]]:
    """What the log still holds of what the brand's own systems were told, newest first."""
    theirs = WebhookDelivery.objects.filter(user_id=user_id, brand_id=brand_id).order_by("-id")
    return (
        {
            "type": message.type,
            "data": json.loads(message.body)["data"],
            "state": message.state,
            "at": json_values.iso(message.created_at),
        }
        for message in theirs.iterator(chunk_size=500)
    )


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - as all modules have it
    """That something was told stays, and what it was goes; what was not told yet never will be."""
    webhook_delivery.forget_answers(webhook_events.forget_person(user_id=user_id, brand_id=brand_id, at=at))
