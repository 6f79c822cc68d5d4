"""bin/run --phone: a trial on a phone in the same network."""

import os
import socket
from ipaddress import IPv4Address

from embedded.datadir import ServerError

# RFC 5737: an address that nobody uses. Connecting a UDP socket sends nothing, but selects the address of this machine
# that it would use.
ELSEWHERE = ("203.0.113.1", 9)
TRUE = {"1", "true", "yes", "on"}
ADVICE = """A phone in the same network opens this address, and the codes of the demo's first brand with its camera app.
Without HTTPS a phone's browser gives a page neither the camera nor the place: the page offers typing instead.
If a phone cannot open it, a firewall of this machine or of the network keeps it out."""


def local_address(elsewhere: tuple[str, int] = ELSEWHERE) -> str:
    """HOST, else this machine's address in its network. Raises ServerError if no phone could open it."""
    if os.environ.get("HTTPS", "").lower() in TRUE:
        message = "--phone serves http, and HTTPS is on: unset HTTPS, or have a proxy serve https without --phone"
        raise ServerError(message)
    if chosen := os.environ.get("HOST"):
        return check_reachable(chosen)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(elsewhere)
            address = check_reachable(probe.getsockname()[0])
    except OSError as error:
        message = f"--phone finds no network ({error.strerror}): connect this machine to the phone's, or set HOST"
        raise ServerError(message) from error
    if IPv4Address(address).is_global:
        message = f"--phone would serve http to the whole internet: {address} is public. Set HOST if that is intended."
        raise ServerError(message)
    return address


def check_reachable(address: str) -> str:
    """`address`. Raises ServerError if other devices cannot open it."""
    try:
        parsed = IPv4Address(address)
    except ValueError:
        parsed = None
    if parsed is None or parsed.is_loopback or parsed.is_unspecified:
        message = f"--phone needs an IPv4 address of this machine that a phone can open; {address} is none: set HOST"
        raise ServerError(message)
    return address


def settings(address: str, port: int, *, hosts: str) -> dict[str, str]:
    """Settings that make all links lead to `address`; `hosts` are its other ALLOWED_HOSTS."""
    return {
        "HOST": address,
        "HTTPS": "0",
        "ALLOWED_HOSTS": f"{hosts},{address}",
        "PORTAL_URL": os.environ.get("PORTAL_URL") or f"http://{address}:{port}",
    }
