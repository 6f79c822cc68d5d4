"""Calls of the public API from within the process, for browsers without scripts; others call it themselves."""

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils import translation

from core import languages

PREFIX = "/api/v1/"
# The customer's identity and address: the same limits must apply as to their own calls.
FORWARDED = (
    "REMOTE_ADDR",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_HOST",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "HTTP_USER_AGENT",
    "wsgi.url_scheme",
    "wsgi.errors",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The API's response: `content` as received, `body` its JSON object."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""
    content_type: str = ""

    @property
    def is_good(self) -> bool:
        return self.status < 400

    @property
    def is_temporary(self) -> bool:
        """An error for now: too many requests, or something is away."""
        return self.status == 429 or self.status >= 500

    @property
    def error(self) -> str:
        return str(self.body.get("error", ""))

    @property
    def data(self) -> Any:
        return self.body.get("data") if self.is_good else None


@dataclass(frozen=True, slots=True)
class Api:
    """The API as the page's customer calls it: with the page's app key and, when logged in, their access token."""

    request: HttpRequest
    key: str
    access: str = ""

    def get(self, path: str, **query: str) -> Answer:
        return self._call("GET", path, b"", "&".join(f"{name}={value}" for name, value in query.items()), "")

    def post(self, path: str, body: dict[str, Any], *, idempotency_key: str = "") -> Answer:
        return self._call("POST", path, json.dumps(body).encode(), "", idempotency_key)

    def patch(self, path: str, body: dict[str, Any]) -> Answer:
        return self._call("PATCH", path, json.dumps(body).encode(), "", "")

    def delete(self, path: str, body: dict[str, Any]) -> Answer:
        return self._call("DELETE", path, json.dumps(body).encode(), "", "")

    def _call(self, method: str, path: str, body: bytes, query: str, idempotency_key: str) -> Answer:
        environ = {name: self.request.META[name] for name in FORWARDED if name in self.request.META}
        environ |= {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": PREFIX + path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": "application/json" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": BytesIO(body),
            "HTTP_API_KEY": self.key,
            "HTTP_ACCEPT": "*/*",
            "HTTP_ACCEPT_LANGUAGE": translation.get_language() or "",
        }
        if self.access:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {self.access}"
        if idempotency_key:
            environ["HTTP_IDEMPOTENCY_KEY"] = idempotency_key
        return answered(WSGIRequest(environ), getattr(self.request, "request_id", ""))


def answered(request: WSGIRequest, request_id: str) -> Answer:
    """The response of the API's view; 404 for a path that cannot contain a code, such as one that is too long."""
    request.request_id = request_id  # type: ignore[attr-defined]
    try:
        result = resolve(request.path_info)
    except Resolver404:
        return Answer(404)
    request.resolver_match = result
    with languages.negotiated(request.META.get("HTTP_ACCEPT_LANGUAGE", "")):
        response = result.func(request, *result.args, **result.kwargs)
        if hasattr(response, "render"):
            response.render()
    content = b"".join(response.streaming_content) if response.streaming else bytes(response.content)
    kind = response.get("Content-Type", "")
    body = json.loads(content) if content and kind.startswith("application/json") else {}
    return Answer(response.status_code, body if isinstance(body, dict) else {"data": body}, content, kind)
