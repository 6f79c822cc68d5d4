"""Classes of requests at the web server: their threads, and the answer to requests that get none."""

import json

import pytest

from config.serving import admission, fair_threads
from config.serving.admission import API, EVENTS, FILES, HEALTH, LOGINS, PAGES, PROBES
from tests.config.serving.conftest import Web, environ, session_cookie

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
        ("POST", "/register/confirm/abc", LOGINS),
        ("POST", "/email/change/abc", LOGINS),
        ("POST", "/api/v1/auth/email/change/confirm", LOGINS),
        ("POST", "/admin/password/new/abc/", LOGINS),
        ("POST", "/admin/invitation/abc/", LOGINS),
        ("POST", "/admin/second-factor/remove/abc/", LOGINS),
        ("GET", "/admin/invitation/abc/", PAGES),
        ("POST", "/api/v1/brand/loyalty/campaign/event", EVENTS),
        ("POST", "/api/v1/auth-codes/scan", API),
        ("GET", "/s/ABC", API),
    ],
)
def test_requests_are_classified_by_method_and_path(method, path, name):
    assert admission.class_of(environ(path, method)) == name


def test_slow_pages_leave_threads_for_scans_and_health_checks(web):
    for number in range(8):
        web.send_in_background(1, "/admin/slow", **session_cookie(number))

    assert web.send("/healthz")[0] == 200
    assert web.send("/api/v1/scans/x")[0] == 200


def test_one_brand_may_use_half_of_the_threads_for_pages(web, settings):
    web.site.brand = [7]
    for number in range(6):
        assert web.send("/admin/", **session_cookie(f"a{number}"))[0] == 200  # from now on these sessions are known
    web.site.requests.clear()
    for number in range(6):
        web.send_in_background(1, "/admin/slow", **session_cookie(f"a{number}"))

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 2

    web.site.brand = [8]
    assert web.send("/admin/", **session_cookie("b"))[0] == 200


def test_slow_campaign_events_of_a_brand_leave_a_thread_for_another(web, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    web.site.brand = [7]
    for key in ("a1", "a2"):
        assert web.send(event, "POST", b"{}", HTTP_API_KEY=key)[0] == 200
    web.site.requests.clear()
    for number in range(10):
        web.send_in_background(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"a{number % 2 + 1}")

    assert len(web.site.requests) == settings.WEB_EVENT_THREADS - 1

    web.site.brand = [8]
    assert web.send(event, "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def test_additional_cookie_does_not_make_a_session_another_party(web, settings):
    web.site.brand = [7]
    web.send("/admin/", **session_cookie("same"))
    web.site.requests.clear()
    for number in range(6):
        cookie = f"x={number}; {settings.SESSION_COOKIE_NAME}=same"
        web.send_in_background(1, "/admin/slow", HTTP_COOKIE=cookie)

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 2


def test_unknown_sessions_count_as_one_party(web, settings):
    web.site.brand = [8]
    web.send("/admin/", **session_cookie("known"))
    web.site.requests.clear()
    for number in range(6):
        web.send_in_background(1, "/admin/slow", **session_cookie(f"new{number}"))

    assert len(web.site.requests) == settings.WEB_PAGE_THREADS // 4
    assert web.send("/admin/", **session_cookie("known"))[0] == 200
    assert web.send("/admin/login/")[0] == 200


def test_request_that_gets_no_thread_is_rejected_with_retry_after(settings):
    settings.WEB_PAGE_THREADS = 2
    web = Web()
    web.admission.pools[PAGES].limits = fair_threads.ThreadLimits(1, 1, seconds=0.05)
    web.send_in_background(1, "/admin/slow")

    status, headers, content = web.send("/admin/", HTTP_ACCEPT="application/json")
    web.site.over.set()

    assert (status, headers["Retry-After"]) == (503, "2")
    body = json.loads(content)
    assert (body["error"], body["success"]) == ("UNAVAILABLE", False)
    assert body["request_id"] == headers["X-Request-ID"]
