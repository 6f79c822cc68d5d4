"""Malformed headers are answered in the envelope, like any other bad request."""

import io
import json
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client
from django.test.client import ClientHandler

from core.web.middleware import ReadableContentTypes
from tests.support.api import Api

pytestmark = pytest.mark.django_db
SESSION = settings.SESSION_COOKIE_NAME
COOKIES = [
    f'{SESSION}="\\000"',
    f'{SESSION}="a\\000b"',
    f"{SESSION}=\x00",
    f"{SESSION}={'x' * 5000}",
    f"{SESSION}=\xff\xfe",
    f"{SESSION}=\x1b[31m",
    f'{SESSION}="unfinished',
    f"{SESSION}=a; {SESSION}=b; =; ;;; =x",
    "\xff",
    "=" * 4000,
    f'csrftoken="\\000"; {SESSION}=abc',
    f"{SESSION}=abc; messages=\x00; messages=[[",
]
CONTENT_TYPES = [
    "",
    "\x00",
    "\xff",
    "application",
    "application/",
    "/json",
    "application/json; charset=\x00",
    "application/json; charset=nonsense",
    "application/json; charset=rot13",
    "application/json; charset=idna",
    'application/json; charset="utf-8',
    "application/json; charset*=x''%ff",
    "application/json; charset*=utf-8''%ff; x*0*=%zz",
    "application/json;" + ";" * 4000,
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "multipart/form-data; boundary=\xff",
    "multipart/form-data; boundary*=nonsense''x",
    f"multipart/form-data; boundary={'x' * 5000}",
    "application/x-www-form-urlencoded; charset=nonsense",
    "text/plain; charset=base64",
]
ADDRESSES = ["auth/token", "verify/product/none", "auth-codes/validate", "customer/loyalty/points"]


@pytest.mark.parametrize("value", COOKIES, ids=lambda value: ascii(value)[:60])
def test_malformed_cookie_is_answered_in_the_envelope(api: Api, value: str) -> None:
    for method in ("GET", "POST"):
        for path in ADDRESSES:
            status, body = send(api, method, path, HTTP_COOKIE=value)
            assert status < 500, path
            assert body.get("error") or status == 200, path


@pytest.mark.parametrize("value", COOKIES, ids=lambda value: ascii(value)[:60])
def test_malformed_cookie_does_not_break_pages(api: Api, value: str) -> None:
    client = Client(raise_request_exception=False)
    for path in ("/admin/", "/admin/login/", "/s/none"):
        assert client.get(path, HTTP_COOKIE=value).status_code < 500, path


@pytest.mark.parametrize("value", CONTENT_TYPES, ids=lambda value: ascii(value)[:60])
def test_malformed_content_type_is_answered_in_the_envelope(api: Api, value: str) -> None:
    for path in ADDRESSES[:3]:
        for cookie in ("", f"{SESSION}=abc"):
            status, body = send(api, "POST", path, CONTENT_TYPE=value, HTTP_COOKIE=cookie)
            assert status < 500, path
            assert body.get("error") or status == 200, path


def send(api: Api, method: str, path: str, **environ: str) -> tuple[int, Any]:
    """Send raw headers, which the test client would not send."""
    body = b'{"code": "A"}'
    wsgi_environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": f"/api/v1/{path}",
        "REMOTE_ADDR": api.address,
        "SERVER_NAME": "testserver",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **environ,
    }
    setup_testing_defaults(wsgi_environ)
    wsgi_environ["HTTP_HOST"] = "testserver"
    handler = ClientHandler()
    answer: Any = ReadableContentTypes(lambda sent, _start: handler(sent))(wsgi_environ, print)
    return answer.status_code, json.loads(answer.content)


def test_control_django_itself_raises_an_error_for_a_malformed_content_type() -> None:
    with pytest.raises(ValueError, match="RFC 2231"):
        WSGIRequest({"REQUEST_METHOD": "POST", "CONTENT_TYPE": "a/b; x*=nonsense''y", "wsgi.input": io.BytesIO()})
