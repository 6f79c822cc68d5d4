"""Calls to third-party servers: one HTTP client that enforces a deadline, limits what it reads, and avoids our network.

Staff enter the addresses, so the check is made at connection time, on the very address that is connected to. No
redirect is followed, no proxy of the environment is used, and nothing is decompressed.
"""

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

import httpcore
from django.conf import settings
from django.utils import timezone
from httpcore import ConnectionPool, NetworkBackend, NetworkStream, SyncBackend

MAX_ANSWER_BYTES = 100_000
TIMEOUT_SECONDS = 10.0
WRITTEN_AT_ONCE = 65_536
# Sent with calls that events cause, and rejected on incoming requests: an address that leads back here would loop for
# ever. RFC 8586 names the header.
LOOP_NAME = "loyalty-webhooks"
LOOP = {"CDN-Loop": LOOP_NAME}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))
_encrypts: ContextVar[bool] = ContextVar("encrypts", default=True)

# Python calls these global, but they are not on the internet: protocol assignments, relays and local translators,
# retired site-local addresses, documentation, segment routing, and the metadata address of one cloud's machines.
NOT_PUBLIC = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        "64:ff9b:1::/48",
        "fec0::/10",
        "3fff::/20",
        "5f00::/16",
    )
]
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class RequestFailedError(Exception):
    """No complete answer was received. The message gives the reason and is fit for a log that staff read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The server's answer; header names are lowercase. `cut`: the body was longer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False

    def retry_after(self, *, at: datetime, at_most: timedelta) -> timedelta | None:
        """How long the server asks to wait, in seconds or as a date, as RFC 9110 allows. None if it does not ask."""
        value = self.headers.get("retry-after", "").strip()
        try:
            if value.isascii() and value.isdigit():
                delay = timedelta(seconds=int(value[:9]))
            else:
                then = parsedate_to_datetime(value)
                delay = (then if then.tzinfo else timezone.make_aware(then)) - at
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(delay, timedelta()), at_most)


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    timeout_seconds: float = TIMEOUT_SECONDS,
    most_bytes: int = MAX_ANSWER_BYTES,
    cut: bool = False,
    http2: bool = False,
    tls: ssl.SSLContext | None = None,
    anywhere: bool = False,
) -> Answer:
    """Send one request and read the whole answer within `timeout_seconds` in total. Connections are kept between calls.

    `cut`: accept the beginning of a body that is larger than `most_bytes`. `tls` adds a client certificate or custom
    authorities. `anywhere` is for addresses that the operator chose: it allows any network and plain http, which
    otherwise only settings.OUTGOING_PRIVATE_NETWORKS allows. Raises RequestFailedError for a forbidden or private
    address, a missing or bad answer, one larger than `most_bytes`, and a timeout.
    """
    all_headers = {"Accept-Encoding": "identity", **(headers or {})}
    tokens = _deadline.set(monotonic() + timeout_seconds), _encrypts.set(not url.lower().startswith("http:"))
    try:
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), timeout_seconds)
        with pool(http2=http2, tls=tls, anywhere=anywhere).stream(
            method,
            url.encode("ascii"),
            headers=[*all_headers.items()],
            content=content,
            extensions={"timeout": timeouts},
        ) as answer:
            body, more = read_body(answer.iter_stream(), most_bytes)
            if more and not cut:
                raise RequestFailedError(f"the answer is larger than {most_bytes} bytes")
            return Answer(answer.status, read_headers(answer.headers), body, more)
    except httpcore.TimeoutException:
        raise RequestFailedError(f"no whole answer within {timeout_seconds:g} seconds") from None
    except FAILURES as error:
        raise RequestFailedError(f"{type(error).__name__}: {error}"[:500]) from error
    finally:
        _deadline.reset(tokens[0])
        _encrypts.reset(tokens[1])


# A port beyond 65535 overflows; a name or header that does not fit into a request is a ValueError.
FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    OSError,
    ValueError,
    OverflowError,
)


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


def read_body(chunks: Iterable[bytes], most_bytes: int) -> tuple[bytes, bool]:
    """At most `most_bytes` bytes, and whether there were more."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > most_bytes:
            return bytes(body[:most_bytes]), True
    return bytes(body), False


@lru_cache(maxsize=256)
def pool(*, http2: bool, tls: ssl.SSLContext | None, anywhere: bool) -> ConnectionPool:
    """A thread-safe connection pool. A connection is only reused for the host it was made for."""
    return ConnectionPool(
        ssl_context=tls or ssl.create_default_context(),
        http2=http2,
        max_connections=100,
        max_keepalive_connections=20,
        keepalive_expiry=30,
        network_backend=SsrfGuardBackend(anywhere=anywhere),
    )


def is_allowed(address: Address, *, encrypts: bool = True) -> bool:
    """Whether a connection is allowed: to settings.OUTGOING_PRIVATE_NETWORKS, or encrypted to a public address."""
    if any(address in ipaddress.ip_network(network) for network in settings.OUTGOING_PRIVATE_NETWORKS):
        return True
    inner = embedded(address)
    return encrypts and is_public(address) and (inner is None or is_public(inner))


def is_public(address: Address) -> bool:
    listed = any(address in network for network in NOT_PUBLIC)
    return address.is_global and not (listed or address.is_multicast or address.is_reserved)


def embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address embeds: mapped, 6to4 or NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def addresses_of(host: str, port: int) -> list[Address]:
    """Resolve the name within the call's deadline, which the system's resolver does not support.

    The resolving thread ends by itself when the resolver gives up.
    """
    answers: SimpleQueue[list[Any] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            answers.put(error)

    Thread(target=ask, daemon=True, name="resolver").start()
    try:
        result = answers.get(timeout=left(None))
    except Empty:
        raise httpcore.ConnectTimeout(f"{host} is not resolved in time") from None
    if isinstance(result, Exception):
        raise result
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in result]


class SsrfGuardBackend(NetworkBackend):
    """Connects only to addresses that were checked."""

    def __init__(self, *, anywhere: bool) -> None:
        self._inner = SyncBackend()
        self._anywhere = anywhere

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        result = addresses_of(host, port)
        if not self._anywhere:
            reject_forbidden(host, result)
        error: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in result:
            try:
                stream = self._inner.connect_tcp(str(address), port, left(timeout), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                error = failed
            else:
                return DeadlineStream(stream)
        raise error


def reject_forbidden(host: str, addresses: Iterable[Address]) -> None:
    """Raises ConnectError if any of the addresses is forbidden: the connection may use any of them."""
    if not all(is_allowed(address) for address in addresses):
        raise httpcore.ConnectError(f"{host} is a private network address, which is never called")
    if not all(is_allowed(address, encrypts=_encrypts.get()) for address in addresses):
        raise httpcore.ConnectError(f"{host} is a public address, which is called by https only")


class DeadlineStream(NetworkStream):
    """A connection whose steps all end by the call's deadline, however slowly the other side sends."""

    def __init__(self, inner: NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes in pieces: a slow reader would otherwise get the full timeout for each."""
        sock: socket.socket = self._inner.get_extra_info("socket")
        remaining = memoryview(buffer)
        try:
            while remaining:
                sock.settimeout(left(timeout))
                remaining = remaining[sock.send(remaining[:WRITTEN_AT_ONCE]) :]
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        return DeadlineStream(self._inner.start_tls(ssl_context, server_hostname, left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def left(timeout: float | None) -> float:
    """Seconds for one step: the call's remaining time, `timeout` at most. Raises ReadTimeout if none is left."""
    seconds = min(_deadline.get() - monotonic(), timeout if timeout is not None else TIMEOUT_SECONDS)
    if seconds <= 0:
        raise httpcore.ReadTimeout("the call took too long")
    return seconds
