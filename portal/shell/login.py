"""The portal's login form. Its password attempts are counted separately from the API's logins."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.identity import login_records, login_throttle
from brands.identity.login_throttle import Attempt
from brands.models.people import User
from brands.staff_login import steps
from core.db import row_guard
from core.errors import DomainError
from core.redis import rate_limits
from core.web import client_address
from portal.shell import language
from portal.unfold import AuthenticationForm

DEVICE_COOKIE = "portal_device"


class LoginForm(AuthenticationForm):
    """Named in settings.UNFOLD["LOGIN"]["form"]."""

    def clean(self) -> dict[str, Any]:
        assert self.request is not None  # noqa: S101 - the site always passes it
        try:
            attempt = begin(self.request, self.cleaned_data.get("username", ""))
        except DomainError as error:
            raise ValidationError(error.message) from error
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            failed(self.request, attempt)
            raise
        attempt.succeeded()
        return cleaned


def form_page(request: HttpRequest) -> str:
    """The page of the submitted form: many are posted to an address that cannot be reloaded."""
    sent_from = urlsplit(steps.safe_address(request, request.headers.get("Referer", "")))
    within = sent_from.path.startswith(reverse("admin:index"))
    return sent_from._replace(scheme="", netloc="", fragment="").geturl() if within else request.get_full_path()


def begin(request: HttpRequest, email: str) -> Attempt:
    """Count a password attempt at the portal. Call before checking the password. Raises RateLimited and Unavailable."""
    network = client_address.client_address(request)
    rate_limits.hit("login", "portal", network)
    device = request.COOKIES.get(DEVICE_COOKIE, "")
    return login_throttle.begin(endpoint=login_throttle.PORTAL, email=email, network=network, device=device)


def failed(request: HttpRequest, attempt: Attempt) -> None:
    """The password was wrong, or there is no such account."""
    login_records.failed(attempt=attempt, brand=None, at=timezone.now(), request_id=_request_id(request))


def succeeded(request: HttpRequest, response: HttpResponse, user: User, *, brand_id: int | None = None) -> HttpResponse:
    """Record a completed login, and mark this device as known, so that it can log in however often others guess.

    `brand_id` is the brand whose identity provider logged the user in. It only vouches for its brand, so the device
    does not become known, and no other brand's log records the login. Returns `response`.
    """
    context = AuditContext(user, timezone.now(), _request_id(request))
    with row_guard.disabled("logins belong to no brand"):
        login_records.logged_in(user=user, audit_context=context, brand_id=brand_id)
    if brand_id is None:
        response.set_cookie(
            DEVICE_COOKIE,
            login_throttle.make_device(user),
            max_age=int(login_throttle.DEVICE_LIFE.total_seconds()),
            path="/admin/",
            httponly=True,
            samesite="Lax",
            secure=request.is_secure(),
        )
        if user.portal_language:
            language.remember(request, response, user.portal_language)
    return response


def _request_id(request: HttpRequest) -> str:
    return getattr(request, "request_id", "")
