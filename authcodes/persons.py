"""What scans know of a person: to be handed out, and to be forgotten."""

from datetime import datetime
from typing import Any

from authcodes import rollups, scanning
from authcodes.models import Scan


def export(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """The scans at the brand, newest first."""
    scans = Scan.objects.filter(user_id=user_id, brand_id=brand_id).order_by("-scanned_at")
    fields = ("scanned_at", "code", "outcome", "points_awarded", "latitude", "longitude", "location", "device")
    return [dict(found) for found in scans.values(*fields, "app_version")]


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - as all modules have it
    """The scans stay, as the pseudonym's, without coordinates and device."""
    scanning.forget(user_id=user_id, brand_id=brand_id, to=to)
    if to != user_id:
        rollups.hand_over(user_id=user_id, brand_id=brand_id, to=to)
