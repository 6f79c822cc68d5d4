"""An external issuer's public keys: read from its JWKS address and cached for a short time."""

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any

import jwt
from django.utils.translation import gettext_noop

from core.errors import TokenInvalid, Unavailable
from core.http import client

REFRESH_AFTER_SECONDS = 300  # a key that the issuer withdraws is rejected after this, while the issuer answers
MAX_STALE_SECONDS = 3_600  # how long cached keys stay valid while the issuer does not answer
REFETCH_COOLDOWN_SECONDS = 10  # between two fetches, so that made-up key ids do not make us flood the issuer
TIMEOUT_SECONDS = 3
MAX_MODULUS_LENGTH = 683  # Base64 characters: RSA keys of 4,096 bits

logger = logging.getLogger(__name__)


class KeySet:
    """The keys of one address, for one algorithm. Thread-safe.

    PyJWT's own client fetches with urllib, without our deadline, and has no keys while the issuer does not answer.
    """

    def __init__(self, *, url: str, algorithm: str) -> None:
        self.url = url
        self.algorithm = algorithm
        self._lock = Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._last_attempt_at = self._last_success_at = float("-inf")

    def key(self, key_id: str | None) -> jwt.PyJWK:
        """The key with the id `key_id`; None means the only one.

        Raises TokenInvalid for an id that the issuer does not list, Unavailable while its list cannot be read.
        """
        if self._needs_refresh(key_id):
            self._refresh_once(key_id)
        result = self._cached(key_id)
        if result:
            return result
        if self._last_success_at < self._last_attempt_at:
            message = gettext_noop("The token issuer's keys cannot be read right now.")
            raise Unavailable(message, retry_after=REFETCH_COOLDOWN_SECONDS)
        raise TokenInvalid

    def _cached(self, key_id: str | None) -> jwt.PyJWK | None:
        if monotonic() - self._last_success_at > MAX_STALE_SECONDS:
            return None
        return pick(self._keys, key_id)

    def _needs_refresh(self, key_id: str | None) -> bool:
        now = monotonic()
        is_fresh = now - self._last_success_at < REFRESH_AFTER_SECONDS
        is_cooling_down = now - self._last_attempt_at < REFETCH_COOLDOWN_SECONDS
        return not is_cooling_down and not (is_fresh and self._cached(key_id))

    def _refresh_once(self, key_id: str | None) -> None:
        """One thread fetches. The others wait for it only where they have no cached key."""
        if self._lock.acquire(blocking=self._cached(key_id) is None):
            try:
                if self._needs_refresh(key_id):  # another thread may have fetched in the meantime
                    self._refresh()
            finally:
                self._lock.release()

    def _refresh(self) -> None:
        try:
            keys = usable_keys(json.loads(fetch(self.url)), self.algorithm)
        except (client.RequestFailedError, ValueError, RecursionError) as error:
            logger.warning("No keys from %s: %s", self.url, error)
            self._last_attempt_at = monotonic()
        else:
            self._keys = keys
            self._last_success_at = self._last_attempt_at = monotonic()  # in this order, for threads without the lock


@lru_cache(maxsize=4)
def key_set(*, url: str, algorithm: str) -> KeySet:
    """This process's only KeySet for an address."""
    return KeySet(url=url, algorithm=algorithm)


def pick(keys: Mapping[str | None, jwt.PyJWK], key_id: str | None) -> jwt.PyJWK | None:
    """The key that a token's header names; a token that names none was signed with the only key."""
    if key_id is None and len(keys) == 1:
        return next(iter(keys.values()))
    return keys.get(key_id)


def fetch(url: str) -> bytes:
    """The body of `url`. The operator chose it, so it may be a private address. Raises RequestFailedError."""
    headers = {"Accept": "application/json"}
    response = client.send("GET", url, headers=headers, timeout_seconds=TIMEOUT_SECONDS, anywhere=True)
    if response.status != 200:
        raise client.RequestFailedError(f"the response's status is {response.status}")
    return response.body


def usable_keys(document: Any, algorithm: str) -> dict[str | None, jwt.PyJWK]:
    """The signature keys of a JWK Set (RFC 7517) that fit `algorithm`, by their id.

    Raises ValueError if the document is not a JWK Set.
    """
    if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
        raise ValueError("the response is not a JWK Set")
    keys = [_usable(entry, algorithm) for entry in document["keys"] if isinstance(entry, dict)]
    return {key.key_id: key for key in keys if key}


def _usable(entry: Mapping[str, Any], algorithm: str) -> jwt.PyJWK | None:
    # Anyone who reads a symmetric or private key in a public list can sign with it. Checking a private RSA key may also
    # take minutes, during which no other thread of the process runs.
    if entry.get("kty") == "oct" or "d" in entry or len(str(entry.get("n", ""))) > MAX_MODULUS_LENGTH:
        return None
    if entry.get("use", "sig") != "sig" or entry.get("alg", algorithm) != algorithm:
        return None
    if not isinstance(entry.get("kid", ""), str):
        return None
    try:
        return jwt.PyJWK(dict(entry), algorithm)
    except jwt.PyJWTError:
        return None
