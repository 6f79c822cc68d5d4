"""Which websites' pages may read answers of the customer API: those of the brand's own web origins (CORS).

django-cors-headers has one list of origins for the installation. Here each brand has its own, and the brand is known
only from the key or token of a request, so an answer is given its header after the view has run.

A preflight carries neither key nor token. At a brand's hostname it is answered for that brand's origins. At any other
host it is answered for every valid web origin alike, so that nobody learns from it which origins are registered.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from django.core.exceptions import DisallowedHost
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from brands.identity import api_keys, authentication, tokens
from brands.models.credentials import ApiKey
from brands.tenants import request_brands
from core.db.statements import query
from core.errors import TokenInvalid
from core.web.web_origins import is_web_origin

# What customers and guests call. What only a brand's servers and staff call answers no other website.
CUSTOMER_API = re.compile(
    r"/api/v1/(?:auth/.*|customer(?:/.*)?|verify/.*|auth-codes/scan|auth-codes/validate|scans/.*|fake-reports"
    r"|legal-texts|brand/loyalty/campaign/event)"
)
METHODS = "GET, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, api-key, Idempotency-Key, If-None-Match, X-Request-ID, traceparent"
RESPONSE_HEADERS = "Content-Disposition, ETag, Retry-After, WWW-Authenticate, X-Request-ID"
PREFLIGHT_SECONDS = 3600  # how long a browser keeps the answer to a preflight
REMEMBERED_SECONDS = 10
MAX_REMEMBERED = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BrandOrigins:
    """A brand that a call names, by its Host header or (not `by_host`) by its credentials."""

    brand_id: int
    web_origins: list[str]
    by_host: bool


Names = tuple[bytes, int | None, str]  # by which a call names brands: the hash of its app key, an id, a hostname

FIND_WEB_ORIGINS = query("brands/access/sql/find_web_origins.sql", returns=BrandOrigins)
# The brands of each call's names, and until when they are believed.
_remembered: dict[Names, tuple[list[BrandOrigins], float]] = {}


class CrossOrigin:
    """Middleware: answers preflights of the customer API, and lets pages of a brand's web origins read its answers.

    Cookies are never allowed. A call from the service's own pages, or without an Origin header, asks no database here.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not CUSTOMER_API.fullmatch(request.path_info):
            return self.get_response(request)
        origin = request.META.get("HTTP_ORIGIN", "")
        host = host_of(request) if is_web_origin(origin) else ""
        if not host or origin == f"{request.scheme}://{host}":
            response = self.get_response(request)
        elif request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META:
            response = answer_preflight(origin, host)
        else:
            with request_brands.learning() as party:
                response = self.get_response(request)
            if may_read(request, response, origin, host, party.brand_ids):
                response["Access-Control-Allow-Origin"] = origin
                response["Access-Control-Expose-Headers"] = RESPONSE_HEADERS
        patch_vary_headers(response, ["Origin"])
        return response


def host_of(request: HttpRequest) -> str:
    """The hostname called, with its port; empty for one that Django goes on to refuse."""
    try:
        return request.get_host().lower()
    except DisallowedHost:
        return ""


def answer_preflight(origin: str, host: str) -> HttpResponse:
    response = HttpResponse(status=204)
    del response["Content-Type"]
    named = brands_of((b"", None, host))
    if named is not None and (not named or origin in named[0].web_origins):
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Allow-Methods"] = METHODS
        response["Access-Control-Allow-Headers"] = REQUEST_HEADERS
        response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    return response


def may_read(request: HttpRequest, response: HttpResponse, origin: str, host: str, brand_ids: set[int]) -> bool:
    """Whether the origin is registered for the one brand that the call's credentials and its answer name.

    An error tells of no brand: without credentials that name one, the brand whose hostname was called counts.
    """
    key = request.META.get("HTTP_API_KEY", "")
    ids = brand_ids or token_brand(request)
    if key.startswith(ApiKey.Kind.HUB) or len(ids) > 1:
        return False
    digest = api_keys.digest_of(key) if api_keys.SHAPE.fullmatch(key) else b""
    named = brands_of((digest, next(iter(ids), None), host))
    if named is None:
        return False
    by_credentials = [brand for brand in named if not brand.by_host]
    if not by_credentials and response.status_code >= 400:
        return bool(named) and origin in named[0].web_origins
    return len({brand.brand_id for brand in by_credentials}) == 1 and origin in by_credentials[0].web_origins


def token_brand(request: HttpRequest) -> set[int]:
    """The brand of an access token that has expired: a page that reads this error refreshes its token."""
    try:
        brand_id = tokens.signed_brand(authentication.bearer(request.META.get("HTTP_AUTHORIZATION", "")))
    except TokenInvalid:
        return set()
    return {brand_id}


def brands_of(names: Names) -> list[BrandOrigins] | None:
    """The brands that a call names, as they were some seconds ago at most; None while the database does not answer."""
    known = _remembered.get(names)
    if known and monotonic() < known[1]:
        return known[0]
    digest, brand_id, host = names
    hosts = {"host_and_port": host, "host": host.rpartition(":")[0] or host}
    try:
        rows = FIND_WEB_ORIGINS.all(digest=digest, brand_id=brand_id, at=timezone.now(), **hosts)
    except DatabaseError:  # what the view has answered must not be lost for this
        logger.warning("Web origins cannot be read: no page of another website can read this answer.")
        return None
    if len(_remembered) >= MAX_REMEMBERED:
        _remembered.clear()
    _remembered[names] = rows, monotonic() + REMEMBERED_SECONDS
    return rows


def reset() -> None:
    """Read every brand's web origins anew."""
    _remembered.clear()
