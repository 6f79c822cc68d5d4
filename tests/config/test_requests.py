"""Every request gets an id; one that PostgreSQL could not even be asked about goes no further."""

import re

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from config import api
from config.requests import Messages, Sessions, Users

pytestmark = pytest.mark.urls(__name__)

handler400, handler404 = api.handler400, api.handler404
urlpatterns = [
    path("api/codes/<str:code>", lambda _, code: HttpResponse(code)),
    path("api/id", lambda request: HttpResponse(request.request_id)),
]


def get(address, **headers):
    return Client().get(address, headers=headers)


@pytest.mark.parametrize("given", ["abc", "A-b_c.9", "x" * 64])
def test_callers_own_id_is_kept(given):
    response = get("/api/id", **{"X-Request-ID": given})

    assert response.content.decode() == response["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", " ", "x" * 65, "a b", "a\nb", "<script>", "é", "a;b", '"'])
def test_unusable_id_is_replaced(given):
    response = get("/api/id", **{"X-Request-ID": given})

    assert re.fullmatch("[0-9a-f]{32}", response["X-Request-ID"])


def test_every_request_gets_another_id():
    assert get("/api/id")["X-Request-ID"] != get("/api/id")["X-Request-ID"]


def test_errors_carry_the_id_too():
    response = get("/api/nothing", **{"X-Request-ID": "abc"})

    assert response.json()["request_id"] == response["X-Request-ID"] == "abc"


def test_address_with_a_nul_is_not_found():
    response = get("/api/codes/AB%00C", **{"X-Request-ID": "abc"})

    assert (response.status_code, response.json()["error"]) == (404, "NOT_FOUND")
    assert response["X-Request-ID"] == "abc"


def test_query_with_a_nul_is_not_valid():
    assert get("/api/id?cursor=%00").json()["error"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(("sent", "read"), [("%FF", "%FF"), ("%ED%A0%80", "%ED%A0%80"), ("%C3%A9", "é"), ("%25", "%")])
def test_bytes_that_are_no_text_stay_escaped(sent, read):
    assert get(f"/api/codes/{sent}").content.decode() == read


@pytest.mark.parametrize(
    ("address", "cookies", "has_session"),
    [("/api/v1/scans", {}, False), ("/api/v1/scans", {"sessionid": "x"}, True), ("/admin/", {}, True)],
)
def test_only_browsers_get_a_session(rf, settings, address, cookies, has_session):
    settings.SESSION_COOKIE_NAME = "sessionid"
    rf.cookies.load(cookies)
    view = Sessions(Users(Messages(lambda request: HttpResponse(f"{hasattr(request, 'session')}"))))

    assert view(rf.get(address)).content.decode() == str(has_session)
