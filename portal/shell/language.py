"""The portal's language: the user's own choice, stored with their account; before the login, a cookie.

Without either, the browser's language is used (core.languages). The choice only affects what this user reads; texts
that are stored or sent to others stay in English, or in the recipient's language.
"""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import get_language
from django.views.decorators.http import require_POST

from brands.models.people import User
from brands.staff_login import sessions, staff, steps
from core import languages
from core.db import row_guard

COOKIE_SECONDS = 400 * 86_400  # the maximum that browsers allow


@dataclass(frozen=True, slots=True)
class Choice:
    """A language under its own name, as an option of the select."""

    code: str
    name: str
    is_current: bool


def choices() -> list[Choice]:
    current = get_language()
    return [Choice(code, name, code == current) for code, name in settings.LANGUAGES]


def apply(request: HttpRequest) -> None:
    """Switch to the language that the user chose on any device; core.languages began with the browser's."""
    if (chosen := getattr(request.user, "portal_language", "")) and is_own_session(request):
        languages.activate(chosen)


def is_own_session(request: HttpRequest) -> bool:
    """False for a session of a brand's identity provider, which does not vouch for the account: its cookie decides."""
    return sessions.scope_of(request) is None


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Set the submitted language, with or without a login; an unknown one changes nothing."""
    address = steps.safe_address(request, request.POST.get("next", ""))
    response = redirect(address if address.startswith(languages.PORTAL) else "admin:index")
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return response
    if isinstance(request.user, User) and request.user.is_staff and is_own_session(request):
        with row_guard.disabled("a person's own language is no brand's"):
            staff.set_language(user=request.user, language=language)
    remember(request, response, language)
    return response


def remember(request: HttpRequest, response: HttpResponse, language: str) -> None:
    """Store the choice in this browser, for the pages before the login."""
    response.set_cookie(
        languages.PORTAL_COOKIE,
        language,
        max_age=COOKIE_SECONDS,
        path=languages.PORTAL,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )
