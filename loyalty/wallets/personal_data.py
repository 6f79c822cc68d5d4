"""What wallets know of a person at a brand: to be handed out, and to be forgotten."""

from datetime import datetime
from typing import Any

from core import json_values
from events import publishing
from loyalty.models.wallets import WalletPass
from loyalty.wallets import devices, passes


def export(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """The passes, and how many devices want to hear of each."""
    theirs = WalletPass.objects.filter(account__user_id=user_id, brand_id=brand_id).order_by("id")
    return [
        {
            "platform": each.platform,
            "serial": str(each.serial),
            "state": each.state,
            "created_at": json_values.iso(each.created_at),
            "devices": each.devices.count(),
        }
        for each in theirs
    ]


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Devices that hold the pass are turned away from now on; Google hears by an event that it is over."""
    theirs = list(WalletPass.objects.filter(account__user_id=user_id, brand_id=brand_id))
    messages = passes.revoke(passes=theirs, to=to)  # the passes first, as a device does that registers
    devices.forget_all(theirs)
    publishing.publish(messages=messages, brand_id=brand_id, at=at)
