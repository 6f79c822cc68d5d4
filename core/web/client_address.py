"""The address that a request comes from, as rate limits count it."""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

NETWORK_BITS = 64  # what one IPv6 customer is given; they may call from any address in it


def client_address(request: HttpRequest | Request) -> str:
    """Whom limits count for a guest."""
    return address_of(request.META)


def address_of(headers: Mapping[str, Any]) -> str:
    """Of a request's META or environ: the address that the outermost trusted proxy saw, as IPv4 or as IPv6 /64.

    settings.TRUSTED_PROXIES says how many proxies append to X-Forwarded-For; what stands further left in it was
    written by the client, and is not believed.
    """
    socket: str = headers.get("REMOTE_ADDR", "")
    trusted = settings.TRUSTED_PROXIES
    forwarded = headers.get("HTTP_X_FORWARDED_FOR") if trusted else None
    if not forwarded:
        return grouped(socket) or "unknown"
    hops = forwarded.split(",")
    return grouped(hops[-min(trusted, len(hops))]) or grouped(socket) or "unknown"


@lru_cache(maxsize=4_096)
def grouped(text: str) -> str:
    """The address in `text` (it may carry a port), an IPv6 one as its network; empty where there is none."""
    address = address_in(text.strip())
    if isinstance(address, IPv6Address):
        if not address.ipv4_mapped:
            spare = 128 - NETWORK_BITS
            return f"{IPv6Address(int(address) >> spare << spare)}/{NETWORK_BITS}"
        address = address.ipv4_mapped
    return str(address) if address else ""


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        return ip_address(bare)
    except ValueError:
        return None
