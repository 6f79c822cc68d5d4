"""member.changed: the webhook event when a member's data at a brand changes."""

from collections.abc import Sequence
from datetime import datetime

from events import publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType


def publish(*, user_id: int, brand_id: int, changed: Sequence[str], at: datetime) -> None:
    """Publish the names of the changed fields, as in the brand's API. Receivers read the values there.

    Joins the caller's transaction; call after its rows are written.
    """
    events = webhook_events.events_for_subscribers(
        WebhookType.MEMBER_CHANGED, {"changed": list(changed)}, brand_id=brand_id, user_id=user_id, at=at
    )
    publishing.publish(messages=events, brand_id=brand_id, at=at)
