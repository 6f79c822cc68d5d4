"""Attacks on the page: markup in names, forged forms, other hosts, frames, oversized codes."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from authcodes.models.scans import Scan
from brands.identity import tokens
from brands.models.credentials import LoginSession
from tests.scanpage.conftest import Browser, state, text, visible_html
from tests.support import factories
from tests.support.api import random_address
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
MARKUP = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}{% now %}"


def test_markup_in_names_is_escaped(brand, deliver_events):
    type(brand).objects.filter(pk=brand.pk).update(name=MARKUP)
    customer = factories.customer(brand, password=PASSWORD)
    factories.campaign(brand, campaign_name=MARKUP)
    code = factories.code(brand, product=factories.product(brand, title=MARKUP))
    browser = Browser(brand)

    pages = [browser.scan(code)]
    response = browser.log_in(pages[0], customer.email, PASSWORD)
    deliver_events()
    pages += [browser.get(response["Location"]), browser.get("/s/?account")]

    for page in pages:
        assert "<script>alert" not in text(page)
        assert "<img src=x" not in text(page)
        assert "&lt;script&gt;alert(1)" in text(page)
        assert "{{7*7}}" in text(page)


@pytest.mark.parametrize(
    "code", ["%3Cscript%3Ealert(1)%3C/script%3E", "%22onmouseover=alert(1)%20x=%22", "javascript:alert(1)", "a%27b"]
)
def test_markup_in_a_code_is_escaped(browser, code):
    for page in (browser.get(f"/s/{code}"), browser.get(f"/s/{code}?by=hand"), browser.scan(code)):
        assert page.status_code == 200
        assert "<script>alert" not in text(page)
        assert not re.search(r'<[^>]+"\s*onmouseover', text(page))
    assert 'href="javascript:' not in text(page)


def test_pages_have_no_inline_scripts_or_styles_and_strict_headers(brand):
    browser = Browser(brand)

    for page in (browser.get("/s/"), browser.scan(factories.code(brand)), browser.get("/s/?lang=ar")):
        assert re.findall(r"<script(?![^>]* src=)", text(page)) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", text(page)) == []
        policy = page["Content-Security-Policy"]
        assert "script-src 'self' 'wasm-unsafe-eval'" in policy
        assert "unsafe-inline" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page["X-Frame-Options"] == "DENY"
        assert page["X-Content-Type-Options"] == "nosniff"


def test_only_the_page_itself_may_use_camera_and_location(browser):
    assert browser.get("/s/")["Permissions-Policy"].startswith("camera=(self), geolocation=(self), ")
    assert "camera=()" in browser.get("/page/brand.css")["Permissions-Policy"]


ACTS = ["scan", "log_in", "register", "log_out", "redeem", "claim"]


@pytest.mark.parametrize("act", ACTS)
def test_form_without_a_csrf_token_does_nothing(brand, act):
    browser = Browser(brand)
    customer = factories.customer(brand, password=PASSWORD)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    form_data = {"act": act, "email": customer.email, "password": PASSWORD, "reward": "1"}

    response = browser.client.post(f"/s/{factories.code(brand)}", form_data)

    assert response.status_code == 403
    assert not Scan.objects.exists()
    assert LoginSession.objects.get().revoked_at is None


@pytest.mark.parametrize("act", ["access", "log_in", "log_out", "rejected"])
def test_session_request_without_a_csrf_token_gets_no_access_token(brand, act):
    browser = Browser(brand)
    customer = factories.customer(brand, password=PASSWORD)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)

    response = browser.client.post("/page/session", {"act": act}, content_type="text/plain")

    assert response.status_code == 403
    assert b"access" not in response.content


def post_session(browser, body):
    browser.get("/s/")
    token = browser.client.cookies["csrftoken"].value
    data = body if isinstance(body, bytes) else __import__("json").dumps(body).encode()
    return browser.client.post("/page/session", data, content_type="application/json", headers={"x-csrftoken": token})


@pytest.mark.parametrize("act", ["rejected", "refused"])  # pages that were loaded before a release send the second
def test_rejected_access_token_is_renewed_without_revoking_the_session(brand, monkeypatch, act):
    monkeypatch.setattr(tokens, "SAME_ANSWER_WITHIN", timedelta(-1))
    browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)
    post_session(browser, {"act": "log_in", "email": customer.email, "password": PASSWORD})
    token = browser.client.cookies["csrftoken"].value
    del browser.client.cookies["page_access"]

    response = browser.client.post(
        "/page/session", {"act": act}, content_type="application/json", headers={"x-csrftoken": token}
    )

    assert response.json()["access"]
    assert not LoginSession.objects.get().revoked_at


def test_session_endpoint_returns_access_tokens_but_no_refresh_token(brand, api):
    browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)

    login_response = post_session(browser, {"act": "log_in", "email": customer.email, "password": PASSWORD})
    renewal_response = post_session(browser, {"act": "access"})

    refresh_token = browser.client.cookies["page_refresh"].value
    for response in (login_response, renewal_response):
        assert refresh_token not in response.content.decode()
        assert response["Cache-Control"] == "no-store"
        customer_api = api.with_headers(authorization=f"Bearer {response.json()['access']}")
        assert customer_api.get("customer/loyalty/points").status_code == 200
    assert post_session(browser, {"act": "log_out"}).json()["access"] == ""
    assert LoginSession.objects.get().revoked_at


def test_rejected_logout_of_a_script_keeps_the_session(brand, settings):
    browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)
    post_session(browser, {"act": "log_in", "email": customer.email, "password": PASSWORD})
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "1/hour"}
    del browser.client.cookies["page_access"]
    post_session(browser, {"act": "access"})  # renews the tokens, which the limit allows once

    response = post_session(browser, {"act": "log_out"})

    assert (response.status_code, response.json()["error"]) == (429, "RATE_LIMITED")
    assert browser.client.cookies["page_refresh"].value
    assert not LoginSession.objects.get().revoked_at


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"act": 5}', b'{"act": "x"}', b"{" + b" " * 6000]
)
def test_malformed_session_request_gets_a_guest_session(browser, body):
    response = post_session(browser, body)

    assert (response.status_code, response.json()) == (200, {"access": "", "expires_in": 0})


def test_session_endpoint_returns_error_messages(brand):
    browser = Browser(brand)
    browser.headers = {}

    response = post_session(browser, {"act": "log_in", "email": "nobody@example.com", "password": "x"})
    invalid_registration = post_session(
        browser, {"act": "register", "email": "no address", "password": "a long pass phrase"}
    )

    assert (response.status_code, response.json()["message"]) == (401, "E-mail address or password is wrong.")
    assert invalid_registration.status_code == 400


def test_cookies_of_one_brand_are_not_a_session_at_another(brand):
    first_browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)
    first_browser.log_in(first_browser.get("/s/"), customer.email, PASSWORD)
    factories.level(other_brand := factories.brand())
    second_browser = Browser(other_brand)
    for name in ("page_access", "page_refresh"):
        second_browser.client.cookies[name] = first_browser.client.cookies[name].value

    page = second_browser.scan(factories.code(other_brand))

    assert state(page) in {"new", "trouble"}
    assert not Scan.objects.filter(user=customer).exists()


@pytest.mark.parametrize("header", ["x-forwarded-host", "x-host", "forwarded", "x-forwarded-server", "x-original-url"])
def test_brand_depends_only_on_the_host_header(browser, brand, header):
    page = browser.get("/s/", **{header.replace("-", "_"): "evil.example.com"})

    assert page.context["brand"] == brand
    assert "evil.example.com" not in text(page)
    assert page["Cache-Control"] == "private, no-cache"
    assert browser.host not in text(page)  # every URL in it is relative


def test_unknown_host_is_rejected(client, settings):
    settings.ALLOWED_HOSTS = ["brand.example.com"]

    assert client.get("/s/", headers={"host": "evil.example.com"}).status_code == 400


@pytest.mark.parametrize(
    "path", ["/s/A?next=//evil.example.com", "/s/?typed=//evil.example.com", "/s//evil.example.com"]
)
def test_page_never_links_or_redirects_to_another_site(browser, path):
    page = browser.get(path)

    if page.status_code in {301, 302, 303}:
        assert re.match(r"/s/(?!/)", page["Location"])
    else:
        assert not re.search(r'(?:action|href)="(?:https?:)?//', text(page))


@pytest.mark.parametrize(
    "path",
    [
        "/s/" + "A" * 100_000,
        "/s/" + "A" * 601,
        "/s/%",
        "/s/%ZZ",
        "/s/%00",
        "/s/%FF%FE",
        "/s/%ED%A0%80",
        "/s/a%0d%0aSet-Cookie:%20a=b",
        "/s/..%2f..%2fadmin",
        "/s/%F0%9F%98%80",
        "/s/a?scan=%00",
        "/s/a?scan=" + "9" * 5000,
        "/s/?typed=" + "%00" * 50,
        "/s/?typed=" + "A" * 100_000,
        "/s/?typed=%ED%A0%80",
        "/s/a?lang=%00&lang=" + "x" * 5000,
        "/01/1/21/A",
        "/01/" + "1" * 5000 + "/21/A",
        "/01/04012345678901/21/",
        "/page/assets/x/../../views.py",
        "/page/assets/x/..%2f..%2fviews.py",
        "/page/assets/x/nothing.js",
        "/page/icon-1.png",
        "/page/icon-99999999999999999999.png",
        "/page/session",
        "/pictures/x/small",
    ],
    ids=lambda path: path[:40],
)
def test_no_path_causes_a_server_error(browser, path):
    for method in ("get", "head", "post", "put", "options"):
        assert getattr(browser.client, method)(path).status_code < 500


@pytest.mark.parametrize(
    "field", ["nonce", "scan_id", "scan_token", "email", "password", "first_name", "reward", "act"]
)
@pytest.mark.parametrize("value", ["\x00", "x" * 100_000, "\ud800".encode("utf-16", "surrogatepass").hex(), "-1", "💥"])
def test_no_form_value_causes_a_server_error(brand, field, value):
    client = Client(HTTP_HOST=brand.hostnames.get().hostname, REMOTE_ADDR=random_address())
    for act in ACTS:
        form_data = {
            "act": act,
            "nonce": "a" * 20,
            "email": "a@example.com",
            "password": "b",
            "reward": "5",
            field: value,
        }
        assert client.post("/s/A", form_data).status_code < 500


def test_file_of_an_old_version_is_not_cached(browser):
    page = text(browser.get("/s/"))
    path = re.search(r'src="(/page/assets/\w+/page\.js)"', page)[1]

    current_file, old_file = browser.get(path), browser.get("/page/assets/0123456789ab/page.js")

    assert "immutable" in current_file["Cache-Control"]
    assert old_file["Cache-Control"] == "no-cache"
    assert current_file.content == old_file.content


def test_unknown_codes_are_counted_per_browser(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}
    guessing_browser, other_browser = Browser(brand), Browser(brand)

    states = [state(guessing_browser.scan(f"GUESS-{number}")) for number in range(5)]

    assert states == ["unknown", "unknown", "unknown", "waiting", "waiting"]
    assert "unknown" in visible_html(other_browser.scan("GUESS-1"))
