"""Who counts as one party at the web server: credentials found good, else the network."""

import pytest
from django.conf import settings

from brands.tenants import request_brands
from config.serving import admission
from config.serving.admission import API, PAGES
from config.serving.fair_threads import UNKNOWN_CALLERS
from tests.config.serving.conftest import environ, session

pytestmark = pytest.mark.django_db  # an answer closes the connection that an earlier test has opened


def party_of(web, given, name):
    return web.admission.party_of(given, name, admission.credentials_of(given, name))


def slow_scans(web, number, **headers):
    """How many of them have a thread."""
    web.site.requests.clear()
    for which in range(number):
        given = {name: text.format(which) for name, text in headers.items()}
        web.ask_beside(1, "/api/v1/scans/slow", **given)
    return len(web.site.requests)


@pytest.mark.parametrize("header", ["HTTP_AUTHORIZATION", "HTTP_API_KEY"])
def test_made_up_credentials_count_as_the_network_that_sends_them(web, settings, header):
    made_up = {header: "Bearer made-up-{}", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(web, 6, **made_up) == settings.WEB_API_THREADS - 1
    assert web.ask("/api/v1/scans/x", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_made_up_keys_of_campaign_events_count_as_the_network_that_sends_them(web, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    for number in range(8):
        web.ask_beside(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"x{number}", REMOTE_ADDR="198.51.100.1")

    assert len(web.site.requests) == settings.WEB_EVENT_THREADS - 1
    assert web.ask(event, "POST", b"{}", HTTP_API_KEY="b", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_a_hostname_makes_nobody_another_party(web, settings):
    hosts = {"HTTP_HOST": "brand{}.example.com", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(web, 6, **hosts) == settings.WEB_API_THREADS - 1
    assert web.ask("/api/v1/scans/x", HTTP_HOST="brand0.example.com", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_networks_of_an_ipv6_site_are_one_party(web, settings):
    assert slow_scans(web, 6, REMOTE_ADDR="2001:db8:1:{}::1") == settings.WEB_API_THREADS - 1
    assert web.ask("/api/v1/scans/x", REMOTE_ADDR="2001:db8:2::1")[0] == 200


def test_good_credentials_count_as_their_brand_wherever_they_come_from(web, settings):
    web.site.brand = [7]
    for number in range(6):
        web.ask("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")
    everywhere = {"HTTP_AUTHORIZATION": "bearer  a{}", "REMOTE_ADDR": "198.51.100.{}"}

    assert slow_scans(web, 6, **everywhere) == settings.WEB_API_THREADS - 1

    web.site.brand = [8]
    assert web.ask("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b", REMOTE_ADDR="198.51.100.1")[0] == 200


def test_a_good_key_says_nothing_of_the_token_beside_it(web):
    web.site.brand, web.site.good = [7], {request_brands.KEY}
    web.ask("/api/v1/auth/token", "POST", b"{}", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer junk")
    only_junk = environ("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer junk", REMOTE_ADDR="198.51.100.1")
    only_key = environ("/api/v1/scans/x", HTTP_API_KEY="a", REMOTE_ADDR="198.51.100.1")

    assert party_of(web, only_junk, API) == "198.51.100.1"
    assert party_of(web, only_key, API) == "brand:7"


def test_a_key_counts_before_a_token(web):
    web.site.brand = [7]
    web.ask("/api/v1/scans/x", HTTP_API_KEY="a")
    web.site.brand = [8]
    web.ask("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b")

    both = environ("/api/v1/scans/x", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer b")
    assert party_of(web, both, API) == "brand:7"


def test_a_session_is_the_one_that_the_portal_reads(web):
    """However its cookie is written: what nobody sends is never somebody's."""
    name = settings.SESSION_COOKIE_NAME
    web.site.brand = [7]
    web.ask("/admin/", HTTP_COOKIE=f"{name} =theirs")
    web.ask("/admin/", HTTP_COOKIE=f"{name}=made-up; {name}=theirs")

    assert party_of(web, environ("/admin/"), PAGES) == admission.ANONYMOUS
    assert party_of(web, environ("/admin/", **session("made-up")), PAGES) == UNKNOWN_CALLERS
    assert party_of(web, environ("/admin/", **session("theirs")), PAGES) == "brand:7"


def test_logins_take_turns_by_the_network_that_they_come_from(web, settings):
    for number in range(4):
        body = b'{"email": "%d@example.com", "password": "slow", "brand_id": %d}' % (number, number)
        web.ask_beside(1, "/api/v1/auth/token/slow", "POST", body, REMOTE_ADDR="198.51.100.1")

    assert len(web.site.requests) == settings.WEB_LOGIN_THREADS - 1
    assert web.ask("/api/v1/auth/token", "POST", b'{"brand_id": 0}', REMOTE_ADDR="198.51.100.2")[0] == 200


def test_the_credentials_not_used_for_longest_are_forgotten_first():
    known = admission.Remembered(most=3)
    for credential in (b"a", b"b", b"c", b"a", b"d"):
        known.learn(credential, "brand:7")

    assert [known.party_of(each) for each in (b"a", b"b", b"c", b"d")] == ["brand:7", None, "brand:7", "brand:7"]


def test_a_flood_of_tokens_makes_no_session_or_key_unknown(web):
    for each in web.admission.remembered.values():
        each.most = 3
    web.site.brand = [8]
    web.ask("/admin/", **session("b"))
    web.ask("/api/v1/scans/x", HTTP_API_KEY="b")
    web.site.brand = [7]
    for number in range(10):
        web.ask("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")

    assert party_of(web, environ("/admin/", **session("b")), PAGES) == "brand:8"
    assert party_of(web, environ("/api/v1/scans/x", HTTP_API_KEY="b"), API) == "brand:8"
