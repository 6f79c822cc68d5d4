"""In which language a page speaks: what the visitor chose, else what the browser asks for, else English."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header

COOKIE = "page_language"
LANGUAGES = dict(settings.LANGUAGES)  # each by its own name


def language_of(request: HttpRequest) -> str:
    requested = [request.GET.get("lang", ""), request.COOKIES.get(COOKIE, "")]
    requested += [
        tag for tag, _quality in parse_accept_lang_header(request.headers.get("Accept-Language", "")[:500].lower())
    ]
    for tag in requested:
        try:
            return get_supported_language_variant(tag)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
