"""Suppressed addresses: the only code that writes SuppressedAddress."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from loyalty.models.messages.addresses import SuppressedAddress


def suppress(*, brand_id: int, channel: str, address: str, masked: str, reason: str, at: datetime) -> None:
    """Suppress this address. A second reason replaces the first."""
    SuppressedAddress.objects.update_or_create(
        brand_id=brand_id,
        channel=channel,
        digest=digest(channel, address),
        defaults={"masked_address": masked, "reason": reason[:500], "stopped_at": at},
    )


def suppressed_among(*, brand_id: int, addresses: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the pairs of channel and address that are suppressed."""
    digests = {digest(channel, address): (channel, address) for channel, address in addresses}
    rows = SuppressedAddress.objects.filter(brand_id=brand_id, digest__in=digests).values_list("digest", flat=True)
    return {digests[each] for each in rows}


def remove(*, address: SuppressedAddress) -> None:
    """For staff who know that the address works again, such as a ported number."""
    SuppressedAddress.objects.filter(pk=address.pk).delete()


def digest(channel: str, address: str) -> str:
    return sha256(f"{channel}:{address.strip().lower()}".encode()).hexdigest()


def erase(*, brand_id: int, addresses: Iterable[tuple[str, str]]) -> None:
    """For the erasure of personal data. `addresses` are pairs of channel and address."""
    digests = [digest(channel, address) for channel, address in addresses]
    SuppressedAddress.objects.filter(brand_id=brand_id, digest__in=digests).delete()
