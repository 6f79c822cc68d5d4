"""Chooses the language for a customer: from the request, else the customer's own, else the brand's, else English.

The request names its language in a header. The customer's and the brand's are in the database, and are only read
when an answer contains a text that depends on them.

Pages of the portal start in the language of a cookie or of the browser; portal.shell.language then switches to the
language that the user chose.
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
# The first answers in the customer's language; paths below the second serve a brand's programs and staff.
CUSTOMER_API, BRAND_API = "/api/v1/", "/api/v1/brand/"
PORTAL = "/admin/"
PORTAL_COOKIE = "portal_language"  # chosen on the login page, or by the last user who chose in this browser


@dataclass(slots=True)
class Negotiation:
    """The state of one request: its `language` ("" until it is decided), and whose own language to use."""

    language: str
    brand_id: int | None = None
    user_id: int | None = None
    is_translated: bool = False  # the answer contains a text in that language


_current: ContextVar[Negotiation | None] = ContextVar("language_negotiation", default=None)


def supported(*tags: str) -> str:
    """The first supported language among these language tags; "" if there is none."""
    for tag in tags:
        try:
            return get_supported_language_variant(tag)
        except LookupError:
            continue
    return ""


def accepted(header: str) -> str:
    """The supported language that an Accept-Language header prefers; "" if there is none."""
    return supported(*(tag for tag, _quality in parse_accept_lang_header(header[:MAX_HEADER_LENGTH].lower())))


@contextmanager
def negotiated(header: str) -> Iterator[Negotiation]:
    """Run the block for one request with this Accept-Language header."""
    negotiation = Negotiation(accepted(header))
    before = _current.set(negotiation)
    language_before = translation.get_language()
    try:
        activate(negotiation.language or settings.LANGUAGE_CODE)
        yield negotiation
    finally:
        _current.reset(before)
        activate(language_before)


@contextmanager
def override(language: str) -> Iterator[None]:
    """Activate the language within the block, which may switch to another, and restore the previous one afterwards."""
    before = translation.get_language()
    try:
        activate(language)
        yield
    finally:
        activate(before)


def of_portal(request: HttpRequest) -> str:
    """The language in which a page of the portal starts, before the user is known."""
    chosen = request.COOKIES.get(PORTAL_COOKIE, "")
    if chosen in dict(settings.LANGUAGES):
        return chosen
    return accepted(request.META.get("HTTP_ACCEPT_LANGUAGE", "")) or settings.LANGUAGE_CODE


def activate(language: str | None) -> None:
    """As translation.activate, but cheaper if the language does not change."""
    if language != translation.get_language():
        if language is None:
            translation.deactivate_all()
        else:
            translation.activate(language)


def note_brand(*, brand_id: int, user_id: int | None = None) -> None:
    """Note that the request comes from this brand's app, or from this customer of the brand."""
    if negotiation := _current.get():
        negotiation.brand_id = brand_id
        negotiation.user_id = user_id or negotiation.user_id


def use(language: str) -> None:
    """Use this language if the request names none: the customer's own was read together with other data."""
    negotiation = _current.get()
    if negotiation and not negotiation.language:
        negotiation.language = language or settings.LANGUAGE_CODE
        translation.activate(negotiation.language)


def use_english() -> None:
    """Use English whatever the request names: it comes from a brand's program."""
    if negotiation := _current.get():
        negotiation.language = settings.LANGUAGE_CODE
        translation.activate(negotiation.language)


def decide() -> str:
    """The language of an answer that contains a text. Reads the customer's own once, if nothing else decides it."""
    negotiation = _current.get()
    if negotiation is None:
        return translation.get_language() or settings.LANGUAGE_CODE
    if not negotiation.language and negotiation.brand_id is not None:
        use(reader()(negotiation.brand_id, negotiation.user_id))
    negotiation.is_translated = True
    return negotiation.language or settings.LANGUAGE_CODE


def mark_translated() -> None:
    """Note that the answer contains a text in the language that was decided."""
    if negotiation := _current.get():
        negotiation.is_translated = True


def filled(message: str, **values: Any) -> str:
    """Translate a message, marked with gettext_noop, into the answer's language, and fill in its values."""
    decide()
    return translation.gettext(message) % values


def translated(text: str) -> str:
    """Translate a platform text, which was stored or created in English, into the active language."""
    return translation.gettext(text) if text.strip() else text


class _Number(int):
    """%(name)d writes plain digits, %(name)s groups the thousands as the language does."""

    def __str__(self) -> str:
        return grouped(int(self))


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored platform text with values: the English `message`, marked with gettext_noop, and whole numbers or names
    that JSON supports. str() translates it into the active language."""

    message: str
    values: Mapping[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = translated(self.message)
        if not self.values:
            return text
        return text % {name: _Number(value) if isinstance(value, int) else value for name, value in self.values.items()}


def in_english() -> AbstractContextManager[None]:
    """For texts that are stored or sent to others: they are English whatever the current user's language is.

    Stored sentences are marked with gettext_noop; this is for names and labels that come with them.
    """
    return translation.override(settings.LANGUAGE_CODE)


@cache
def reader() -> Callable[[int, int | None], str]:
    """The function that reads the language of a customer, or of a brand's customers, from the database."""
    function: Callable[[int, int | None], str] = import_string(settings.CUSTOMER_LANGUAGE)
    return function


class Languages:
    """Middleware: sets the request's language in the customer API, and the user's in the portal."""

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
        with override(of_portal(request)):
            response = self.get_response(request)
            if response.headers.get("Content-Type", "").startswith(("text/html", "text/javascript")):
                response.headers["Content-Language"] = translation.get_language() or settings.LANGUAGE_CODE
                patch_vary_headers(response, ["Accept-Language", "Cookie"])
            return response
