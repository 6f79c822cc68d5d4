"""What somebody may try with the page: markup in names, forged forms, other hosts, frames, endless codes."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from authcodes.models.scans import Scan
from brands.identity import tokens
from brands.models.credentials import LoginSession
from tests.scanpage.conftest import Browser, seen, state, text
from tests.support import factories
from tests.support.api import somewhere
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
MARKUP = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}{% now %}"


def test_names_are_text_wherever_they_come_from(brand, deliver):
    type(brand).objects.filter(pk=brand.pk).update(name=MARKUP)
    customer = factories.customer(brand, password=PASSWORD)
    factories.campaign(brand, campaign_name=MARKUP)
    code = factories.code(brand, product=factories.product(brand, title=MARKUP))
    browser = Browser(brand)

    pages = [browser.scan(code)]
    answer = browser.log_in(pages[0], customer.email, PASSWORD)
    deliver()
    pages += [browser.get(answer["Location"]), browser.get("/s/?account")]

    for page in pages:
        assert "<script>alert" not in text(page)
        assert "<img src=x" not in text(page)
        assert "&lt;script&gt;alert(1)" in text(page)
        assert "{{7*7}}" in text(page)


@pytest.mark.parametrize(
    "code", ["%3Cscript%3Ealert(1)%3C/script%3E", "%22onmouseover=alert(1)%20x=%22", "javascript:alert(1)", "a%27b"]
)
def test_a_code_is_text_in_the_page(browser, code):
    for page in (browser.get(f"/s/{code}"), browser.get(f"/s/{code}?by=hand"), browser.scan(code)):
        assert page.status_code == 200
        assert "<script>alert" not in text(page)
        assert not re.search(r'<[^>]+"\s*onmouseover', text(page))
    assert 'href="javascript:' not in text(page)


def test_no_page_has_a_script_or_style_of_its_own(brand):
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


def test_camera_and_place_are_this_pages_alone(browser):
    assert browser.get("/s/")["Permissions-Policy"].startswith("camera=(self), geolocation=(self), ")
    assert "camera=()" in browser.get("/page/brand.css")["Permissions-Policy"]


ACTS = ["scan", "log_in", "register", "log_out", "redeem", "claim"]


@pytest.mark.parametrize("act", ACTS)
def test_a_form_from_elsewhere_does_nothing(brand, act):
    browser = Browser(brand)
    customer = factories.customer(brand, password=PASSWORD)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    forged = {"act": act, "email": customer.email, "password": PASSWORD, "reward": "1"}

    answer = browser.client.post(f"/s/{factories.code(brand)}", forged)

    assert answer.status_code == 403
    assert not Scan.objects.exists()
    assert LoginSession.objects.get().revoked_at is None


@pytest.mark.parametrize("act", ["access", "log_in", "log_out", "rejected"])
def test_another_site_gets_no_token(brand, act):
    browser = Browser(brand)
    customer = factories.customer(brand, password=PASSWORD)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)

    answer = browser.client.post("/page/session", {"act": act}, content_type="text/plain")

    assert answer.status_code == 403
    assert b"access" not in answer.content


def session(browser, body):
    browser.get("/s/")
    token = browser.client.cookies["csrftoken"].value
    data = body if isinstance(body, bytes) else __import__("json").dumps(body).encode()
    return browser.client.post("/page/session", data, content_type="application/json", headers={"x-csrftoken": token})


@pytest.mark.parametrize("act", ["rejected", "refused"])  # the second by pages that were loaded before a release
def test_a_rejected_access_token_is_renewed_once_in_a_request(brand, monkeypatch, act):
    monkeypatch.setattr(tokens, "SAME_ANSWER_WITHIN", timedelta(-1))
    browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)
    session(browser, {"act": "log_in", "email": customer.email, "password": PASSWORD})
    token = browser.client.cookies["csrftoken"].value
    del browser.client.cookies["page_access"]

    renewed = browser.client.post(
        "/page/session", {"act": act}, content_type="application/json", headers={"x-csrftoken": token}
    )

    assert renewed.json()["access"]
    assert not LoginSession.objects.get().revoked_at


def test_the_session_gives_scripts_access_tokens_and_never_the_refresh_token(brand, api):
    browser, customer = Browser(brand), factories.customer(brand, password=PASSWORD)

    entered = session(browser, {"act": "log_in", "email": customer.email, "password": PASSWORD})
    again = session(browser, {"act": "access"})

    refresh = browser.client.cookies["page_refresh"].value
    for answer in (entered, again):
        assert refresh not in answer.content.decode()
        assert answer["Cache-Control"] == "no-store"
        bearer = api.having(authorization=f"Bearer {answer.json()['access']}")
        assert bearer.get("customer/loyalty/points").status_code == 200
    assert session(browser, {"act": "log_out"}).json()["access"] == ""
    assert LoginSession.objects.get().revoked_at


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"act": 5}', b'{"act": "x"}', b"{" + b" " * 6000]
)
def test_rubbish_gets_a_guests_session(browser, body):
    answer = session(browser, body)

    assert (answer.status_code, answer.json()) == (200, {"access": "", "expires_in": 0})


def test_the_session_says_in_words_what_was_wrong(brand):
    browser = Browser(brand)
    browser.headers = {}

    answer = session(browser, {"act": "log_in", "email": "nobody@example.com", "password": "x"})
    nonsense = session(browser, {"act": "register", "email": "no address", "password": "a long pass phrase"})

    assert (answer.status_code, answer.json()["message"]) == (401, "E-mail address or password is wrong.")
    assert nonsense.status_code == 400


def test_the_cookies_of_one_brand_are_no_session_at_another(brand):
    one, customer = Browser(brand), factories.customer(brand, password=PASSWORD)
    one.log_in(one.get("/s/"), customer.email, PASSWORD)
    factories.level(other := factories.brand())
    two = Browser(other)
    for name in ("page_access", "page_refresh"):
        two.client.cookies[name] = one.client.cookies[name].value

    page = two.scan(factories.code(other))

    assert state(page) in {"new", "trouble"}
    assert not Scan.objects.filter(user=customer).exists()


@pytest.mark.parametrize("header", ["x-forwarded-host", "x-host", "forwarded", "x-forwarded-server", "x-original-url"])
def test_no_header_but_host_tells_whose_page_it_is_and_none_gets_into_it(browser, brand, header):
    page = browser.get("/s/", **{header.replace("-", "_"): "evil.example.com"})

    assert page.context["brand"] == brand
    assert "evil.example.com" not in text(page)
    assert page["Cache-Control"] == "private, no-cache"
    assert browser.host not in text(page)  # every address in it is relative


def test_a_wrong_host_is_refused(client, settings):
    settings.ALLOWED_HOSTS = ["brand.example.com"]

    assert client.get("/s/", headers={"host": "evil.example.com"}).status_code == 400


@pytest.mark.parametrize(
    "address", ["/s/A?next=//evil.example.com", "/s/?typed=//evil.example.com", "/s//evil.example.com"]
)
def test_nothing_leads_elsewhere(browser, address):
    page = browser.get(address)

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
def test_no_address_is_a_server_error(browser, path):
    for method in ("get", "head", "post", "put", "options"):
        assert getattr(browser.client, method)(path).status_code < 500


@pytest.mark.parametrize(
    "field", ["nonce", "scan_id", "scan_token", "email", "password", "first_name", "reward", "act"]
)
@pytest.mark.parametrize("value", ["\x00", "x" * 100_000, "\ud800".encode("utf-16", "surrogatepass").hex(), "-1", "💥"])
def test_no_form_is_a_server_error(brand, field, value):
    client = Client(HTTP_HOST=brand.hostnames.get().hostname, REMOTE_ADDR=somewhere())
    for act in ACTS:
        sent = {"act": act, "nonce": "a" * 20, "email": "a@example.com", "password": "b", "reward": "5", field: value}
        assert client.post("/s/A", sent).status_code < 500


def test_a_browser_is_told_to_keep_an_old_file_no_longer(browser):
    page = text(browser.get("/s/"))
    address = re.search(r'src="(/page/assets/\w+/page\.js)"', page)[1]

    new, old = browser.get(address), browser.get("/page/assets/0123456789ab/page.js")

    assert "immutable" in new["Cache-Control"]
    assert old["Cache-Control"] == "no-cache"
    assert new.content == old.content


def test_guesses_are_counted_against_the_visitor_not_the_page(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}
    guesser, other = Browser(brand), Browser(brand)

    states = [state(guesser.scan(f"GUESS-{number}")) for number in range(5)]

    assert states == ["unknown", "unknown", "unknown", "waiting", "waiting"]
    assert "unknown" in seen(other.scan("GUESS-1"))
