"""The steps of a login: the result of the first waits in the session until the second factor is proved, too."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme

from brands.models.people import User
from brands.staff_login import factors, policy, sessions
from brands.staff_login.models import SignInSettings
from core.redis import rate_limits

KEY = "sign_in"
PATIENCE = timedelta(minutes=10)
PROOF_LASTS = timedelta(minutes=10)  # after a password or factor, before a change of factors requires one again
LIMIT = "second_factor"


@dataclass(frozen=True, slots=True)
class Pending:
    """A user who entered the correct password, or came from a brand's identity provider, and is not logged in yet."""

    user: User
    brand_id: int | None
    next_address: str

    @property
    def may_set_up(self) -> bool:
        """A provider only vouches for its brand, so it cannot set up a factor that counts elsewhere, too."""
        return self.brand_id is None and not factors.has_any(self.user)


def after_password(request: HttpRequest, user: User, *, next_address: str) -> str:
    """Log `user` in, or request the second factor. Returns the name of the next page."""
    if factors.has_any(user):
        save_first_step(request, user, brand_id=None, next_address=next_address)
        return "admin:second_factor"
    if policy.requires_second_factor(user):
        save_first_step(request, user, brand_id=None, next_address=next_address)
        return "admin:second_factor_setup"
    sessions.begin(request, user=user, brand_id=None, at=timezone.now())
    return ""


def save_first_step(request: HttpRequest, user: User, *, brand_id: int | None, next_address: str) -> None:
    """Keep the first step's result, in a session without a user."""
    sessions.discard(request)
    request.session[KEY] = {
        "user": user.pk,
        "password": user.get_session_auth_hash(),
        "brand": brand_id,
        "provider": None if brand_id is None else provider_of(brand_id),
        "next": next_address,
        "at": timezone.now().timestamp(),
    }


def provider_of(brand_id: int) -> list[str]:
    """Issuer and client of the brand's active provider; empty without one."""
    active = SignInSettings.objects.filter(brand=brand_id, oidc_active=True)
    return [part for row in active.values_list("oidc_issuer", "oidc_client_id") for part in row]


def pending(request: HttpRequest, *, at: datetime) -> Pending | None:
    """The user waiting for the second step in this browser. A new password, a lost right to log in and a change of the
    provider end the wait."""
    saved: dict[str, Any] | None = request.session.get(KEY)
    if saved is None or at.timestamp() - saved["at"] > PATIENCE.total_seconds():
        return None
    user = User.objects.filter(pk=saved["user"], is_active=True, is_staff=True).first()
    if user is None or not constant_time_compare(saved["password"], user.get_session_auth_hash()):
        return None
    if saved["brand"] is not None and (user.is_superuser or saved["provider"] != provider_of(saved["brand"])):
        return None
    return Pending(user, saved["brand"], saved["next"])


def finish(request: HttpRequest, waiting: Pending) -> None:
    """Log the user in after both steps."""
    sessions.begin(request, user=waiting.user, brand_id=waiting.brand_id, at=timezone.now())


def count_try(user: User, *, brand_id: int | None = None) -> None:
    """Count an attempt with a factor or password by an identified user.

    `brand_id` is the brand whose identity provider identified them: its logins do not use up attempts elsewhere.
    Raises RateLimited, and Unavailable while attempts cannot be counted.
    """
    rate_limits.hit(LIMIT, user.pk, brand_id or 0)


def has_proved(request: HttpRequest, *, at: datetime) -> bool:
    """Whether the user in this session proved their identity recently."""
    proved_at: float = request.session.get(sessions.KEY, {}).get("proved_at", 0)
    return at.timestamp() - proved_at < PROOF_LASTS.total_seconds()


def prove(request: HttpRequest, *, at: datetime) -> None:
    request.session[sessions.KEY] = {**request.session.get(sessions.KEY, {}), "proved_at": at.timestamp()}


def safe_address(request: HttpRequest, address: str) -> str:
    """`address` if it is on this site, else empty."""
    known = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if known else ""
