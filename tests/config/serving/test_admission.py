"""Classes of requests at the web server: their threads, and what is said to who gets none."""

import json

import pytest

from config.serving import admission, fair_threads
from config.serving.admission import API, EVENTS, FILES, HEALTH, LOGINS, PAGES, PROBES
from tests.config.serving.conftest import Web, environ, session

pytestmark = pytest.mark.django_db  # an answer closes the connection that an earlier test has opened


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/healthz", HEALTH),
        ("GET", "/readyz", PROBES),
        ("GET", "/metrics", PROBES),
        ("GET", "/static/a.css", FILES),
        ("GET", "/admin/authcodes/scan/", PAGES),
        ("GET", "/admin/login/", PAGES),
        ("POST", "/admin/login/", LOGINS),
        ("POST", "/api/v1/auth/token", LOGINS),
        ("POST", "/api/v1/auth/token/refresh", API),
        ("POST", "/api/v1/auth/register", LOGINS),
        ("DELETE", "/api/v1/customer", LOGINS),
        ("POST", "/password/new/abc", LOGINS),
        ("POST", "/api/v1/brand/loyalty/campaign/event", EVENTS),
        ("POST", "/api/v1/auth-codes/scan", API),
        ("GET", "/s/ABC", API),
    ],
)
def test_classes(method, path, name):
    assert admission.class_of(environ(path, method)) == name


def test_pages_that_wait_leave_scans_and_health_their_threads(web):
    for number in range(8):
        web.ask_beside(1, "/admin/slow", **session(number))

    assert web.ask("/healthz")[0] == 200
    assert web.ask("/api/v1/scans/x")[0] == 200


def test_one_brand_may_have_all_threads_for_pages_but_one(web, settings):
    web.site.brand = [7]
    for number in range(6):
        assert web.ask("/admin/", **session(f"a{number}"))[0] == 200  # from now on they are known
    web.site.requests.clear()
    for number in range(6):
        web.ask_beside(1, "/admin/slow", **session(f"a{number}"))

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 2

    web.site.brand = [8]
    assert web.ask("/admin/", **session("b"))[0] == 200


def test_campaign_events_of_one_brand_that_wait_leave_a_thread_to_another(web, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    web.site.brand = [7]
    for key in ("a1", "a2"):
        assert web.ask(event, "POST", b"{}", HTTP_API_KEY=key)[0] == 200
    web.site.requests.clear()
    for number in range(10):
        web.ask_beside(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"a{number % 2 + 1}")

    assert len(web.site.requests) == settings.WEB_EVENT_THREADS - 1

    web.site.brand = [8]
    assert web.ask(event, "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def test_another_cookie_beside_the_session_makes_no_other_party(web, settings):
    web.site.brand = [7]
    web.ask("/admin/", **session("same"))
    web.site.requests.clear()
    for number in range(6):
        cookie = f"x={number}; {settings.SESSION_COOKIE_NAME}=same"
        web.ask_beside(1, "/admin/slow", HTTP_COOKIE=cookie)

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 2


def test_sessions_that_are_new_each_time_are_one_party_together(web, settings):
    web.site.brand = [8]
    web.ask("/admin/", **session("known"))
    web.site.requests.clear()
    for number in range(6):
        web.ask_beside(1, "/admin/slow", **session(f"new{number}"))

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 4
    assert web.ask("/admin/", **session("known"))[0] == 200
    assert web.ask("/admin/login/")[0] == 200


def test_who_waits_in_vain_is_told_when_to_come_back(settings):
    settings.WEB_PAGE_THREADS = 2
    web = Web()
    web.admission.pools[PAGES].limits = fair_threads.ThreadLimits(1, 1, seconds=0.05)
    web.ask_beside(1, "/admin/slow")

    status, headers, content = web.ask("/admin/", HTTP_ACCEPT="application/json")
    web.site.over.set()

    assert (status, headers["Retry-After"]) == (503, "2")
    body = json.loads(content)
    assert (body["error"], body["success"]) == ("UNAVAILABLE", False)
    assert body["request_id"] == headers["X-Request-ID"]
