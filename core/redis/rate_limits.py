"""How often somebody may call: counters in Redis that hold exactly, over all threads, processes and hosts.

Without Redis each process counts for itself and lets less pass (`brands/in_process_limits.py`); names in FAIL_CLOSED
are refused.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha1
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import ceil
from threading import Lock, local
from time import monotonic, time
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.http import HttpRequest
from limits import RateLimitItem, parse
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.connection import ConnectionInterface
from redis.maint_notifications import MaintNotificationsConfig
from rest_framework.request import Request

from brands import in_process_limits, metrics
from brands.refusals import RateLimited, Unavailable

# Where passwords are tried, or other brands' prefixes, an hour without Redis must not become an hour of free guesses.
FAIL_CLOSED = {
    "login",
    "login_address",
    "register",
    "second_factor",
    "staff_mail",
    "invitation",
    "invitation_address",
    "prefix",
    "prefix_brand",
    "account_mail",
    "account_mail_address",
    "fake_report",
}
PAUSE_SECONDS = 1  # after a failure Redis is left alone so long: each try may cost a whole timeout
WARN_SECONDS = 30
NETWORK_BITS = 64  # what one IPv6 customer is given; they may call from any address in it
SITE_BITS = 48  # what a company is given: 65,536 such networks
NETWORK_SHARE = 10  # one network makes at most a tenth of the calls with a brand's app keys
SITE_FACTOR = 4  # so much of what one network may, all networks of a site may together

# Moving windows, as the library's own script has them. ARGV: now, and the amount and seconds of each. Answers the
# milliseconds to wait, 0 for a call that was counted, and which window says so; a call that one refuses counts in none.
HIT = """
local now = tonumber(ARGV[1])
for number, key in ipairs(KEYS) do
    local oldest = tonumber(redis.call('lindex', key, ARGV[2 * number] - 1) or '')
    local seconds = tonumber(ARGV[2 * number + 1])
    if oldest and oldest >= now - seconds then
        return {math.max(1, math.ceil((oldest + seconds - now) * 1000)), number}
    end
end
for number, key in ipairs(KEYS) do
    redis.call('lpush', key, ARGV[1])
    redis.call('ltrim', key, 0, ARGV[2 * number] - 1)
    redis.call('expire', key, ARGV[2 * number + 1])
end
return {0, 0}
"""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Outage:
    """What this process knows of Redis being away; it heals by itself."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._over_at = self._warned_at = float("-inf")

    @property
    def is_on(self) -> bool:
        return monotonic() < self._over_at

    def begin(self, error: Exception) -> None:
        with self._lock:
            now = monotonic()
            self._over_at = now + PAUSE_SECONDS
            if now - self._warned_at > WARN_SECONDS:
                self._warned_at = now
                logger.warning("Each process limits for itself, Redis does not answer: %s", error)


class Lines(local):
    """The connections that a thread has opened, by their URL. They are not lent, so a call need not wait for a pool."""

    def __init__(self) -> None:
        self.opened: dict[str, ConnectionInterface] = {}


outage = Outage()
lines = Lines()


def forget_lines() -> None:
    """In a child of a fork, which would talk on its parent's."""
    lines.opened.clear()


os.register_at_fork(after_in_child=forget_lines)


def hit(name: str, *identifiers: object) -> None:
    """Count one call against the limit `name` of settings.RATE_LIMITS, for whom `identifiers` name together.

    An IPv6 network among them counts for its site too. Raises RateLimited, which says when the next call will pass; and
    Unavailable for FAIL_CLOSED names without Redis.
    """
    item = limit(name)
    _hit(name, item, identifiers)
    sites = [site_of(str(each)) or each for each in identifiers]
    if sites != list(identifiers):
        _hit(name, item.__class__(item.amount * SITE_FACTOR, item.multiples), sites)


def _hit(name: str, item: RateLimitItem, identifiers: Sequence[object]) -> None:
    who = (name, *map(str, identifiers))
    passes = ask(lambda: limiter().hit(item, *who))
    if passes is None:
        if name in FAIL_CLOSED:
            raise Unavailable
        in_process_limits.hit(window_key(item, *who), item.amount, item.get_expiry())
    elif not passes:
        metrics.limit_reached(name)
        raise RateLimited(retry_after=wait_seconds(item, *who))


def hit_brand(brand_id: int, *, app_in: str = "", counted_as: str = "") -> None:
    """Count one call with a key of the brand, in one round trip. Raises RateLimited.

    `app_in` is the network that a call with an app key comes from. Anybody may read such a key, so these calls count
    apart from those of hubs, and a network has a part of them. `counted_as` names another limit of the brand that the
    call counts against too, as `hit(counted_as, brand_id)` would.
    """
    item = limit("brand")
    amounts = _app_windows(item, brand_id, app_in) if app_in else {window_key(item, "brand", brand_id): item.amount}
    windows = [("brand", key, amount, item.get_expiry()) for key, amount in amounts.items()]
    if counted_as:
        other = limit(counted_as)
        windows.append((counted_as, window_key(other, counted_as, brand_id), other.amount, other.get_expiry()))
    terms = [part for _name, _key, *those in windows for part in those]
    found = ask(lambda: run(HIT, [key for _name, key, *_terms in windows], (time(), *terms)))
    if found is None:
        for _name, key, amount, seconds in windows:
            in_process_limits.hit(key, amount, seconds)
    elif found[0]:
        metrics.limit_reached(windows[found[1] - 1][0])
        raise RateLimited(retry_after=max(1, ceil(found[0] / 1000)))


def _app_windows(item: RateLimitItem, brand_id: int, network: str) -> dict[str, int]:
    """The amounts by key, the narrowest first."""
    part = max(1, item.amount // NETWORK_SHARE)
    site = site_of(network)
    amounts = {
        network: part,
        **({site: min(item.amount, part * SITE_FACTOR)} if site else {}),
        "all": item.amount,
    }
    return {window_key(item, "brand", brand_id, "app", whose): amount for whose, amount in amounts.items()}


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


def ask(question: Callable[[], T]) -> T | None:
    """What Redis answers, or None while it does not."""
    if outage.is_on:
        return None
    try:
        return question()
    except redis.RedisError as error:
        outage.begin(error)
        hang_up()
        return None


def hang_up() -> None:
    """What is asked after an outage goes to whoever is behind the address then: a master that was made a replica
    keeps its connections, and refuses every write on them."""
    for connection in lines.opened.values():
        connection.disconnect()  # type: ignore[no-untyped-call]
    lines.opened.clear()
    client().connection_pool.disconnect(inuse_connections=False)


def run(script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
    """What a Lua script answers, which Redis keeps under its hash."""
    try:
        return command("EVALSHA", digest(script), len(keys), *keys, *arguments)
    except redis.exceptions.NoScriptError:
        return command("EVAL", script, len(keys), *keys, *arguments)


@cache
def digest(script: str) -> str:
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def command(*words: Any) -> Any:
    """What Redis answers to one command, by the shortest way: its client spends more on a call than Redis does."""
    connection = line()
    connection.send_command(*words)  # type: ignore[no-untyped-call]
    return connection.read_response()


def line() -> ConnectionInterface:
    """This thread's own connection. It opens itself when it is used, and anew where the server has closed it."""
    url = settings.REDIS_URL
    connection: ConnectionInterface | None = lines.opened.get(url)
    if connection is None:
        pool = client_at(url).connection_pool
        connection = lines.opened[url] = pool.connection_class(**pool.connection_kwargs)
    elif connection.is_connected and is_spoilt(connection):
        connection.disconnect()  # type: ignore[no-untyped-call]
    return connection


def is_spoilt(connection: ConnectionInterface) -> bool:
    """Whether there is something to read before anything was asked: the server has gone, or answers of before."""
    try:
        return bool(connection.can_read())
    except (redis.RedisError, OSError):
        return True


def wait_seconds(item: RateLimitItem, *who: str) -> int:
    """Until the oldest counted call leaves the window and the next one passes."""
    window = ask(lambda: limiter().get_window_stats(item, *who))
    return max(1, ceil(window.reset_time - time())) if window else PAUSE_SECONDS


def limit(name: str) -> RateLimitItem:
    return parsed(settings.RATE_LIMITS[name])


def window_key(item: RateLimitItem, *who: object) -> str:
    """As the library calls it, which counts in the same window."""
    return f"{RedisStorage.PREFIX}:{item.key_for(*map(str, who))}"


@lru_cache(maxsize=4_096)
def site_of(network: str) -> str:
    """The site that an IPv6 network, as `client_address` says it, lies in; empty for anything else."""
    who = "address:" if network.startswith("address:") else ""
    address, _, bits = network.removeprefix(who).partition("/")
    try:
        number = int(IPv6Address(address)) if bits == str(NETWORK_BITS) else None
    except ValueError:
        number = None
    spare = 128 - SITE_BITS
    return f"{who}{IPv6Address(number >> spare << spare)}/{SITE_BITS}" if number is not None else ""


parsed = lru_cache(maxsize=64)(parse)


def limiter() -> MovingWindowRateLimiter:
    return limiter_at(settings.REDIS_URL)


def client() -> redis.Redis:
    return client_at(settings.REDIS_URL)


@lru_cache(maxsize=4)
def limiter_at(url: str) -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=client_at(url).connection_pool))


@lru_cache(maxsize=4)
def client_at(url: str) -> redis.Redis:
    """A client that gives up soon: a customer waits for each answer."""
    pool = redis.ConnectionPool.from_url(
        url,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        # They keep a connection from being closed when its thread has ended.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
    return redis.Redis(connection_pool=pool)
