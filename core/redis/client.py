"""The connection to Redis: its commands, its scripts, and what happens while it is away."""

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
PAUSE_SECONDS = 1  # after a failure Redis is left alone so long: each try may cost a whole timeout
WARN_SECONDS = 30

T = TypeVar("T")


class OutageState:
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


outage = OutageState()


def ask(question: Callable[[], T]) -> T | None:
    """What Redis answers, or None while it does not."""
    if outage.is_on:
        return None
    try:
        return question()
    except redis.RedisError as error:
        outage.begin(error)
        disconnect()
        return None


def disconnect() -> None:
    """What is asked after an outage goes to whoever is behind the address then: a master that was made a replica
    keeps its connections, and refuses every write on them."""
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


def command(*arguments: Any) -> Any:
    """What Redis answers to one command. The pool renews connections that are dead, or those of a fork's parent.

    A scan waits for two of these, and execute_command() of redis-py takes half as much processor time again.
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
    """A client that gives up soon: a customer waits for each answer."""
    pool = redis.ConnectionPool.from_url(
        url,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        # Else the pool takes connections that have something to read, such as an answer nobody waited for.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
    return redis.Redis(connection_pool=pool)
