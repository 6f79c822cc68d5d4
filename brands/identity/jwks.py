"""An external issuer's public keys: read from its JWKS address, kept for a while, never trusted for long."""

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

FRESH_SECONDS = 300  # so soon is a key refused that its issuer has withdrawn
STALE_SECONDS = 3_600  # so long do known keys serve while the address does not answer
PAUSE_SECONDS = 10  # between two questions, or made-up key ids would make us hammer the issuer
TIMEOUT_SECONDS = 3
MAX_MODULUS_LENGTH = 683  # characters of Base64: RSA keys of 4,096 bits

logger = logging.getLogger(__name__)


class KeySet:
    """The keys behind one address, for one algorithm; any thread may ask."""

    def __init__(self, *, url: str, algorithm: str) -> None:
        self.url = url
        self.algorithm = algorithm
        self._lock = Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._requested_at = self._answered_at = float("-inf")

    def key(self, key_id: str | None) -> jwt.PyJWK:
        """The key `key_id`; None stands for the only one.

        Raises TokenInvalid for an id that the issuer does not list, Unavailable while its list cannot be read.
        """
        if self._must_ask(key_id):
            with self._lock:
                if self._must_ask(key_id):  # another thread may have asked while this one waited
                    self._ask()
        result = self._known(key_id)
        if result:
            return result
        if self._answered_at < self._requested_at:
            message = gettext_noop("The token issuer's keys cannot be read right now.")
            raise Unavailable(message, retry_after=PAUSE_SECONDS)
        raise TokenInvalid

    def _known(self, key_id: str | None) -> jwt.PyJWK | None:
        if monotonic() - self._answered_at > STALE_SECONDS:
            return None
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _must_ask(self, key_id: str | None) -> bool:
        now = monotonic()
        is_fresh = now - self._answered_at < FRESH_SECONDS
        return now - self._requested_at >= PAUSE_SECONDS and not (is_fresh and self._known(key_id))

    def _ask(self) -> None:
        try:
            keys = usable_keys(json.loads(fetch(self.url)), self.algorithm)
        except (client.RequestFailedError, ValueError, RecursionError) as error:
            logger.warning("No keys from %s: %s", self.url, error)
            self._requested_at = monotonic()
        else:
            self._keys = keys
            self._requested_at = self._answered_at = monotonic()


@lru_cache(maxsize=4)
def key_set(*, url: str, algorithm: str) -> KeySet:
    """The one KeySet of this process for an address."""
    return KeySet(url=url, algorithm=algorithm)


def fetch(url: str) -> bytes:
    """The body behind `url`, which the operator chose, so it may be a private address. Raises RequestFailedError."""
    headers = {"Accept": "application/json"}
    answer = client.send("GET", url, headers=headers, timeout_seconds=TIMEOUT_SECONDS, anywhere=True)
    if answer.status != 200:
        message = f"the answer is {answer.status}"
        raise client.RequestFailedError(message)
    return answer.body


def usable_keys(answer: Any, algorithm: str) -> dict[str | None, jwt.PyJWK]:
    """The signature keys of a JWK Set (RFC 7517) that fit `algorithm`, by their id. Raises ValueError for no set."""
    if not isinstance(answer, dict) or not isinstance(answer.get("keys"), list):
        message = "the answer is no JWK Set"
        raise ValueError(message)
    keys = [_usable(entry, algorithm) for entry in answer["keys"] if isinstance(entry, dict)]
    return {key.key_id: key for key in keys if key}


def _usable(entry: Mapping[str, Any], algorithm: str) -> jwt.PyJWK | None:
    # A symmetric or private key in a public list is known to everybody: whoever reads it could sign. And to check a
    # private one of RSA may take minutes, in which no other thread goes on.
    if entry.get("kty") == "oct" or "d" in entry or len(str(entry.get("n", ""))) > MAX_MODULUS_LENGTH:
        return None
    if entry.get("use", "sig") != "sig" or entry.get("alg", algorithm) != algorithm:
        return None
    try:
        return jwt.PyJWK(dict(entry), algorithm)
    except jwt.PyJWTError:
        return None
