"""Addresses that staff enter for us to call: the checks that are possible in advance."""

import re
import socket
from ipaddress import IPv4Address, ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from django.conf import settings
from django.http.request import validate_host
from django.utils.translation import gettext as _

from brands.models.tenants import BrandHostname
from core.errors import Invalid
from core.http import client

MAX_LENGTH = 500
PRINTABLE = re.compile(r"[!-~]+")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)


def callable_address(url: str) -> str:
    """The address in the form in which it is called. Raises Invalid, for the field `url`, if it cannot be called.

    What a hostname resolves to is checked at each call.
    """
    parts = _parts(url.strip())
    host = _host(parts)
    if parts.scheme == "http" and not settings.OUTGOING_PRIVATE_NETWORKS:
        raise _bad(_("Enter an address that begins with https://"))
    _reject_private(host, encrypts=parts.scheme == "https")
    _reject_own(host)
    port = f":{parts.port}" if parts.port else ""
    host_text = f"[{host}]" if ":" in host else host
    canonical = urlunsplit((parts.scheme, host_text + port, parts.path or "/", parts.query, ""))
    if len(canonical) > MAX_LENGTH:
        raise _bad(_("An address has at most %(most)d characters.") % {"most": MAX_LENGTH})
    return canonical


def _bad(message: str) -> Invalid:
    return Invalid(message, details={"field": "url"})


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _port = parts.port
    except ValueError:
        raise _bad(_("This is not a valid web address.")) from None
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise _bad(_("Enter an address that begins with https://"))
    if parts.username is not None or parts.password is not None:
        raise _bad(_("Remove the user name and password from the address. Requests are signed instead."))
    if not PRINTABLE.fullmatch(parts.path + parts.query + "/"):
        raise _bad(_("Path and query must not contain spaces or non-ASCII characters. Encode them as %XX."))
    return parts


def _host(parts: SplitResult) -> str:
    """In ASCII: names in other scripts in their IDNA form."""
    host = parts.hostname or ""
    if ":" in host:
        return host
    try:
        name = host.encode("idna").decode().rstrip(".")
    except UnicodeError:
        raise _bad(_("This is not a valid hostname.")) from None
    if not all(LABEL.fullmatch(label) for label in name.split(".")):
        raise _bad(_("This is not a valid hostname."))
    return name


def _reject_private(host: str, *, encrypts: bool) -> None:
    address = _literal(host)
    loopback = host == "localhost" or host.endswith(".localhost")
    if loopback:
        address = IPv4Address("127.0.0.1")
    if address is None:
        return
    if not client.is_allowed(address):
        raise _bad(_("This is a private network address, which is never called."))
    if not client.is_allowed(address, encrypts=encrypts):
        raise _bad(_("Enter an address that begins with https://"))


def _literal(host: str) -> client.Address | None:
    """An IP address in any notation that resolvers accept: 127.0.0.1, 127.1, 2130706433, 0x7f000001."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _reject_own(host: str) -> None:
    """The service must not send its events to itself: the loop would never end."""
    hosts = [name for name in settings.ALLOWED_HOSTS if name != "*"]
    own = _literal(host) is None and host != "localhost" and validate_host(host, hosts)
    if own or BrandHostname.objects.filter(hostname=host).exists():
        raise _bad(_("This address belongs to this service itself."))
