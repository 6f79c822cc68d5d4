"""The portal's language: a person's own choice, stored with their account, and before they log in a cookie's.

Without either the browser says it (core.languages). The choice is for what this person reads; what is stored or sent to
others stays English, or in the reader's language.
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

COOKIE_SECONDS = 400 * 86_400  # browsers keep none for longer


@dataclass(frozen=True, slots=True)
class Choice:
    """A language by its own name, as the select offers it."""

    code: str
    name: str
    is_current: bool


def choices() -> list[Choice]:
    current = get_language()
    return [Choice(code, name, code == current) for code, name in settings.LANGUAGES]


def apply(request: HttpRequest) -> None:
    """Go on in the language that the person chose, wherever they chose it; core.languages began with the browser's."""
    if (chosen := getattr(request.user, "portal_language", "")) and is_own_session(request):
        languages.speak(chosen)


def is_own_session(request: HttpRequest) -> bool:
    """A brand's identity provider speaks for its brand, and not for the account: there the cookie decides alone."""
    return sessions.scope_of(request) is None


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Read the portal in the language that was sent, logged in or not; another text changes nothing."""
    address = steps.safe(request, request.POST.get("next", ""))
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
    """In this browser, for the pages before the login."""
    response.set_cookie(
        languages.PORTAL_COOKIE,
        language,
        max_age=COOKIE_SECONDS,
        path=languages.PORTAL,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )
