"""Which requests count as one party at the web server: by their valid credentials, or else by their network."""

import pytest
from django.conf import settings

from brands.tenants import request_brands
from config.serving import admission
from config.serving.admission import API, PAGES
from config.serving.fair_threads import UNKNOWN_CALLERS
from tests.config.serving.conftest import environ, session_cookie

pytestmark = pytest.mark.django_db  # an answer closes the connection that an earlier test has opened


def party_of(web, wsgi_environ, name):
    return web.admission.party_of(wsgi_environ, name, admission.credentials_of(wsgi_environ, name))


def slow_scans(web, number, **headers):
    """Send `number` slow scans; return how many of them have a thread."""
    web.site.requests.clear()
    for position in range(number):
        scan_headers = {name: text.format(position) for name, text in headers.items()}
        web.send_in_background(1, "/api/v1/scans/slow", **scan_headers)
    return len(web.site.requests)


@pytest.mark.parametrize("header", ["HTTP_AUTHORIZATION", "HTTP_API_KEY"])
def test_unknown_credentials_count_as_the_network_that_sends_them(web, settings, header):
    made_up = {header: "Bearer made-up-{}", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(web, 6, **made_up) == settings.WEB_API_THREADS - 1
    assert web.send("/api/v1/scans/x", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_unknown_keys_of_campaign_events_count_as_their_network(web, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    for number in range(8):
        web.send_in_background(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"x{number}", REMOTE_ADDR="198.51.100.1")

    assert len(web.site.requests) == settings.WEB_EVENT_THREADS - 1
    assert web.send(event, "POST", b"{}", HTTP_API_KEY="b", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_hostname_does_not_make_a_request_another_party(web, settings):
    hosts = {"HTTP_HOST": "brand{}.example.com", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(web, 6, **hosts) == settings.WEB_API_THREADS - 1
    assert web.send("/api/v1/scans/x", HTTP_HOST="brand0.example.com", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_networks_of_an_ipv6_site_are_one_party(web, settings):
    assert slow_scans(web, 6, REMOTE_ADDR="2001:db8:1:{}::1") == settings.WEB_API_THREADS - 1
    assert web.send("/api/v1/scans/x", REMOTE_ADDR="2001:db8:2::1")[0] == 200


def test_valid_credentials_count_as_their_brand_from_any_network(web, settings):
    web.site.brand = [7]
    for number in range(6):
        web.send("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")
    everywhere = {"HTTP_AUTHORIZATION": "bearer  a{}", "REMOTE_ADDR": "198.51.100.{}"}

    assert slow_scans(web, 6, **everywhere) == settings.WEB_API_THREADS - 1

    web.site.brand = [8]
    assert web.send("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b", REMOTE_ADDR="198.51.100.1")[0] == 200


def test_valid_key_does_not_make_a_token_in_the_same_request_known(web):
    web.site.brand, web.site.good = [7], {request_brands.KEY}
    web.send("/api/v1/auth/token", "POST", b"{}", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer junk")
    only_junk = environ("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer junk", REMOTE_ADDR="198.51.100.1")
    only_key = environ("/api/v1/scans/x", HTTP_API_KEY="a", REMOTE_ADDR="198.51.100.1")

    assert party_of(web, only_junk, API) == "198.51.100.1"
    assert party_of(web, only_key, API) == "brand:7"


def test_api_key_takes_precedence_over_a_token(web):
    web.site.brand = [7]
    web.send("/api/v1/scans/x", HTTP_API_KEY="a")
    web.site.brand = [8]
    web.send("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b")

    both = environ("/api/v1/scans/x", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer b")
    assert party_of(web, both, API) == "brand:7"


def test_session_of_a_party_is_the_one_that_the_portal_reads(web):
    """However its cookie is written: a request without a session never counts as that of a brand."""
    name = settings.SESSION_COOKIE_NAME
    web.site.brand = [7]
    web.send("/admin/", HTTP_COOKIE=f"{name} =theirs")
    web.send("/admin/", HTTP_COOKIE=f"{name}=made-up; {name}=theirs")

    assert party_of(web, environ("/admin/"), PAGES) == admission.ANONYMOUS
    assert party_of(web, environ("/admin/", **session_cookie("made-up")), PAGES) == UNKNOWN_CALLERS
    assert party_of(web, environ("/admin/", **session_cookie("theirs")), PAGES) == "brand:7"


def test_logins_of_one_network_leave_a_thread_for_another(web, settings):
    for number in range(4):
        body = b'{"email": "%d@example.com", "password": "slow", "brand_id": %d}' % (number, number)
        web.send_in_background(1, "/api/v1/auth/token/slow", "POST", body, REMOTE_ADDR="198.51.100.1")

    assert len(web.site.requests) == settings.WEB_LOGIN_THREADS - 1
    assert web.send("/api/v1/auth/token", "POST", b'{"brand_id": 0}', REMOTE_ADDR="198.51.100.2")[0] == 200


def test_least_recently_used_credentials_are_dropped_first():
    known = admission.Remembered(most=3)
    for credential in (b"a", b"b", b"c", b"a", b"d"):
        known.learn(credential, "brand:7")

    assert [known.party_of(each) for each in (b"a", b"b", b"c", b"d")] == ["brand:7", None, "brand:7", "brand:7"]


def test_many_tokens_do_not_displace_known_sessions_or_keys(web):
    for remembered in web.admission.remembered.values():
        remembered.most = 3
    web.site.brand = [8]
    web.send("/admin/", **session_cookie("b"))
    web.send("/api/v1/scans/x", HTTP_API_KEY="b")
    web.site.brand = [7]
    for number in range(10):
        web.send("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")

    assert party_of(web, environ("/admin/", **session_cookie("b")), PAGES) == "brand:8"
    assert party_of(web, environ("/api/v1/scans/x", HTTP_API_KEY="b"), API) == "brand:8"
