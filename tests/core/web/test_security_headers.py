"""The Content-Security-Policy and its companions: on every answer, strict where nothing is to be run."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from brands.models.tenants import Brand
from core.web.security_headers import SecurityHeaders, style_of_errors
from tests.support.portal import LABELS, address, browser, staff, text

pytestmark = pytest.mark.django_db
STRICT = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def policy(response: Any) -> dict[str, str]:
    found = response["Content-Security-Policy"]
    return dict(directive.split(" ", 1) for directive in found.split("; "))


@pytest.mark.parametrize("where", ["/admin/", "/admin/login/", *map(address, LABELS)])
def test_portal_runs_only_scripts_from_its_own_files(brand: Brand, where: str) -> None:
    client = Client() if where == "/admin/login/" else browser(staff(brand))

    response = client.get(where)

    found = policy(response)
    assert response.status_code == 200
    assert found["default-src"] == "'none'"
    assert found["script-src"] == "'self' 'unsafe-eval'"
    assert found["frame-ancestors"] == found["base-uri"] == "'none'"
    assert found["connect-src"] == found["form-action"] == found["font-src"] == "'self'"


@pytest.mark.parametrize("where", ["/admin/", "/admin/login/", "/api/docs", *map(address, LABELS)])
def test_pages_have_no_inline_script(brand: Brand, where: str) -> None:
    client = Client() if where == "/admin/login/" else browser(staff(brand))

    page = text(client.get(where))

    inline = [tag for tag in page.split("<script")[1:] if "src=" not in tag.split(">")[0]]
    assert [tag for tag in inline if 'type="application/json"' not in tag.split(">")[0]] == []
    assert "onclick=" not in page
    assert "javascript:" not in page


def test_try_out_page_evaluates_nothing() -> None:
    found = policy(Client().get("/api/docs"))

    assert found["script-src"] == found["connect-src"] == "'self'"
    assert found["default-src"] == "'none'"


@pytest.mark.parametrize(
    "where", ["/api/schema", "/api/docs?script=", "/api/v1/customer/loyalty/points", "/api/v1/nowhere", "/healthz"]
)
def test_programs_get_the_strictest(where: str) -> None:
    assert policy(Client().get(where)) == STRICT


@pytest.mark.parametrize(
    ("where", "status"), [("/nowhere", 404), ("/admin/nowhere/", 404), ("/x%00", 404), ("/?a=%00", 400)]
)
def test_error_pages_load_nothing_and_have_one_style(where: str, status: int) -> None:
    client = browser(staff())

    response = client.get(where, headers={"accept": "text/html"})

    assert response.status_code == status
    assert policy(response) == {**STRICT, "style-src": f"'sha256-{style_of_errors()}'"}
    assert text(response).count("<style") == 1
    assert "<script" not in text(response)


def test_forbidden_page_of_the_portal_is_an_error_page(brand: Brand) -> None:
    response = browser(staff(brand, role="support")).get(address("brands.apikey"), headers={"accept": "text/html"})

    assert response.status_code == 403
    assert policy(response)["default-src"] == "'none'"
    assert "script-src" not in policy(response)


@pytest.mark.parametrize("where", ["/admin/login/", "/api/v1/nowhere", "/api/docs", "/healthz"])
def test_companions_are_on_every_answer(where: str) -> None:
    response = Client().get(where)

    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response["Permissions-Policy"]


def test_view_that_says_otherwise_keeps_its_own() -> None:
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "sandbox", "Permissions-Policy": "camera=(self)"})

    response = SecurityHeaders(view)(RequestFactory().get("/"))

    assert response["Content-Security-Policy"] == "sandbox"
    assert response["Permissions-Policy"] == "camera=(self)"
