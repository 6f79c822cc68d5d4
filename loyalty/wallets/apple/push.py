"""Pushes to Apple devices: an empty HTTP/2 message that makes the wallet fetch the pass again."""

import json
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import time

import jwt
from django.conf import settings
from django.utils import timezone

from core.http import client
from loyalty.wallets.apple.certificates import AppleKeys

TIMEOUT_SECONDS = 10
# Apple rejects provider tokens older than an hour, and more than one new token in 20 minutes.
TOKEN_SECONDS = 45 * 60
GONE = {"BadDeviceToken", "Unregistered", "DeviceTokenNotForTopic", "ExpiredToken"}
OUR_FAULT = {400, 403, 404, 405, 413}
RETRY = timedelta(seconds=30)
MAX_WAIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PushAccepted:
    """Apple accepted the push."""


@dataclass(frozen=True, slots=True)
class DeviceGone:
    """The device no longer exists; `since` is when Apple noticed, if it says so."""

    since: datetime | None


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Apple wants a retry after this time."""

    after: timedelta
    why: str


@dataclass(frozen=True, slots=True)
class KeysRejected:
    """Apple rejects the certificate or key."""

    why: str


PushOutcome = PushAccepted | DeviceGone | RetryAfter | KeysRejected


def push(*, push_token: str, keys: AppleKeys) -> PushOutcome:
    """Send a push. Raises client.RequestFailedError."""
    headers = {
        "apns-topic": keys.identifier,
        "apns-priority": "5",
        "apns-expiration": str(int(time()) + 24 * 3600),
        "apns-collapse-id": keys.identifier[:64],
    }
    if keys.push_key:
        headers["authorization"] = f"bearer {provider_token(keys)}"
    answer = client.send(
        "POST",
        f"{settings.APNS_ADDRESS}/3/device/{push_token}",
        headers=headers,
        content=b"{}",
        timeout_seconds=TIMEOUT_SECONDS,
        http2=True,
        tls=tls_of("", keys.push_key) if keys.push_key else tls_of(keys.certificates, keys.private_key),
    )
    return read(answer, keys)


def read(answer: client.Answer, keys: AppleKeys) -> PushOutcome:
    if answer.status == 200:
        return PushAccepted()
    reason, since = _reason(answer.body)
    why = f"APNs answered {answer.status} {reason}".strip()
    if answer.status == 410 or reason in GONE:
        return DeviceGone(since)
    if reason in {"ExpiredProviderToken", "InvalidProviderToken"}:
        discard_token(keys)
    if reason == "ExpiredProviderToken":
        return RetryAfter(timedelta(seconds=1), why)
    if answer.status in OUR_FAULT:
        return KeysRejected(why)
    return RetryAfter(answer.retry_after(at=timezone.now(), at_most=MAX_WAIT) or RETRY, why)


def _reason(body: bytes) -> tuple[str, datetime | None]:
    """Apple's reason, and since when it applies, which Apple sends in milliseconds since 1970."""
    try:
        data = json.loads(body)
        moment = data.get("timestamp")
        since = datetime.fromtimestamp(moment / 1000, tz=UTC) if isinstance(moment, int | float) else None
        return str(data.get("reason", "")), since
    except (ValueError, AttributeError, OverflowError, OSError):
        return "", None


# --- Authentication --------------------------------------------------------------------------------------------------

# Includes the key: knowing another brand's team and key id is not enough to get or replace its token.
Name = tuple[str, str, str]
_tokens: dict[Name, tuple[str, float]] = {}
_lock = Lock()


def provider_token(keys: AppleKeys) -> str:
    """A signed token, reused for a while, because Apple limits new ones."""
    name = _name(keys)
    with _lock:
        token, made = _tokens.get(name, ("", 0.0))
        if not token or made + TOKEN_SECONDS < time():
            made = time()
            claims = {"iss": keys.team, "iat": int(made)}
            token = jwt.encode(claims, keys.push_key, algorithm="ES256", headers={"kid": keys.push_key_id})
            _tokens[name] = (token, made)
        return token


def discard_token(keys: AppleKeys) -> None:
    with _lock:
        _tokens.pop(_name(keys), None)


def _name(keys: AppleKeys) -> Name:
    return keys.team, keys.push_key_id, keys.push_key


@lru_cache(maxsize=64)
def tls_of(certificates: str, private_key: str) -> ssl.SSLContext:
    """A TLS context, with the pass certificate as the client's, if there is one.

    Connections are pooled by context. Each key has its own, so brands do not share connections.
    """
    context = ssl.create_default_context()
    if certificates:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # private; Python reads keys from files only
            file.write(private_key + certificates)
            file.flush()
            context.load_cert_chain(Path(file.name))
    return context
