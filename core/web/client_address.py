"""The client's address, as rate limits count it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

NETWORK_BITS = 64  # what one IPv6 customer gets; they may call from any address in it


def client_address(request: HttpRequest | Request) -> str:
    """The identity of a guest for rate limits."""
    return address_of(request.META)


def address_of(headers: Mapping[str, Any]) -> str:
    """The address in a request's META or environ that the outermost trusted proxy saw: an IPv4 address or an IPv6 /64.

    settings.TRUSTED_PROXIES says how many proxies append to X-Forwarded-For. Entries further left come from the
    client, and are ignored.
    """
    return next(filter(None, map(grouped, _addresses(headers))), "unknown")


def exact_address(headers: Mapping[str, Any]) -> IPv4Address | IPv6Address | None:
    """The same address itself instead of its network; None if there is none."""
    address = next((result for result in map(address_in, _addresses(headers)) if result), None)
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _addresses(headers: Mapping[str, Any]) -> Iterator[str]:
    """What the outermost trusted proxy saw, then the connection's peer; either may not be a valid address."""
    trusted = settings.TRUSTED_PROXIES
    forwarded = headers.get("HTTP_X_FORWARDED_FOR") if trusted else None
    if forwarded:
        hops = forwarded.split(",")
        yield hops[-min(trusted, len(hops))].strip()
    yield headers.get("REMOTE_ADDR", "")


@lru_cache(maxsize=4_096)
def grouped(text: str) -> str:
    """The address in `text` (with or without a port), an IPv6 one as its network; empty if there is none."""
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
