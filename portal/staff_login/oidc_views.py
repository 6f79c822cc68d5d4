"""The pages of a sign-in through a brand's identity provider: the redirect to it, and the return."""

import time
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands.models.people import User
from brands.staff_login import factors, oidc, policy, sessions, steps
from brands.staff_login.models import SignInSettings
from brands.staff_login.oidc import Attempt, Identity
from core.errors import DomainError, Forbidden
from core.redis import rate_limits
from core.web import client_address
from portal.shell import login, navigation
from portal.staff_login.pages import private, render_page

KEY = "oidc"
PATIENCE_SECONDS = 600


@private
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    """A brand's own sign-in address: redirects to its identity provider."""
    provider = provider_of(slug)
    try:
        rate_limits.hit("staff_oidc", provider.brand_id, client_address.client_address(request))
        redirect_uri = request.build_absolute_uri(reverse("admin:brand_sign_in_done", args=[slug]))
        attempt, page = oidc.begin(provider, redirect_uri=redirect_uri, at=time.time())
    except DomainError as error:
        return login_failed(request, provider, error)
    request.session[KEY] = attempt.as_json()
    return HttpResponseRedirect(page)


@private
@sensitive_variables()
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """The return from the provider. An attempt is valid once, and only for the brand that it was started for."""
    provider = provider_of(slug)
    try:
        rate_limits.hit("staff_oidc", provider.brand_id, client_address.client_address(request))
        identity = oidc.finish(provider, attempt_of(request), parameters=request.GET.dict())
        user = oidc.staff_with(identity.email, brand_id=provider.brand_id)
        if user is None:
            raise oidc.rejected()
        return log_in(request, provider, user, identity)
    except DomainError as error:
        return login_failed(request, provider, error)


def log_in(request: HttpRequest, provider: SignInSettings, user: User, identity: Identity) -> HttpResponse:
    """Log in to the provider's brand only. Raises Forbidden for a user who needs a second factor and has none."""
    brand_id = user.session_brand_id = provider.brand_id
    if not identity.has_second_factor and policy.requires_second_factor(user, brand_id=brand_id):
        if not factors.has_any(user):
            message = _("A second factor is required. Log in with your password once and set one up.")
            raise Forbidden(message)
        steps.save_first_step(request, user, brand_id=brand_id, next_address=navigation.first_page(user))
        return redirect("admin:second_factor")
    sessions.begin(request, user=user, brand_id=brand_id, at=timezone.now())
    return login.succeeded(request, redirect(navigation.first_page(user)), user, brand_id=brand_id)


def attempt_of(request: HttpRequest) -> Attempt:
    """Raises Forbidden if no attempt was started here recently."""
    saved: dict[str, Any] | None = request.session.pop(KEY, None)
    if saved is None or time.time() - saved["at"] > PATIENCE_SECONDS:
        raise oidc.rejected()
    return Attempt(**saved)


def provider_of(slug: str) -> SignInSettings:
    """An unknown brand and one without a provider result in the same 404."""
    provider = oidc.settings_of(slug)
    if provider is None:
        raise Http404
    return provider


def login_failed(request: HttpRequest, provider: SignInSettings, error: DomainError) -> HttpResponse:
    return render_page(request, "login_failed", title=_("Log in"), brand=provider.brand, message=error.message)
