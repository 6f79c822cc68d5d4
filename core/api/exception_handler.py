"""The error envelope, and the mapping from exceptions to error responses."""

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from django.conf import settings
from django.core import exceptions as django_errors
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework import exceptions as drf_errors
from rest_framework.request import Request
from rest_framework.response import Response

from core import errors, languages
from core.api.json_codec import Json, Negotiation, StrictJson
from core.db.outages import LOCK_NOT_AVAILABLE, QUERY_CANCELED, sqlstate_of
from core.errors import CHALLENGE, DomainError

__all__ = ["Json", "Negotiation", "StrictJson", "answer_error", "csrf_failure"]

logger = logging.getLogger(__name__)

# Exceptions of Django and DRF, the domain error each becomes, and a better message if any. The first match wins.
KNOWN_ERRORS: list[tuple[type[Exception], type[DomainError], str]] = [
    (drf_errors.NotAuthenticated, errors.AuthenticationRequired, ""),
    (drf_errors.AuthenticationFailed, errors.TokenInvalid, gettext_noop("The credentials are not valid.")),
    (drf_errors.PermissionDenied, errors.Forbidden, ""),
    (django_errors.PermissionDenied, errors.Forbidden, ""),
    (drf_errors.NotFound, errors.NotFound, ""),
    (Http404, errors.NotFound, ""),
    (drf_errors.MethodNotAllowed, errors.MethodNotAllowed, ""),
    (drf_errors.NotAcceptable, errors.NotAcceptable, ""),
    (drf_errors.UnsupportedMediaType, errors.UnsupportedMediaType, ""),
    (drf_errors.Throttled, errors.RateLimited, ""),
    (drf_errors.ParseError, errors.Invalid, gettext_noop("The body cannot be read.")),
    (django_errors.RequestDataTooBig, errors.PayloadTooLarge, ""),
    (django_errors.DisallowedHost, errors.Invalid, gettext_noop("The Host header names no host of this service.")),
    (django_errors.SuspiciousOperation, errors.Invalid, ""),
    (django_errors.BadRequest, errors.Invalid, ""),
    (MultiPartParserError, errors.Invalid, gettext_noop("The form in the body cannot be read.")),
    (UnreadablePostError, errors.Invalid, gettext_noop("The body ended too early.")),
]
# SQLSTATE classes of a server that is gone, full, starting or stopping. Without an SQLSTATE, the connection failed.
SERVER_AWAY = ("08", "53", "57P")
DATABASE_RETRY_SECONDS = 5
# These responses run no query, not even for the customer's language: the database failed or is overloaded.
ASKS_NOTHING = {429, 500, 503}
TOO_SLOW = gettext_noop(
    "This took too long and was stopped. Ask for less: a shorter range of dates, one filter more, fewer rows. "
    "Or try again later."
)
BUSY_RETRY_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """The content of an error response. The members of `extra` are added to the envelope."""

    code: str
    status: int
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    retry_after: int | None = None  # whole seconds

    @classmethod
    def of(cls, kind: type[DomainError], message: str = "", **more: Any) -> Self:
        """The response for a domain error, with `message` instead of the default message if it is given."""
        return cls(kind.code, kind.status, message or str(kind.default_message), **more)

    @property
    def headers(self) -> dict[str, str]:
        result = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return {**result, "WWW-Authenticate": CHALLENGE} if self.status == 401 else result

    def envelope(self, request_id: str) -> dict[str, Any]:
        """The response body, with texts in the language of the request. The code and the names are never translated."""
        languages.mark_translated()
        return {
            "success": False,
            "error": self.code,
            "message": in_language(self.message),
            "request_id": request_id,
            "details": {name: in_language(each) if name == "fields" else each for name, each in self.details.items()},
            **self.extra,
        }


def in_language(detail: Any) -> Any:
    """Translate error messages, which may be nested in lists and dicts, into the language of the request."""
    if isinstance(detail, dict):
        return {name: in_language(each) for name, each in detail.items()}
    if isinstance(detail, list):
        return [in_language(each) for each in detail]
    return languages.translated(detail) if isinstance(detail, str) else detail


INTERNAL_ERROR = Problem.of(errors.InternalError)


def answer_error(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler. Returns None for a bug: Django then logs it and calls handler500."""
    problem = problem_of(error)
    if problem is None:
        return None
    if problem.status not in ASKS_NOTHING:
        languages.decide()
    return Response(problem.envelope(request_id(context["request"])), status=problem.status, headers=problem.headers)


def problem_of(error: BaseException | None) -> Problem | None:
    """Map any exception to an error response. Returns None for a bug."""
    if isinstance(error, DomainError):
        extra, retry_after = getattr(error, "extra", {}), getattr(error, "retry_after", None)
        return Problem(error.code, error.status, error.message, error.details, extra, retry_after)
    if isinstance(error, drf_errors.ValidationError):
        fields = error.detail if isinstance(error.detail, dict) else {"non_field_errors": error.detail}
        return Problem.of(errors.Invalid, first_sentence(error.detail), details={"fields": fields})
    if isinstance(error, OperationalError) and (message := unavailable(error)):
        return Problem.of(errors.Unavailable, message, retry_after=DATABASE_RETRY_SECONDS)
    known = next((entry for entry in KNOWN_ERRORS if isinstance(error, entry[0])), None)
    return Problem.of(known[1], known[2], retry_after=getattr(error, "wait", None)) if known else None


def unavailable(error: OperationalError) -> str:
    """The message for a database that will answer later. Empty if the statement itself is wrong."""
    state = sqlstate_of(error)
    if state is None or state.startswith(SERVER_AWAY):
        logger.error("The database does not answer: %s", error)
        return _("The service cannot answer right now. Try again.")
    if state == LOCK_NOT_AVAILABLE:
        logger.warning("A lock was not to be had in time: %s", error)
        return _("A large change is going on that this has to wait for. Nothing was done. Try again.")
    if state == QUERY_CANCELED:
        logger.warning("A statement took too long and was cancelled.")
        return TOO_SLOW
    return ""


def first_sentence(detail: Any, path: str = "") -> str:
    """The first error message of a serializer, after the path of its field: `product.authCode: This field is ...`"""
    if isinstance(detail, dict) and detail:
        name, inner = next(iter(detail.items()))
        return first_sentence(inner, path if name == "non_field_errors" else f"{path}.{name}".lstrip("."))
    if isinstance(detail, list) and any(detail):
        return first_sentence(next(filter(None, detail)), path)
    return f"{path}: {detail}" if path else str(detail)


def request_id(request: HttpRequest | Request) -> str:
    """The id that RequestId gave the request. Empty if the request never reached that middleware."""
    return getattr(request, "request_id", "")


def handler400(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, problem_of(exception) or Problem.of(errors.Invalid))


def handler403(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    return answer(request, Problem.of(errors.Forbidden))


def handler404(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    return answer(request, Problem.of(errors.NotFound))


def handler500(request: HttpRequest) -> HttpResponse:
    """The response to an unhandled exception. Django logs the traceback, with the note, afterwards."""
    error = sys.exception()
    if error:
        error.add_note(f"Request id: {request_id(request)}")
    return answer(request, problem_of(error) or INTERNAL_ERROR)


class DatabaseErrors:
    """Middleware: answers temporary database errors, also those raised while a page is rendered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        problem = problem_of(error) if isinstance(error, OperationalError) else None
        return answer(request, problem) if problem else None


def handler503(request: HttpRequest, text: str) -> HttpResponse:
    """The response to a request that was turned away because of overload."""
    return answer(request, Problem.of(errors.Unavailable, text, retry_after=BUSY_RETRY_SECONDS))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - Django's signature
    message = "This form is too old or came from elsewhere. Load it again."
    return answer(request, Problem.of(errors.Forbidden, message), page="csrf.html")


def answer(request: HttpRequest, problem: Problem, *, page: str = "") -> HttpResponse:
    """The envelope for programs, a page for browsers. Neither queries the database, which may have failed."""
    status, headers = problem.status, problem.headers
    if wants_json(request):
        body = Json().render(problem.envelope(request_id(request)))
        return HttpResponse(body, content_type=Json.media_type, status=status, headers=headers)
    page = page or (f"{status}.html" if status in {400, 403, 404, 503} else "500.html" if status >= 500 else "400.html")
    message = {"message": problem.message, "request_id": request_id(request), **ways_on(request)}
    return HttpResponse(render_to_string(page, message), status=status, headers=headers)


def ways_on(request: HttpRequest) -> dict[str, Any]:
    """The links of an error page, and the people to ask, if the portal has put them on the request. Only the path of
    the address is used: the query may contain anything."""
    if not request.path.startswith("/admin/"):
        return {}
    login = f"{reverse('admin:login')}?{urlencode({'next': request.path})}"
    is_logged_in = settings.SESSION_COOKIE_NAME in request.COOKIES
    return {
        "home": reverse("admin:index"),
        "path": request.path,
        "login": "" if is_logged_in else login,
        "people": getattr(request, "people_to_ask", ()),
    }


def wants_json(request: HttpRequest) -> bool:
    if request.path.startswith(("/api/", "/wallets/")) or request.path in {"/healthz", "/readyz"}:
        return True
    return request.get_preferred_type(["text/html", Json.media_type]) == Json.media_type
