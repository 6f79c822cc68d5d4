"""What notifications know of one person at a brand: to be handed out, and to be forgotten."""

from datetime import datetime
from typing import Any

from django.db import transaction

from brands.models.people import User
from core.json_values import iso
from loyalty.models.notifications import Channel, Device, NotificationDelivery
from loyalty.notifications import batching, delivery, devices, preferences, suppression


def export(user_id: int, brand_id: int) -> dict[str, Any]:
    """As JSON: wishes, devices, and what was sent when and by which channel."""
    wishes = preferences.read(user_id, brand_id)
    mine = {"user_id": user_id, "brand_id": brand_id}
    return {
        "language": wishes.language,
        "phone": wishes.phone,
        "notifications": wishes.switches(),
        "devices": [
            {"platform": device.platform, "token": device.token, "registered_at": iso(device.registered_at)}
            for device in Device.objects.filter(**mine).order_by("id")
        ],
        "sent": (
            {
                "template": row.template,
                "channel": row.channel,
                "address": row.masked_address,
                "status": row.status,
                "at": iso(row.created_at),
            }
            for row in NotificationDelivery.objects.filter(**mine).order_by("id").iterator(chunk_size=500)
        ),
    }


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Call before the person's own e-mail address is taken away: what is stopped is found by it."""
    with transaction.atomic():
        email = User.objects.values_list("email", flat=True).get(pk=user_id)
        phone = preferences.read(user_id, brand_id).phone
        suppression.forget(brand_id=brand_id, addresses=[(Channel.EMAIL, email), (Channel.SMS, phone)])
        batching.forget(user_id, brand_id, to=to, at=at)
        delivery.forget(user_id, brand_id, to=to, at=at)
        devices.forget(user_id, brand_id)
        preferences.forget(user_id, brand_id)
