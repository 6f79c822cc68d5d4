"""The first steps for every request: it gets an id, and requests that cannot succeed are answered at once."""

import codecs
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from time import perf_counter
from typing import Any
from urllib.parse import unquote_plus
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_header_parameters

from core.api.exception_handler import handler400, handler404, handler503
from core.errors import Invalid
from core.http.client import LOOP_NAME
from core.observability import metrics
from core.observability.log_format import cleaned
from core.observability.tracing import TraceContext

SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# W3C Trace Context: version, trace, span, flags.
TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
# These callers use an address instead of a hostname, and the answers depend on neither.
PROBES = {"/healthz", "/readyz", "/metrics"}
NOWHERE = "(none)"
TURNED_AWAY = "loyalty.turned_away"  # in the environ: why config.serving.admission has no thread for the request
API = "/api/v1/"

activity = logging.getLogger("activity")  # a line for every request, if settings.LOG_ACTIVITY is on


class TracedRequest(HttpRequest):
    """A request that went through RequestId."""

    request_id: str


class RequestId:
    """Counts each request and gives it an id of our own, for its answer, errors, events, audit entries and logs.

    A caller's own id only appears in the log lines of this request: if callers could choose the id of an audit entry
    or an event, they could choose that of another user's request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: TracedRequest) -> HttpResponse:
        began = perf_counter()
        request.request_id = uuid4().hex
        if request.path_info in PROBES:
            request.get_host = lambda: "localhost"  # type: ignore[method-assign]
        callers = callers_id(request.META)
        with TraceContext("request", "", request_id=request.request_id, caller_request_id=callers) as work:
            response = rejection(request) or self.get_response(request)
            response["X-Request-ID"] = request.request_id
            match = request.resolver_match  # None if no route matches
            view = match.route if match else NOWHERE
            work.name = f"{request.method} {view}"
            seconds = perf_counter() - began
            metrics.answered(view=view, method=request.method, status=response.status_code, seconds=seconds)
            if activity.isEnabledFor(logging.INFO):
                fields = {"status": response.status_code, "milliseconds": round(seconds * 1000, 1)}
                activity.info("%s", work.name, extra={"log_fields": fields})
        return response


def callers_id(headers: Mapping[str, str]) -> str:
    """The caller's own id or trace id for this request. Empty if there is none, or if it is malformed or a secret."""
    if header := headers.get("HTTP_X_REQUEST_ID"):
        return header if SANE_ID.fullmatch(header) and cleaned(header) == header else ""
    trace = TRACEPARENT.fullmatch(headers.get("HTTP_TRACEPARENT", ""))
    return trace[1] if trace else ""


def rejection(request: HttpRequest) -> HttpResponse | None:
    """The answer to a request that goes no further; None for any other.

    There may be no thread for it. PostgreSQL has no NUL character: a name that contains one does not exist, and a
    query would raise an error. A call of our own that was directed back here would repeat itself for ever.
    """
    if text := request.META.get(TURNED_AWAY):
        return handler503(request, text)
    if "\0" in request.path_info:
        return handler404(request)
    if "%00" in (query := request.META.get("QUERY_STRING", "")):
        named = next(part for part in query.split("&") if "%00" in part).partition("=")[0]
        return handler400(request, Invalid(details={} if "%00" in named else {"field": unquote_plus(named)[:100]}))
    if LOOP_NAME in request.META.get("HTTP_CDN_LOOP", ""):
        return handler400(request, BadRequest())
    return None


class WholeBodies:
    """WSGI middleware: gives a chunked body the length that Django and DRF require to read it.

    It reads at most one byte past the limit; the check of the length then rejects the body.
    """

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # Without input_terminated, reading would block at the end of the body.
        if "HTTP_TRANSFER_ENCODING" in environ and environ.get("wsgi.input_terminated"):
            body = environ["wsgi.input"].read((settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) + 1)
            environ = {**environ, "wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        return self.application(environ, start_response)


class ReadableContentTypes:
    """WSGI middleware: replaces a Content-Type that Django cannot parse while it creates the request."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not is_readable(environ.get("CONTENT_TYPE", "")):
            environ = {**environ, "CONTENT_TYPE": "application/x-unreadable"}
        return self.application(environ, start_response)


def is_readable(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    try:
        _kind, parameters = parse_header_parameters(content_type)
        codecs.lookup(parameters.get("charset", "utf-8"))
    except LookupError:  # an unknown charset: Django uses its default, and the API's parsers reject it
        return True
    except ValueError:
        return False
    return True
