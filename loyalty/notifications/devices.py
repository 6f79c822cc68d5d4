"""Devices for push messages: the only code that writes Device."""

from datetime import datetime

from django.db import transaction

from brands.identity import users
from loyalty.models.notifications import Device

MAX_PER_CUSTOMER = 20


def register(*, user_id: int, brand_id: int, token: str, platform: str, at: datetime) -> Device:
    """Send this customer's push messages to the device, and no longer those of a previous user.

    Above the limit of devices per customer, the oldest registrations are removed. Raises TokenInvalid for an inactive
    user.
    """
    with transaction.atomic():
        users.lock_user(user_id=user_id)
        defaults = {"user_id": user_id, "platform": platform, "registered_at": at, "died_at": None}
        made, _new = Device.objects.update_or_create(brand_id=brand_id, token=token, defaults=defaults)
        rows = Device.objects.filter(user_id=user_id, brand_id=brand_id).order_by("-registered_at", "-id")
        surplus = rows.values_list("pk", flat=True)[MAX_PER_CUSTOMER:]
        Device.objects.filter(pk__in=list(surplus)).delete()
    return made


def remove(*, user_id: int, brand_id: int, token: str) -> bool:
    """Returns False if the customer has no such device."""
    deleted, _each = Device.objects.filter(user_id=user_id, brand_id=brand_id, token=token).delete()
    return bool(deleted)


def alive(*, user_id: int, brand_id: int) -> list[Device]:
    return list(Device.objects.filter(user_id=user_id, brand_id=brand_id, died_at__isnull=True).order_by("id"))


def mark_dead(*, device: Device, at: datetime) -> None:
    """The push service no longer knows the token. A new registration of the same token revives it."""
    Device.objects.filter(pk=device.pk, registered_at=device.registered_at).update(died_at=at)


def erase(user_id: int, brand_id: int) -> None:
    """For the erasure of personal data."""
    Device.objects.filter(user_id=user_id, brand_id=brand_id).delete()
