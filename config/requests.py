"""What happens to every request before anything else: it gets an id, and hopeless ones go no further."""

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from config.api import handler400, handler404

SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class TracedRequest(HttpRequest):
    """A request that went through RequestId."""

    request_id: str


class RequestId:
    """Gives each request the id that its answer, its errors and the logs carry; the caller's own where it is sane."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: TracedRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request.request_id = given if SANE_ID.fullmatch(given) else uuid4().hex
        response = refusal(request) or self.get_response(request)
        response["X-Request-ID"] = request.request_id
        return response


def refusal(request: HttpRequest) -> HttpResponse | None:
    """PostgreSQL has no NUL character: what holds one names nothing, and asking would be an error."""
    if "\0" in request.path_info:
        return handler404(request)
    if "%00" in request.META.get("QUERY_STRING", ""):
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
