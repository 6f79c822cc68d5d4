"""Classes of requests at the web's door: their threads, who counts as one party, and what is said to who gets none."""

import json
from io import BytesIO
from threading import Event, Thread
from time import sleep

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import RequestFactory

from brands import parties
from config import admission
from config.admission import API, EVENTS, FILES, HEALTH, LOGINS, PAGES, PROBES, Admission
from config.requests import RequestId


def environ(path, method="GET", body=b"", **more):
    made = RequestFactory().generic(method, path, body, content_type="application/json").environ
    return {**made, "wsgi.input_terminated": True, **more}


class Site:
    """The application behind the door: its pages last until `over`; `asked` are the environs that reached it."""

    def __init__(self):
        self.over, self.asked, self.brand = Event(), [], None

    def __call__(self, given, start_response):
        answer = RequestId(self.answer)(WSGIRequest(given))
        start_response(f"{answer.status_code} x", list(answer.items()))
        return answer

    def answer(self, request):
        self.asked.append(request.META)
        if self.brand:
            parties.note(self.brand)
        if "slow" in request.path:
            self.over.wait(10)
        return HttpResponse(request.body)


class Door:
    def __init__(self):
        self.site = Site()
        self.admission = Admission(self.site)

    def ask(self, *given, **more):
        said = []
        content = b"".join(self.admission(environ(*given, **more), lambda *what: said.append(what)))
        [(status, headers)] = said
        return int(status[:3]), dict(headers), content

    def ask_beside(self, number, *given, **more):
        for _ in range(number):
            Thread(target=self.ask, args=given, kwargs=more, daemon=True).start()
        sleep(0.1)


@pytest.fixture
def door():
    made = Door()
    yield made
    made.site.over.set()


def session(key):
    return {"HTTP_COOKIE": f"other=1; {settings.SESSION_COOKIE_NAME}={key}"}


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


def test_pages_that_wait_leave_scans_and_health_their_threads(door):
    for number in range(8):
        door.ask_beside(1, "/admin/slow", **session(number))

    assert door.ask("/healthz")[0] == 200
    assert door.ask("/api/v1/scans/x")[0] == 200


def test_one_brand_may_have_all_threads_for_pages_but_one(door, settings):
    door.site.brand = [7]
    for number in range(6):
        assert door.ask("/admin/", **session(f"a{number}"))[0] == 200  # from now on they are known
    door.site.asked.clear()
    for number in range(6):
        door.ask_beside(1, "/admin/slow", **session(f"a{number}"))

    assert len(door.site.asked) == settings.WEB_PAGE_THREADS // 2

    door.site.brand = [8]
    assert door.ask("/admin/", **session("b"))[0] == 200


def test_campaign_events_of_one_brand_that_wait_leave_a_thread_to_another(door, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    door.site.brand = [7]
    for key in ("a1", "a2"):
        assert door.ask(event, "POST", b"{}", HTTP_API_KEY=key)[0] == 200
    door.site.asked.clear()
    for number in range(10):
        door.ask_beside(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"a{number % 2 + 1}")

    assert len(door.site.asked) == settings.WEB_EVENT_THREADS - 1

    door.site.brand = [8]
    assert door.ask(event, "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def test_another_cookie_beside_the_session_makes_no_other_party(door, settings):
    door.site.brand = [7]
    door.ask("/admin/", **session("same"))
    door.site.asked.clear()
    for number in range(6):
        cookie = f"x={number}; {settings.SESSION_COOKIE_NAME}=same"
        door.ask_beside(1, "/admin/slow", HTTP_COOKIE=cookie)

    assert len(door.site.asked) == settings.WEB_PAGE_THREADS // 2


def test_sessions_that_are_new_each_time_are_one_party_together(door, settings):
    door.site.brand = [8]
    door.ask("/admin/", **session("known"))
    door.site.asked.clear()
    for number in range(6):
        door.ask_beside(1, "/admin/slow", **session(f"new{number}"))

    assert len(door.site.asked) == settings.WEB_PAGE_THREADS // 4
    assert door.ask("/admin/", **session("known"))[0] == 200
    assert door.ask("/admin/login/")[0] == 200


@pytest.mark.django_db  # an answer closes the connection that an earlier test has opened
def test_who_waits_in_vain_is_told_when_to_come_back(settings):
    settings.WEB_PAGE_THREADS = 2
    door = Door()
    door.admission.pools[PAGES].limits = admission.ThreadLimits(1, 1, seconds=0.05)
    door.ask_beside(1, "/admin/slow")

    status, headers, content = door.ask("/admin/", HTTP_ACCEPT="application/json")
    door.site.over.set()

    assert (status, headers["Retry-After"]) == (503, "2")
    told = json.loads(content)
    assert (told["error"], told["success"]) == ("UNAVAILABLE", False)
    assert told["request_id"] == headers["X-Request-ID"]


def test_logins_take_turns_by_the_brand_that_they_name(door, settings):
    for number in range(4):
        body = b'{"email": "%d@example.com", "password": "slow", "brand_id": 7}' % number
        door.ask_beside(1, "/api/v1/auth/token/slow", "POST", body, REMOTE_ADDR=f"198.51.100.{number}")

    assert len(door.site.asked) == settings.WEB_LOGIN_THREADS - 1
    assert door.ask("/api/v1/auth/token", "POST", b'{"brand_id": 8}')[0] == 200


class Dripping(BytesIO):
    """A sender who takes his time for each piece."""

    def read(self, size=-1):
        sleep(0.3)
        return super().read(min(size, 1))


def test_who_sends_too_slowly_is_turned_away(settings):
    settings.WEB_BODY_SECONDS = 0.5
    door = Door()
    slow = {"wsgi.input": Dripping(b"a" * 100), "CONTENT_LENGTH": "100"}

    status, headers, content = door.ask("/api/v1/events", "POST", **slow)

    assert (status, headers["Retry-After"], door.site.asked) == (503, "2", [])
    assert b"did not come in time" in content


def test_bodies_under_way_are_bounded_for_each_address_and_party(door):
    door.admission.receiving.bounds = admission.Bounds(altogether=4, of_an_address=3, of_a_party=2, slow_seconds=0.2)
    for _ in range(3):
        slow = {"wsgi.input": Dripping(b"a" * 100), "CONTENT_LENGTH": "100", "HTTP_API_KEY": "a"}
        door.ask_beside(1, "/api/v1/events", "POST", **slow)

    assert door.ask("/api/v1/events", "POST", b"{}", HTTP_API_KEY="a")[0] == 503
    assert door.ask("/api/v1/events", "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def test_a_body_of_unknown_length_gets_one(door):
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": BytesIO(b'{"a": 1}'), "CONTENT_LENGTH": ""}

    assert door.ask("/api/v1/events", "POST", **chunked)[2] == b'{"a": 1}'
    assert door.site.asked[0]["CONTENT_LENGTH"] == "8"


def test_a_large_upload_of_the_portal_is_whole(door):
    content = b"x" * 900_000

    assert door.ask("/admin/upload", "POST", content)[2] == content
