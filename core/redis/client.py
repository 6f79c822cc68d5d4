"""The connection to Redis: its commands, its scripts, and its outage state."""

import logging
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from hashlib import sha1
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import redis
from django.conf import settings
from redis.maint_notifications import MaintNotificationsConfig

logger = logging.getLogger(__name__)
PAUSE_SECONDS = 1  # after a failure Redis is not tried for this long: each attempt may cost a whole timeout
WARN_SECONDS = 30

T = TypeVar("T")


class OutageState:
    """Whether this process leaves Redis alone after a failure. It ends by itself."""

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


outage = OutageState()


def call_or_none(call: Callable[[], T]) -> T | None:
    """Run a call to Redis. Returns its result, or None while Redis is away."""
    if outage.is_on:
        return None
    try:
        return call()
    except redis.RedisError as error:
        outage.begin(error)
        disconnect()
        return None


def disconnect() -> None:
    """Close idle connections, so that later calls go to the server that then has the address. A master that became a
    replica keeps its connections, and rejects every write on them."""
    client().connection_pool.disconnect(inuse_connections=False)


def run(script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
    """Run a Lua script, which Redis caches by its hash."""
    try:
        return command("EVALSHA", digest(script), len(keys), *keys, *arguments)
    except redis.exceptions.NoScriptError:
        return command("EVAL", script, len(keys), *keys, *arguments)


@cache
def digest(script: str) -> str:
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def command(*arguments: Any) -> Any:
    """Run one command. The pool renews dead connections, and those of a fork's parent.

    A scan waits for two of these, and redis-py's execute_command() takes half as much processor time again.
    """
    pool = client().connection_pool
    connection = pool.get_connection()
    try:
        connection.send_command(*arguments)  # type: ignore[no-untyped-call]
        return connection.read_response()
    finally:
        pool.release(connection)


def client() -> redis.Redis:
    return client_at(settings.REDIS_URL)


@lru_cache(maxsize=4)
def client_at(url: str) -> redis.Redis:
    """A client with a short timeout: a customer waits for each answer."""
    pool = redis.ConnectionPool.from_url(
        url,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        # Otherwise the pool takes connections with unread data, such as an answer that was not waited for.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
    return redis.Redis(connection_pool=pool)
