"""Google's service accounts: the key files that brands upload, and the access tokens that they are exchanged for."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from time import monotonic, time
from typing import Any
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import Invalid
from core.http import client
from core.uploads import keys
from core.uploads.keys import KeyFile

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION_SECONDS = 3600
EARLY_SECONDS = 120  # a token is not used this shortly before it expires


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The account that calls Google. `project_id` is only set if it was read from the file."""

    email: str
    private_key: str
    key_id: str
    project_id: str = ""


class NotGranted(Exception):
    """Google's token server returned no token, but this `answer`."""

    def __init__(self, answer: client.Answer) -> None:
        super().__init__(f"Google's token server gave no token, but {answer.status}: {answer.body!r}"[:500])
        self.answer = answer


def read(content: bytes | str, *, field: str) -> ServiceAccount:
    """Parse the JSON file of Google's console at upload. Raises Unavailable, and Invalid for the form's `field`, also
    for a key of an unusual size, so that none is stored.
    """
    account = read_stored(content, field=field)
    unreadable = _("The private key in this file cannot be read.")
    file = keys.read([KeyFile(field, "key", account.private_key.encode(errors="replace"), unreadable)])[field]
    if not isinstance(keys.load(file.key), RSAPrivateKey):
        raise _incomplete(field)
    return replace(account, private_key=file.key)


def read_stored(content: bytes | str, *, field: str) -> ServiceAccount:
    """Parse a file whose key was checked at upload, or will be checked next. Raises Invalid for `field`."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("type") != "service_account":
        raise _wrong(field, _("This is not a key file of a service account. Upload the JSON file."))
    email, pem = str(data.get("client_email", "")), str(data.get("private_key", ""))
    if not pem or "@" not in email or not data.get("private_key_id"):
        raise _incomplete(field)
    key_id, project_id = str(data["private_key_id"])[:64], str(data.get("project_id", ""))
    return ServiceAccount(email[:254], pem, key_id, project_id)


def _incomplete(field: str) -> Invalid:
    return _wrong(field, _("This file lacks the account's address, its RSA key or the key's id."))


def _wrong(field: str, text: str) -> Invalid:
    return Invalid(text, details={"field": field})


Name = tuple[str, str, ServiceAccount]
# The private key is part of the name: knowing only another brand's address and key id must not yield its token.
_tokens: dict[Name, tuple[str, float]] = {}
_lock = Lock()


def access_token(account: ServiceAccount, *, scope: str) -> str:
    """A token for Google's APIs, cached by this process until shortly before it expires.

    Raises NotGranted and client.RequestFailedError.
    """
    name = _name(account, scope)
    with _lock:
        token, until = _tokens.get(name, ("", 0.0))
    if until > monotonic():
        return token
    answer = client.send(
        "POST",
        settings.GOOGLE_TOKEN_URL,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        content=urlencode({"grant_type": GRANT, "assertion": _assertion(account, scope)}).encode(),
    )
    token, seconds = _granted(answer)
    with _lock:
        _tokens[name] = (token, monotonic() + seconds - EARLY_SECONDS)
    return token


def discard_token(account: ServiceAccount, *, scope: str) -> None:
    """Drop a cached token that Google rejected before it expired."""
    with _lock:
        _tokens.pop(_name(account, scope), None)


def signed(claims: dict[str, Any], account: ServiceAccount) -> str:
    """A JSON Web Token signed by the account."""
    return jwt.encode(claims, _signer(account.private_key), algorithm="RS256", headers={"kid": account.key_id})


def _name(account: ServiceAccount, scope: str) -> Name:
    return settings.GOOGLE_TOKEN_URL, scope, account


def _assertion(account: ServiceAccount, scope: str) -> str:
    now = int(time())
    times = {"iat": now, "exp": now + ASSERTION_SECONDS}
    return signed({"iss": account.email, "scope": scope, "aud": settings.GOOGLE_TOKEN_URL, **times}, account)


@lru_cache(maxsize=64)
def _signer(private_key: str) -> RSAPrivateKey:
    """The key's size was checked at upload: no key that takes long to use is stored."""
    key = keys.load(private_key)
    assert isinstance(key, RSAPrivateKey)  # noqa: S101 - its type was checked at upload
    return key


def _granted(answer: client.Answer) -> tuple[str, float]:
    try:
        data = json.loads(answer.body) if answer.status == 200 else {}
        return str(data["access_token"]), float(data["expires_in"])
    except (ValueError, KeyError, TypeError):
        raise NotGranted(answer) from None
