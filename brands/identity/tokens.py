"""Access and refresh tokens: the only code that signs, rotates, revokes and reads them."""

import logging
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, lru_cache
from time import time
from typing import Any

import jwt
from django.conf import settings
from django.db import transaction
from django.db.models import F
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenBackendError

from brands.identity import jwks
from brands.models.credentials import LoginSession
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.statements import part
from core.errors import TokenInvalid, raises

MAX_TOKEN_LENGTH = 16_384  # characters; checking a longer one would only waste time
MAX_ID = 2**63 - 1
TOKENS_KNOWN = 4_096  # cached by each process, a kilobyte each
EXTERNAL_CLOCK_SKEW_SECONDS = 10
EVER = timedelta(days=36_500)
# How long a used refresh token still returns its successor: the first answer may have been lost, or be under way.
SAME_ANSWER_WITHIN = timedelta(seconds=30)

EXTERNAL = -1  # instead of an epoch: issued by another issuer, for customers of the token's brand and never for staff
STANDS = part("brands/identity/sql/token_stands.sql")
PLACES = {"epoch": "%(epoch)s", "session": "%(session)s", "token_brand": "%(token_brand)s"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Principal:
    """The user and the brand of an access token."""

    user_id: int
    brand_id: int
    fingerprint: str = field(default="", compare=False)  # of the password at issue; empty if external
    # What STANDS checks: the user's epoch, or EXTERNAL; and the token's session.
    epoch: int = field(default=0, compare=False)
    session: uuid.UUID | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TokenPair:
    """The result of a login or a refresh; `expires_in` is the access token's lifetime in seconds."""

    access: str
    refresh: str
    expires_in: int
    session_id: str
    user_id: int
    brand_id: int


def issue(*, user: User, brand: Brand, at: datetime) -> TokenPair:
    """Start a login session of `user` at `brand`. The caller has checked the password."""
    session = LoginSession.objects.create(
        user=user, brand=brand, current_jti=_new_id(), created_at=at, expires_at=_session_end(at)
    )
    return _pair(session, at)


@raises(TokenInvalid)
def rotate(*, refresh: str, at: datetime) -> TokenPair:
    """Exchange a refresh token, which can be used once, for a new pair.

    Within SAME_ANSWER_WITHIN, the last used token returns its successor again and no other, so there is one chain.
    Raises TokenInvalid. A token that was used longer ago is stolen, or its thief has the newer one: the whole
    session is revoked. Call outside any transaction, which would roll this back when it raises.
    """
    claims = _own_claims(refresh, kind="refresh")
    with transaction.atomic(durable=True):
        pair = _rotated(claims, at)
    if pair is None:
        raise TokenInvalid
    return pair


@raises(TokenInvalid)
def revoke(*, refresh: str, at: datetime) -> None:
    """End the session of `refresh`, even if it has expired or ended before. Raises TokenInvalid for a forgery."""
    claims = _own_claims(refresh, kind="refresh", may_be_expired=True)
    LoginSession.objects.filter(pk=_session_id(claims), revoked_at=None).update(revoked_at=at)


def revoke_all(*, user: User, at: datetime) -> None:
    """End every session of `user` for good, including the portal's, and one that starts concurrently.

    Their access tokens, refresh tokens and password links carry the epoch, which this increments.
    """
    LoginSession.objects.filter(user=user, revoked_at=None).update(revoked_at=at)
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.session_epoch = User.objects.values_list("session_epoch", flat=True).get(pk=user.pk)


def revoke_at_brand(*, user_id: int, brand_id: int, at: datetime) -> None:
    """End every session of the user at this brand only. Joins the caller's transaction."""
    LoginSession.objects.filter(user=user_id, brand=brand_id, revoked_at=None).update(revoked_at=at)


def parameters(principal: Principal | None) -> dict[str, Any]:
    """A token's parameters for STANDS, by the names in PLACES."""
    if principal is None:
        return {"epoch": None, "session": None, "token_brand": None}
    return {"epoch": principal.epoch, "session": principal.session, "token_brand": principal.brand_id}


def verify_access(token: str) -> Principal:
    """The user and brand of `token`. The caller must check that the user is active and that the token passes STANDS.

    Raises TokenInvalid, and Unavailable while an external issuer's keys cannot be read.
    """
    if _is_external(token):
        claims = _external_claims(token)
        return Principal(_row_id(claims, "user_id"), _row_id(claims, "brand_id"), epoch=EXTERNAL)
    claims = _own_claims(token, kind="access")
    return Principal(
        _row_id(claims, "user_id"),
        _row_id(claims, "brand_id"),
        str(claims.get("pwd", "")),
        epoch=_epoch(claims),
        session=_session_id(claims) if "sid" in claims else None,  # missing in tokens from before sessions were named
    )


def signed_brand(token: str) -> int:
    """The brand of an access token that we signed, even if it has expired or ended. Raises TokenInvalid otherwise."""
    return _row_id(_own_claims(token, kind="access", may_be_expired=True), "brand_id")


def is_outdated(principal: Principal, user: User) -> bool:
    """Whether the password of `user` has changed since the access token was issued."""
    return bool(principal.fingerprint) and principal.fingerprint != fingerprint(user)


def _rotated(claims: dict[str, Any], at: datetime) -> TokenPair | None:
    """The next pair of the session, or None if there is none. The row lock serialises parallel calls."""
    sessions = LoginSession.objects.select_related("user").select_for_update(of=("self",))
    session = sessions.filter(pk=_session_id(claims)).first()
    if session is None or session.revoked_at or session.expires_at <= at or not session.user.is_active:
        return None
    if claims.get("pwd") != fingerprint(session.user):
        return None
    if claims.get("jti") == session.previous_jti and _is_fresh(session.rotated_at, at):
        return _pair(session, at)
    if claims.get("jti") != session.current_jti:
        logger.warning("Refresh token used twice: session %s of user %s is revoked", session.pk, session.user_id)
        session.revoked_at = at
        session.save(update_fields=["revoked_at"])
        return None
    session.current_jti, session.previous_jti = _new_id(), session.current_jti
    session.rotated_at, session.expires_at = at, _session_end(at)
    session.save(update_fields=["current_jti", "previous_jti", "rotated_at", "expires_at"])
    return _pair(session, at)


def _is_fresh(rotated_at: datetime | None, at: datetime) -> bool:
    return rotated_at is not None and at - rotated_at <= SAME_ANSWER_WITHIN


def _pair(session: LoginSession, at: datetime) -> TokenPair:
    lifetime = _ours()["ACCESS_TOKEN_LIFETIME"]
    # No iat: it is not needed, and a host whose clock is behind would reject the token as one from the future.
    subject = {
        "user_id": session.user_id,
        "brand_id": session.brand_id,
        "pwd": fingerprint(session.user),
        "sid": str(session.pk),
    }
    epoch = session.user.session_epoch
    access = {**subject, "token_type": "access", "ep": epoch, "jti": _new_id(), "exp": at + lifetime}
    refresh = {**subject, "token_type": "refresh", "jti": session.current_jti, "exp": session.expires_at}
    return TokenPair(
        access=_signed(access),
        refresh=_signed(refresh),
        expires_in=int(lifetime.total_seconds()),
        session_id=str(session.pk),
        user_id=session.user_id,
        brand_id=session.brand_id,
    )


def fingerprint(user: User) -> str:
    """Changes with the user's password and epoch; a change ends every session."""
    return user.get_session_auth_hash()[:16]


def _signed(claims: dict[str, Any]) -> str:
    return _backend(leeway=timedelta()).encode(claims)


def _own_claims(token: str, *, kind: str, may_be_expired: bool = False) -> dict[str, Any]:
    if len(token) > MAX_TOKEN_LENGTH:
        raise TokenInvalid
    backend = _backend(leeway=EVER if may_be_expired else timedelta())
    try:
        claims = _remembered(token, backend) if kind == "access" else _decoded(token, backend)
    except (TokenBackendError, ValueError) as error:  # ValueError: characters that have no UTF-8 form
        raise TokenInvalid from error
    if claims.get("token_type") != kind or "exp" not in claims:
        raise TokenInvalid
    if not may_be_expired and int(claims["exp"]) <= time():
        raise TokenInvalid
    return claims


def _decoded(token: str, backend: TokenBackend) -> dict[str, Any]:
    claims: dict[str, Any] = backend.decode(token)  # type: ignore[arg-type] # text
    return claims


# A valid access token is usually used many times. Only its expiry can change the result, and it is checked each time.
_remembered = lru_cache(maxsize=TOKENS_KNOWN)(_decoded)


def _backend(*, leeway: timedelta) -> TokenBackend:
    """Signs and verifies our own tokens; `leeway` is how long an expired token is still accepted."""
    ours = _ours()
    return _backend_for(ours["ALGORITHM"], ours["SIGNING_KEY"], ours["AUDIENCE"], ours["ISSUER"], leeway)


@cache
def _backend_for(algorithm: str, key: str, audience: str, issuer: str, leeway: timedelta) -> TokenBackend:
    return TokenBackend(algorithm, signing_key=key, audience=audience, issuer=issuer, leeway=leeway)


def _is_external(token: str) -> bool:
    """Whether `token` claims to be from the external issuer. The claim is not verified here."""
    if not settings.JWT_EXTERNAL_JWKS_URL:
        return False
    unverified = _verified(token, options={"verify_signature": False})
    return bool(unverified.get("iss") == settings.JWT_EXTERNAL_ISSUER)


def _external_claims(token: str) -> dict[str, Any]:
    algorithm = settings.JWT_EXTERNAL_ALGORITHM
    key_id = jwt.get_unverified_header(token).get("kid")
    claims = _verified(
        token,
        key=jwks.key_set(url=settings.JWT_EXTERNAL_JWKS_URL, algorithm=algorithm).key(key_id),
        algorithm=algorithm,
        issuer=settings.JWT_EXTERNAL_ISSUER,
        audience=settings.JWT_EXTERNAL_AUDIENCE,
        options={"require": ["exp"], "verify_iat": False, "enforce_minimum_key_length": True},
        leeway=EXTERNAL_CLOCK_SKEW_SECONDS,
    )
    # token_type is specific to our tokens: other issuers distinguish kinds by the audience.
    if claims.get("token_type", "access") != "access":
        raise TokenInvalid
    if _row_id(claims, "brand_id") not in settings.JWT_EXTERNAL_BRANDS:
        raise TokenInvalid
    return claims


def _verified(token: str, *, algorithm: str = "", **checks: Any) -> dict[str, Any]:
    """The claims of a token that passes PyJWT's `checks`. Only `algorithm` is accepted, whatever the header says."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise TokenInvalid
    try:
        return jwt.decode(token, algorithms=[algorithm], **checks)
    except (jwt.PyJWTError, ValueError) as error:  # ValueError: characters that have no UTF-8 form
        raise TokenInvalid from error


def _row_id(claims: dict[str, Any], name: str) -> int:
    value = claims.get(name)
    if type(value) is not int or not 0 < value <= MAX_ID:
        raise TokenInvalid
    return value


def _epoch(claims: dict[str, Any]) -> int:
    value = claims.get("ep", 0)
    if type(value) is not int or not 0 <= value < 2**31:
        raise TokenInvalid
    return value


def _session_id(claims: dict[str, Any]) -> uuid.UUID:
    try:
        return uuid.UUID(claims.get("sid"))
    except (TypeError, ValueError, AttributeError) as error:
        raise TokenInvalid from error


def _session_end(at: datetime) -> datetime:
    """When a session ends if it is not refreshed again."""
    end: datetime = at + _ours()["REFRESH_TOKEN_LIFETIME"]
    return end


def _ours() -> dict[str, Any]:
    return settings.SIMPLE_JWT


def _new_id() -> str:
    return uuid.uuid4().hex


def purge_ended(*, at: datetime) -> int:
    """Delete ended sessions; their tokens are rejected with or without a row. Returns how many."""
    deleted, _by_model = LoginSession.objects.filter(expires_at__lte=at).delete()
    return deleted
