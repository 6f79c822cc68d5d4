"""What happens to every request before anything else: it gets an id, and hopeless ones go no further."""

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
# What asks these knows an address and no hostname, and their answers depend on neither.
PROBES = {"/healthz", "/readyz", "/metrics"}
NOWHERE = "(none)"
TURNED_AWAY = "loyalty.turned_away"  # in the environ: why config.serving.admission has no thread for the request
API = "/api/v1/"

activity = logging.getLogger("activity")  # a line for every request, where settings.LOG_ACTIVITY asks for it


class TracedRequest(HttpRequest):
    """A request that went through RequestId."""

    request_id: str


class RequestId:
    """Counts each request and gives it an id of our own, for its answer, errors, events, audit entries and logs.

    A caller's id stands beside it in the log lines of this request and nowhere else: who chose the id of an audit entry
    or an event could give it that of somebody else's request.
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
            match = request.resolver_match  # none where nothing was found
            view = match.route if match else NOWHERE
            work.name = f"{request.method} {view}"
            seconds = perf_counter() - began
            metrics.answered(view=view, method=request.method, status=response.status_code, seconds=seconds)
            if activity.isEnabledFor(logging.INFO):
                fields = {"status": response.status_code, "milliseconds": round(seconds * 1000, 1)}
                activity.info("%s", work.name, extra={"log_fields": fields})
        return response


def callers_id(headers: Mapping[str, str]) -> str:
    """What the caller, or its trace, calls this request; empty where it says nothing, nothing sane, or a secret."""
    if header := headers.get("HTTP_X_REQUEST_ID"):
        return header if SANE_ID.fullmatch(header) and cleaned(header) == header else ""
    trace = TRACEPARENT.fullmatch(headers.get("HTTP_TRACEPARENT", ""))
    return trace[1] if trace else ""


def rejection(request: HttpRequest) -> HttpResponse | None:
    """The answer to a request that goes no further; None for one that does.

    There may be no thread for it. PostgreSQL has no NUL character: what holds one names nothing, and asking would be an
    error. A call of our own that somebody led back here would cause itself again and again.
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
    """WSGI middleware: gives a chunked body the length that Django and DRF look for, or they would see none.

    One byte past the limit is read and no more; what counts the length then refuses it.
    """

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # Without input_terminated the server would leave us waiting at the body's end.
        if "HTTP_TRANSFER_ENCODING" in environ and environ.get("wsgi.input_terminated"):
            body = environ["wsgi.input"].read((settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) + 1)
            environ = {**environ, "wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        return self.application(environ, start_response)


class ReadableContentTypes:
    """WSGI middleware: a Content-Type that Django cannot parse, while it makes the request, becomes one of no use."""

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
    except LookupError:  # an unknown charset: Django takes its own, and the parsers of the API refuse it
        return True
    except ValueError:
        return False
    return True
