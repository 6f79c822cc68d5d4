"""How often somebody may call: counters in Redis that hold exactly, over all threads, processes and hosts.

Without Redis the service goes on and lets everybody pass, but for names in FAIL_CLOSED.
"""

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha1
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import ceil
from threading import Lock
from time import monotonic, time
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.http import HttpRequest
from limits import RateLimitItem, parse
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from rest_framework.request import Request

from brands.refusals import RateLimited, Unavailable

# Where passwords are tried, an hour without Redis must not become an hour of free guesses.
FAIL_CLOSED = {"login", "register"}
PAUSE_SECONDS = 1  # after a failure Redis is left alone so long: each try may cost a whole timeout
WARN_SECONDS = 30
NETWORK_BITS = 64  # what one IPv6 customer is given; they may call from any address in it

# The moving window of the library's own script, after a look at the lock. Answers the milliseconds to wait.
HIT_UNLESS_LOCKED = """
local locked = redis.call('pttl', KEYS[1])
if locked > 0 then return locked end
local now, amount, expiry = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local oldest = tonumber(redis.call('lindex', KEYS[2], amount - 1) or '')
if oldest and oldest >= now - expiry then return math.max(1, math.ceil((oldest + expiry - now) * 1000)) end
redis.call('lpush', KEYS[2], ARGV[1])
redis.call('ltrim', KEYS[2], 0, amount - 1)
redis.call('expire', KEYS[2], expiry)
return 0
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
                logger.warning("Rate limits are off, Redis does not answer: %s", error)


outage = Outage()


def hit(name: str, *identifiers: object) -> None:
    """Count one call against the limit `name` of settings.RATE_LIMITS, for whom `identifiers` name together.

    Raises RateLimited, which says when the next call will pass; and Unavailable for FAIL_CLOSED names without Redis.
    """
    item = limit(name)
    who = (name, *map(str, identifiers))
    passes = ask(lambda: limiter().hit(item, *who))
    if passes is None and name in FAIL_CLOSED:
        raise Unavailable
    if passes is False:
        raise RateLimited(retry_after=wait_seconds(item, *who))


def hit_unless_locked(name: str, identifier: object) -> None:
    """`hit`, and one question more in the same round trip: is `identifier` locked out for naming unknown codes?

    Raises RateLimited for the one and the other.
    """
    item = limit(name)
    keys = (lock_key(identifier), f"{RedisStorage.PREFIX}:{item.key_for(name, str(identifier))}")
    milliseconds = ask(lambda: run(HIT_UNLESS_LOCKED, keys, (time(), item.amount, item.get_expiry())))
    if milliseconds:
        raise RateLimited(retry_after=max(1, ceil(milliseconds / 1000)))


def guard_guessing(identifier: object) -> None:
    """Raises RateLimited while `identifier` is locked out for naming too many unknown codes."""
    milliseconds = ask(lambda: command("PTTL", lock_key(identifier))) or 0
    if milliseconds > 0:
        raise RateLimited(retry_after=ceil(milliseconds / 1000))


def count_unknown_code(identifier: object) -> None:
    """Count an unknown code. The last one that the limit allows begins the lock that guard_guessing sees.

    Raises RateLimited where the limit was used up meanwhile: parallel guesses get no more answers than serial ones.
    """
    item = limit("unknown_code")
    who = ("unknown_code", str(identifier))
    passes = ask(lambda: limiter().hit(item, *who))
    if passes is None or (passes and ask(lambda: limiter().test(item, *who))):
        return
    seconds = settings.UNKNOWN_CODE_LOCK_SECONDS
    ask(lambda: client().set(lock_key(identifier), 1, ex=seconds, nx=True))
    if not passes:
        raise RateLimited(retry_after=seconds)


def client_address(request: HttpRequest | Request) -> str:
    """Whom limits count for a guest: the address that the outermost trusted proxy saw, as IPv4 or as IPv6 /64.

    settings.TRUSTED_PROXIES says how many proxies append to X-Forwarded-For; what stands further left in it was
    written by the client, and is not believed.
    """
    socket: str = request.META.get("REMOTE_ADDR", "")
    trusted = settings.TRUSTED_PROXIES
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR") if trusted else None
    if not forwarded:
        return grouped(socket) or "unknown"
    hops = forwarded.split(",")
    return grouped(hops[-min(trusted, len(hops))]) or grouped(socket) or "unknown"


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
        return None


def run(script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
    """What a Lua script answers, which Redis keeps under its hash."""
    digest = sha1(script.encode(), usedforsecurity=False).hexdigest()
    try:
        return command("EVALSHA", digest, len(keys), *keys, *arguments)
    except redis.exceptions.NoScriptError:
        return command("EVAL", script, len(keys), *keys, *arguments)


def command(*words: Any) -> Any:
    """What Redis answers to one command, by the shortest way: its client spends more on a call than Redis does."""
    pool = client().connection_pool
    connection = pool.get_connection()  # a new one, where the server has closed this one
    try:
        connection.send_command(*words)  # type: ignore[no-untyped-call]
        return connection.read_response()
    finally:
        pool.release(connection)


def wait_seconds(item: RateLimitItem, *who: str) -> int:
    """Until the oldest counted call leaves the window and the next one passes."""
    window = ask(lambda: limiter().get_window_stats(item, *who))
    return max(1, ceil(window.reset_time - time())) if window else PAUSE_SECONDS


def limit(name: str) -> RateLimitItem:
    return parsed(settings.RATE_LIMITS[name])


def lock_key(identifier: object) -> str:
    return f"{RedisStorage.PREFIX}:unknown_code_lock:{identifier}"


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
    )
    return redis.Redis(connection_pool=pool)
