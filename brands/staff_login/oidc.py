"""Signing in through a brand's identity provider: OpenID Connect Core 1.0, authorization code with PKCE (RFC 7636).

The brand's owner enters the addresses, so core.http.client makes all calls, with short timeouts and few at a time.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import jwt
from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands.identity import jwks
from brands.models.people import User
from brands.staff_login.models import SignInSettings
from core.errors import Forbidden, Unavailable
from core.http import client

DISCOVERY = "/.well-known/openid-configuration"
SCOPE = "openid email"
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"})
LEEWAY_SECONDS = 60
TIMEOUT_SECONDS = 3.0
RETRY_SECONDS = 5
MAX_AT_ONCE = 2  # threads per process that wait for providers, of all brands together; at most one per brand
SLOW_SECONDS = 1.0  # a provider that took longer cannot have the last slot for a while
SLOW_FOR_SECONDS = 300.0
MAX_TOKEN_LENGTH = 20_000
# RFC 8176: the values with which a provider states that it asked for more than a password.
SECOND_FACTORS = frozenset({"mfa", "otp", "hwk", "swk", "sc", "face", "fpt", "iris", "retina", "vbm"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in in progress, kept in the session until the provider redirects back."""

    brand_id: int
    issuer: str
    token_endpoint: str
    jwks_uri: str
    uses_basic_auth: bool  # whether the token endpoint takes the client secret in the header, else in the form
    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    at: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that the provider vouches for."""

    email: str
    has_second_factor: bool


class ProviderSlots:
    """Slots for calls to providers in this process: one for each brand, and at most MAX_AT_ONCE in total.

    Brands whose provider was slow recently get all but one of them, so that the others always have one.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._lock = Lock()
        self._taken: set[int] = set()
        self._slow_until: dict[int, float] = {}
        self._clock = clock

    @contextmanager
    def acquire(self, brand_id: int) -> Iterator[None]:
        """Hold a slot for a call to the brand's provider. Raises Unavailable at once if there is none."""
        with self._lock:
            began = self._clock()
            slow = {each for each, until in self._slow_until.items() if until > began}
            is_reserved_for_other_brands = brand_id in slow and len(self._taken & slow) >= MAX_AT_ONCE - 1
            if brand_id in self._taken or len(self._taken) >= MAX_AT_ONCE or is_reserved_for_other_brands:
                raise Unavailable(
                    _("A login with the identity provider is already in progress."), retry_after=RETRY_SECONDS
                )
            self._taken.add(brand_id)
        try:
            yield
        finally:
            with self._lock:
                self._taken.discard(brand_id)
                ended = self._clock()
                if ended - began > SLOW_SECONDS:
                    self._slow_until[brand_id] = ended + SLOW_FOR_SECONDS


provider_slots = ProviderSlots()


def settings_of(slug: str) -> SignInSettings | None:
    """The brand's provider, if it has an active one."""
    return SignInSettings.objects.select_related("brand").filter(brand__slug=slug, oidc_active=True).first()


def begin(provider: SignInSettings, *, redirect_uri: str, at: float) -> tuple[Attempt, str]:
    """Start an attempt. Returns it and the provider's page. Raises Unavailable while the provider cannot be reached."""
    with provider_slots.acquire(provider.brand_id):
        document = fetch(provider.oidc_issuer.rstrip("/") + DISCOVERY)
    # OpenID Connect Discovery 4.3: otherwise one provider could impersonate another.
    if document.get("issuer") != provider.oidc_issuer:
        raise unavailable()
    page, token_endpoint, jwks_uri = (
        address(document.get(name)) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
    )
    auth_methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if not isinstance(auth_methods, list):
        raise unavailable()
    attempt = Attempt(
        brand_id=provider.brand_id,
        issuer=provider.oidc_issuer,
        token_endpoint=token_endpoint,
        jwks_uri=jwks_uri,
        uses_basic_auth="client_secret_basic" in auth_methods,
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        redirect_uri=redirect_uri,
        at=at,
    )
    challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
    parameters = {
        "response_type": "code",
        "scope": SCOPE,
        "client_id": provider.oidc_client_id,
        "redirect_uri": redirect_uri,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return attempt, f"{page}{'&' if urlsplit(page).query else '?'}{urlencode(parameters)}"


@sensitive_variables()
def finish(provider: SignInSettings, attempt: Attempt, *, parameters: Mapping[str, str]) -> Identity:
    """The identity that the provider returned.

    Raises Forbidden for an answer to another request, or without the provider's signature for us, Unavailable while
    the provider cannot be reached.
    """
    if attempt.brand_id != provider.brand_id or attempt.issuer != provider.oidc_issuer:
        raise rejected()
    if not constant_time_compare(parameters.get("state", ""), attempt.state):
        raise rejected()
    if parameters.get("iss", attempt.issuer) != attempt.issuer:  # RFC 9207
        raise rejected()
    if not parameters.get("code"):
        raise rejected()
    with provider_slots.acquire(provider.brand_id):
        answer = exchange(provider, attempt, parameters["code"])
        keys = fetch(attempt.jwks_uri)
    return identity_of(str(answer.get("id_token", "")), keys, provider=provider, nonce=attempt.nonce)


@sensitive_variables()
def exchange(provider: SignInSettings, attempt: Attempt, code: str) -> dict[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": code[:2_000],
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if attempt.uses_basic_auth:  # RFC 6749 2.3.1: each part is encoded as in a form first
        pair = f"{quote(provider.oidc_client_id, safe='')}:{quote(provider.oidc_client_secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form |= {"client_id": provider.oidc_client_id, "client_secret": provider.oidc_client_secret}
    return fetch(attempt.token_endpoint, headers=headers, content=urlencode(form).encode(), rejects=True)


@sensitive_variables("token")
def identity_of(token: str, keys: Mapping[str, Any], *, provider: SignInSettings, nonce: str) -> Identity:
    """OpenID Connect Core 3.1.3.7. Raises Forbidden."""
    try:
        if len(token) > MAX_TOKEN_LENGTH:
            raise rejected()
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise rejected()
        known = jwks.usable_keys(keys, algorithm)
        key = jwks.pick(known, header.get("kid"))
        if key is None:
            raise rejected()
        claims = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=provider.oidc_client_id,
            issuer=provider.oidc_issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError):
        raise rejected() from None
    parties = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    is_for_us = claims.get("azp", provider.oidc_client_id) == provider.oidc_client_id
    if not is_for_us or (len(parties) > 1 and "azp" not in claims):
        raise rejected()
    answered = claims["nonce"]
    if not isinstance(answered, str) or not answered.isascii() or not constant_time_compare(answered, nonce):
        raise rejected()
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise rejected()
    if not email.strip() or not email.isprintable():
        raise rejected()
    seen = claims.get("amr")
    factors = {each for each in seen if isinstance(each, str)} if isinstance(seen, list) else set()
    return Identity(email.strip().lower(), bool(factors & SECOND_FACTORS))


def staff_with(email: str, *, brand_id: int) -> User | None:
    """The member of the brand's staff with this address. Superusers only log in by password."""
    able = User.objects.filter(is_active=True, is_staff=True, is_superuser=False)
    return able.filter(email=email, staff_roles__brand=brand_id).first()


def fetch(
    url: str, *, headers: Mapping[str, str] | None = None, content: bytes = b"", rejects: bool = False
) -> dict[str, Any]:
    """The JSON object at `url`; with `content` it is a POST. Raises Unavailable, or Forbidden if the provider itself
    rejects the request and `rejects` is set."""
    method = "POST" if content else "GET"
    try:
        answer = client.send(
            method,
            url,
            headers=headers or {"Accept": "application/json"},
            content=content,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        document = json.loads(answer.body)
    except (client.RequestFailedError, ValueError, RecursionError):
        raise unavailable() from None
    if rejects and 400 <= answer.status < 500:
        raise rejected()
    if answer.status != 200 or not isinstance(document, dict):
        raise unavailable()
    return document


def address(value: Any) -> str:
    """Validate a web address to call or redirect to. Raises Unavailable for any other value."""
    schemes = {"https", "http"} if settings.OUTGOING_PRIVATE_NETWORKS else {"https"}
    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isascii() and value.isprintable() else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in schemes or not parts.hostname:
        raise unavailable()
    return str(value)


def unavailable() -> Unavailable:
    return Unavailable(
        _("The identity provider is not responding correctly. Try again, or log in with your password."),
        retry_after=RETRY_SECONDS,
    )


def rejected() -> Forbidden:
    """The same error for every reason, so that attackers do not learn which it was."""
    return Forbidden(_("The identity provider cannot log you in here. Try again, or log in with your password."))
