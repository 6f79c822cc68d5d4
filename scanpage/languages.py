"""The language of a page: the customer's choice, else the browser's preference, else English."""

from django.conf import settings
from django.http import HttpRequest

from core import languages

COOKIE = "page_language"
LANGUAGES = dict(settings.LANGUAGES)  # each under its own name


def language_of(request: HttpRequest) -> str:
    chosen = languages.supported(request.GET.get("lang", ""), request.COOKIES.get(COOKIE, ""))
    return chosen or languages.accepted(request.headers.get("Accept-Language", "")) or settings.LANGUAGE_CODE
