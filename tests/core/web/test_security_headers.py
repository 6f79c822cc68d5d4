"""The Content-Security-Policy and other security headers: on every answer, and strict where no script is needed."""

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
    header = response["Content-Security-Policy"]
    return dict(directive.split(" ", 1) for directive in header.split("; "))


@pytest.mark.parametrize("url", ["/admin/", "/admin/login/", *map(address, LABELS)])
def test_portal_allows_only_its_own_scripts(brand: Brand, url: str) -> None:
    client = Client() if url == "/admin/login/" else browser(staff(brand))

    response = client.get(url)

    directives = policy(response)
    assert response.status_code == 200
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self' 'unsafe-eval'"
    assert directives["frame-ancestors"] == directives["base-uri"] == "'none'"
    assert directives["connect-src"] == directives["form-action"] == directives["font-src"] == "'self'"


@pytest.mark.parametrize("url", ["/admin/", "/admin/login/", "/api/docs", *map(address, LABELS)])
def test_pages_have_no_inline_script(brand: Brand, url: str) -> None:
    client = Client() if url == "/admin/login/" else browser(staff(brand))

    page = text(client.get(url))

    inline = [tag for tag in page.split("<script")[1:] if "src=" not in tag.split(">")[0]]
    assert [tag for tag in inline if 'type="application/json"' not in tag.split(">")[0]] == []
    assert "onclick=" not in page
    assert "javascript:" not in page


def test_api_docs_page_allows_no_eval() -> None:
    directives = policy(Client().get("/api/docs"))

    assert directives["script-src"] == directives["connect-src"] == "'self'"
    assert directives["default-src"] == "'none'"


@pytest.mark.parametrize(
    "url", ["/api/schema", "/api/docs?script=", "/api/v1/customer/loyalty/points", "/api/v1/nowhere", "/healthz"]
)
def test_api_answers_have_the_strictest_policy(url: str) -> None:
    assert policy(Client().get(url)) == STRICT


@pytest.mark.parametrize(
    ("url", "status"), [("/nowhere", 404), ("/admin/nowhere/", 404), ("/x%00", 404), ("/?a=%00", 400)]
)
def test_error_pages_load_nothing_and_have_one_style(url: str, status: int) -> None:
    client = browser(staff())

    response = client.get(url, headers={"accept": "text/html"})

    assert response.status_code == status
    assert policy(response) == {**STRICT, "style-src": f"'sha256-{style_of_errors()}'"}
    assert text(response).count("<style") == 1
    assert "<script" not in text(response)


def test_forbidden_page_of_the_portal_has_the_error_page_policy(brand: Brand) -> None:
    response = browser(staff(brand, role="support")).get(address("brands.apikey"), headers={"accept": "text/html"})

    assert response.status_code == 403
    assert policy(response)["default-src"] == "'none'"
    assert "script-src" not in policy(response)


@pytest.mark.parametrize("url", ["/admin/login/", "/api/v1/nowhere", "/api/docs", "/healthz"])
def test_other_security_headers_are_on_every_answer(url: str) -> None:
    response = Client().get(url)

    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response["Permissions-Policy"]


def test_view_may_set_its_own_security_headers() -> None:
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "sandbox", "Permissions-Policy": "camera=(self)"})

    response = SecurityHeaders(view)(RequestFactory().get("/"))

    assert response["Content-Security-Policy"] == "sandbox"
    assert response["Permissions-Policy"] == "camera=(self)"
