"""Devices with an Apple pass that receive its updates. The only code that writes WalletDevice."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import transaction

from events import publishing
from loyalty.models.wallets import Platform, WalletDevice, WalletPass
from loyalty.wallets import passes
from loyalty.wallets.errors import PassTokenInvalid

MAX_DEVICES = 50  # per pass, because anyone with its token could register more and more


def register(*, wallet_pass: WalletPass, device: str, push_token: str, at: datetime) -> bool:
    """Register the device for pushes of this pass. Returns True for a new registration. Owns the transaction.

    A device has one push token for all passes. A device with an older version is notified at once. Raises
    PassTokenInvalid if the pass's token changed in the meantime, because its person was erased.
    """
    with transaction.atomic():
        known_token = wallet_pass.token
        wallet_pass = WalletPass.objects.select_for_update(no_key=True).get(pk=wallet_pass.pk)  # it may have changed
        if wallet_pass.token != known_token:
            raise PassTokenInvalid
        rows = WalletDevice.objects.filter(device=device, wallet_pass__brand_id=wallet_pass.brand_id)
        rows.exclude(push_token=push_token).update(push_token=push_token, registered_at=at)
        _row, is_new = WalletDevice.objects.update_or_create(
            wallet_pass=wallet_pass,
            device=device,
            defaults={"push_token": push_token, "registered_at": at, "pushed_version": wallet_pass.current_version},
        )
        _delete_oldest(wallet_pass)
        passes.set_state(wallet_pass=wallet_pass, state=WalletPass.State.IN_WALLET)
        if wallet_pass.current_version < wallet_pass.version:
            brand = wallet_pass.brand_id
            messages = passes.bump_versions(passes=[wallet_pass.pk], brand_id=brand, at=at)
            publishing.publish(messages=messages, brand_id=brand, at=at)
    return is_new


def _delete_oldest(wallet_pass: WalletPass) -> None:
    saved = wallet_pass.devices.order_by("-registered_at", "-id").values_list("pk", flat=True)[:MAX_DEVICES]
    wallet_pass.devices.exclude(pk__in=list(saved)).delete()


def unregister(*, wallet_pass: WalletPass, device: str) -> bool:
    """Unregister a device that removed the pass. Returns False if it was not registered."""
    with transaction.atomic():
        WalletPass.objects.select_for_update(no_key=True).get(pk=wallet_pass.pk)
        gone, _kinds = wallet_pass.devices.filter(device=device).delete()
        note_removal([wallet_pass])
    return bool(gone)


def discard_token(*, brand_id: int, push_token: str, at: datetime | None) -> None:
    """Delete the registrations of a token that Apple reports as gone, except those made after `at`."""
    with transaction.atomic():
        gone = WalletDevice.objects.filter(push_token=push_token, wallet_pass__brand_id=brand_id)
        if at:
            gone = gone.filter(registered_at__lte=at)
        touched = list(WalletPass.objects.filter(devices__in=gone).distinct())
        gone.delete()
        note_removal(touched)


def delete_all(wallet_passes: Iterable[WalletPass]) -> None:
    """For the erasure of personal data."""
    WalletDevice.objects.filter(wallet_pass__in=wallet_passes).delete()


def note_removal(touched: Iterable[WalletPass]) -> None:
    for each in touched:
        if not each.devices.exists():
            passes.set_state(wallet_pass=each, state=WalletPass.State.REMOVED)


def to_notify(wallet_pass: WalletPass) -> list[WalletDevice]:
    """The devices that were not notified of the current version yet."""
    return list(wallet_pass.devices.filter(pushed_version__lt=wallet_pass.version).order_by("pk"))


def mark_pushed(*, device: WalletDevice, version: int) -> None:
    WalletDevice.objects.filter(pk=device.pk, pushed_version__lt=version).update(pushed_version=version)


# --- Changes since a tag ---------------------------------------------------------------------------------------------

MAX_TAG_LENGTH = 4_000


def changed_since(*, device: str, identifier: str, tag: str) -> tuple[list[str], str]:
    """The serials of the device's passes that differ from the tag, and the current tag."""
    own = {
        "devices__device": device,
        "platform": Platform.APPLE,
        "brand__wallet_issuers__platform": Platform.APPLE,
        "brand__wallet_issuers__identifier": identifier,
    }
    rows = WalletPass.objects.filter(**own).order_by("pk").values_list("pk", "version", "serial")
    known = read_tag(tag)
    now = {pk: version for pk, version, _serial in rows}
    return [str(serial) for pk, version, serial in rows if known.get(pk) != version], write_tag(now)


def write_tag(versions: Mapping[int, int]) -> str:
    return "_".join(f"{pk:x}-{version:x}" for pk, version in versions.items())


def read_tag(tag: str) -> dict[int, int]:
    """The version of each pass in the tag. Empty for a tag that this service did not write."""
    try:
        pairs = [entry.split("-") for entry in tag[:MAX_TAG_LENGTH].split("_")] if tag else []
        return {int(pk, 16): int(version, 16) for pk, version in pairs}
    except ValueError:
        return {}
