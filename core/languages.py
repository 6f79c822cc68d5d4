"""In which language a customer is answered: what the request names, else their own, else their brand's, else English.

What the request asks for is in its header. The other two are in the database, and are read only when an answer turns
out to have a text that depends on them.

Pages of the portal begin in the language of a cookie or of the browser; portal.shell.language goes on in the one that
the person chose.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.module_loading import import_string
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header

from core.numbers import grouped

MAX_HEADER_LENGTH = 500
# Whom the API answers in their own language; what is below the second speaks to a brand's programs and staff.
CUSTOMER_API, BRAND_API = "/api/v1/", "/api/v1/brand/"
PORTAL = "/admin/"
PORTAL_COOKIE = "portal_language"  # chosen on the page to log in, or by the last person who chose at this browser


@dataclass(slots=True)
class Negotiation:
    """What is known of one request: its `language` ("" until it is decided), and whose own language would count."""

    language: str
    brand_id: int | None = None
    user_id: int | None = None
    is_translated: bool = False  # the answer has a text in that language


_current: ContextVar[Negotiation | None] = ContextVar("language_negotiation", default=None)


def supported(*tags: str) -> str:
    """The first of our languages that these language tags name; "" where they name none."""
    for tag in tags:
        try:
            return get_supported_language_variant(tag)
        except LookupError:
            continue
    return ""


def accepted(header: str) -> str:
    """The language of ours that an Accept-Language header prefers; "" where it names none."""
    return supported(*(tag for tag, _quality in parse_accept_lang_header(header[:MAX_HEADER_LENGTH].lower())))


@contextmanager
def negotiated(header: str) -> Iterator[Negotiation]:
    """Answer one request, with this Accept-Language header, in its language."""
    negotiation = Negotiation(accepted(header))
    before = _current.set(negotiation)
    spoken_before = translation.get_language()
    try:
        speak(negotiation.language or settings.LANGUAGE_CODE)
        yield negotiation
    finally:
        _current.reset(before)
        speak(spoken_before)


@contextmanager
def spoken(language: str) -> Iterator[None]:
    """Speak it within the block, which may go on in another one; afterwards what was spoken before."""
    before = translation.get_language()
    try:
        speak(language)
        yield
    finally:
        speak(before)


def of_portal(request: HttpRequest) -> str:
    """In which language a page of the portal begins, before it is known who asks."""
    chosen = request.COOKIES.get(PORTAL_COOKIE, "")
    if chosen in dict(settings.LANGUAGES):
        return chosen
    return accepted(request.META.get("HTTP_ACCEPT_LANGUAGE", "")) or settings.LANGUAGE_CODE


def speak(language: str | None) -> None:
    """As translation.activate, which costs more than to see that nothing changes."""
    if language != translation.get_language():
        if language is None:
            translation.deactivate_all()
        else:
            translation.activate(language)


def concern(*, brand_id: int, user_id: int | None = None) -> None:
    """The request comes from this brand's app, or from this customer of the brand."""
    if negotiation := _current.get():
        negotiation.brand_id = brand_id
        negotiation.user_id = user_id or negotiation.user_id


def use(language: str) -> None:
    """Answer in this language where the request names none: the customer's own was read with other things."""
    negotiation = _current.get()
    if negotiation and not negotiation.language:
        negotiation.language = language or settings.LANGUAGE_CODE
        translation.activate(negotiation.language)


def use_english() -> None:
    """Answer in English whatever the request asks for: it comes from a brand's program."""
    if negotiation := _current.get():
        negotiation.language = settings.LANGUAGE_CODE
        translation.activate(negotiation.language)


def decide() -> str:
    """The language of the answer, which has a text in it. Reads the customer's own once, where nothing else says it."""
    negotiation = _current.get()
    if negotiation is None:
        return translation.get_language() or settings.LANGUAGE_CODE
    if not negotiation.language and negotiation.brand_id is not None:
        use(reader()(negotiation.brand_id, negotiation.user_id))
    negotiation.is_translated = True
    return negotiation.language or settings.LANGUAGE_CODE


def mark_translated() -> None:
    """The answer has a text in the language that is known by now."""
    if negotiation := _current.get():
        negotiation.is_translated = True


def filled(message: str, **values: Any) -> str:
    """A translatable message, marked with gettext_noop, in the language of the answer and with its values."""
    decide()
    return translation.gettext(message) % values


def translated(text: str) -> str:
    """One of our texts, in English because it was stored or made before the language was decided on, in the language
    that is spoken."""
    return translation.gettext(text) if text.strip() else text


class _Number(int):
    """%(name)d writes its digits alone, %(name)s separates the thousands as the language does."""

    def __str__(self) -> str:
        return grouped(int(self))


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text of ours that is stored, with values in it: the English `message`, marked with gettext_noop, and whole
    numbers or names, as JSON takes them. As str it is in the language that is spoken."""

    message: str
    values: Mapping[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = translated(self.message)
        if not self.values:
            return text
        return text % {name: _Number(value) if isinstance(value, int) else value for name, value in self.values.items()}


def in_english() -> AbstractContextManager[None]:
    """For what is stored or sent to others: it is English in whatever language the person reads who causes it.

    A sentence that is stored is marked with gettext_noop; this is for names and labels that come with it.
    """
    return translation.override(settings.LANGUAGE_CODE)


@cache
def reader() -> Callable[[int, int | None], str]:
    """Reads the language of a customer, or of a brand's customers, from the database."""
    function: Callable[[int, int | None], str] = import_string(settings.CUSTOMER_LANGUAGE)
    return function


class Languages:
    """Middleware: the customer API answers in the language of the request, the portal in its reader's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path.startswith(PORTAL):
            return self.answer_of_portal(request)
        if not path.startswith(CUSTOMER_API) or path.startswith(BRAND_API):
            return self.get_response(request)
        with negotiated(request.META.get("HTTP_ACCEPT_LANGUAGE", "")) as negotiation:
            response = self.get_response(request)
            if negotiation.is_translated:
                response.headers["Content-Language"] = negotiation.language or settings.LANGUAGE_CODE
                patch_vary_headers(response, ["Accept-Language"])
            return response

    def answer_of_portal(self, request: HttpRequest) -> HttpResponse:
        with spoken(of_portal(request)):
            response = self.get_response(request)
            if response.headers.get("Content-Type", "").startswith(("text/html", "text/javascript")):
                response.headers["Content-Language"] = translation.get_language() or settings.LANGUAGE_CODE
                patch_vary_headers(response, ["Accept-Language", "Cookie"])
            return response
