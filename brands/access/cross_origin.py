"""Allows pages of a brand's own web origins to read answers of the customer API (CORS).

django-cors-headers has one list of origins for the installation. Here each brand has its own, and only the key or
token of a request identifies the brand, so the header is added after the view has run.

A preflight carries neither key nor token. At a brand's hostname it is answered for that brand's origins. At any
other host it is answered for every valid web origin alike, so that it does not reveal which origins are registered.
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

# The endpoints for customers and guests. Those for a brand's servers and staff are not open to other websites.
CUSTOMER_API = re.compile(
    r"/api/v1/(?:auth/.*|customer(?:/.*)?|verify/.*|auth-codes/scan|auth-codes/validate|scans/.*|fake-reports"
    r"|legal-texts|brand/loyalty/campaign/event)"
)
METHODS = "GET, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, api-key, Idempotency-Key, If-None-Match, X-Request-ID, traceparent"
RESPONSE_HEADERS = "Content-Disposition, ETag, Retry-After, WWW-Authenticate, X-Request-ID"
PREFLIGHT_SECONDS = 3600  # how long a browser caches the answer to a preflight
REMEMBERED_SECONDS = 10
MAX_REMEMBERED = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BrandOrigins:
    """A brand that a call identifies by its Host header or, if not `by_host`, by its credentials."""

    brand_id: int
    web_origins: list[str]
    by_host: bool


Names = tuple[bytes, int | None, str]  # what identifies a call's brands: the hash of its app key, an id, a hostname

FIND_WEB_ORIGINS = query("brands/access/sql/find_web_origins.sql", returns=BrandOrigins)
# The brands of each call's names, and until when the entry is valid.
_remembered: dict[Names, tuple[list[BrandOrigins], float]] = {}


class CrossOrigin:
    """Middleware: answers preflights of the customer API, and lets pages of a brand's web origins read its answers.

    Cookies are never allowed. A call from the service's own pages, or without an Origin header, runs no query here.
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
    """The called hostname with its port. Empty for a host that Django will reject."""
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
    """Whether the origin is registered for the one brand that the call's credentials and its answer identify.

    An error identifies no brand: without credentials of one, the brand with the called hostname counts.
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
    """The brand of an expired access token: a page that reads this error refreshes its token."""
    try:
        brand_id = tokens.signed_brand(authentication.bearer(request.META.get("HTTP_AUTHORIZATION", "")))
    except TokenInvalid:
        return set()
    return {brand_id}


def brands_of(names: Names) -> list[BrandOrigins] | None:
    """The brands that a call identifies, up to some seconds old. None while the database does not answer."""
    known = _remembered.get(names)
    if known and monotonic() < known[1]:
        return known[0]
    digest, brand_id, host = names
    hosts = {"host_and_port": host, "host": host.rpartition(":")[0] or host}
    try:
        rows = FIND_WEB_ORIGINS.all(digest=digest, brand_id=brand_id, at=timezone.now(), **hosts)
    except DatabaseError:  # the view's answer must not be lost because of this
        logger.warning("Web origins cannot be read: no page of another website can read this answer.")
        return None
    if len(_remembered) >= MAX_REMEMBERED:
        _remembered.clear()
    _remembered[names] = rows, monotonic() + REMEMBERED_SECONDS
    return rows


def reset() -> None:
    """Clear the cache, so that every brand's web origins are read again."""
    _remembered.clear()
