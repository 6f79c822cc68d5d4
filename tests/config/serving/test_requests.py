"""Every request gets an id; one with text that PostgreSQL cannot process is rejected early."""

import re

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from brands.staff_login.session_middleware import Messages, Sessions, Users
from core.api import exception_handler
from core.observability import tracing

pytestmark = pytest.mark.urls(__name__)

handler400, handler404 = exception_handler.handler400, exception_handler.handler404
urlpatterns = [
    path("api/codes/<str:code>", lambda _, code: HttpResponse(code)),
    path("api/id", lambda request: HttpResponse(request.request_id)),
    path("api/callers-id", lambda _: HttpResponse(tracing.ids()["caller_request_id"])),
]


def get(address, **headers):
    return Client().get(address, headers=headers)


GENERATED_ID = re.compile("[0-9a-f]{32}")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    "sent_id", ["", " ", "abc", "A-b_c.9", "x" * 64, "x" * 65, "a b", "<script>", "é", '"', "0" * 32]
)
def test_request_id_is_always_generated_by_the_service(sent_id):
    response = get("/api/id", **{"X-Request-ID": sent_id, "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})

    assert GENERATED_ID.fullmatch(response["X-Request-ID"])
    assert response["X-Request-ID"] not in {sent_id, TRACE}
    assert response.content.decode() == response["X-Request-ID"]


@pytest.mark.parametrize(
    ("headers", "logged"),
    [
        ({"X-Request-ID": "A-b_c.9"}, "A-b_c.9"),
        ({"X-Request-ID": "x" * 64}, "x" * 64),
        ({"X-Request-ID": "x" * 65}, ""),
        ({"X-Request-ID": "a b"}, ""),
        ({"X-Request-ID": "a\nb"}, ""),
        ({"X-Request-ID": "<script>"}, ""),
        ({"X-Request-ID": "hub_abcdefghijklmnopqrstuvwxyz"}, ""),
        ({"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, TRACE),
        ({"traceparent": "00-nonsense"}, ""),
        ({}, ""),
    ],
)
def test_valid_request_id_of_the_caller_is_logged_as_well(headers, logged):
    response = get("/api/callers-id", **headers)

    assert response.content.decode() == logged


def test_every_request_gets_a_different_id():
    assert get("/api/id")["X-Request-ID"] != get("/api/id")["X-Request-ID"]


def test_errors_have_the_request_id():
    response = get("/api/nothing")

    assert GENERATED_ID.fullmatch(response["X-Request-ID"])
    assert response.json()["request_id"] == response["X-Request-ID"]


def test_path_with_a_nul_is_not_found():
    response = get("/api/codes/AB%00C")

    assert (response.status_code, response.json()["error"]) == (404, "NOT_FOUND")
    assert GENERATED_ID.fullmatch(response["X-Request-ID"])


def test_query_with_a_nul_is_rejected():
    assert get("/api/id?cursor=%00").json()["error"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("sent", "decoded"), [("%FF", "%FF"), ("%ED%A0%80", "%ED%A0%80"), ("%C3%A9", "é"), ("%25", "%")]
)
def test_path_bytes_that_are_not_utf_8_stay_escaped(sent, decoded):
    assert get(f"/api/codes/{sent}").content.decode() == decoded


@pytest.mark.parametrize(
    ("address", "cookies", "has_session"),
    [("/api/v1/scans", {}, False), ("/api/v1/scans", {"sessionid": "x"}, True), ("/admin/", {}, True)],
)
def test_session_is_added_only_for_pages_and_session_cookies(rf, settings, address, cookies, has_session):
    settings.SESSION_COOKIE_NAME = "sessionid"
    rf.cookies.load(cookies)
    view = Sessions(Users(Messages(lambda request: HttpResponse(f"{hasattr(request, 'session')}"))))

    assert view(rf.get(address)).content.decode() == str(has_session)
