"""Classes of requests at the web's door: their threads, who counts as one party, and what is said to who gets none."""

import json
from contextlib import ExitStack
from io import BytesIO
from threading import Event, Thread
from time import sleep

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import RequestFactory

from brands.tenants import request_brands
from config.serving import admission, fair_threads
from config.serving.admission import API, EVENTS, FILES, HEALTH, LOGINS, PAGES, PROBES, Admission
from config.serving.fair_threads import UNKNOWN_CALLERS
from config.serving.receiving import Bounds, Receiving, TooManyBodiesError
from core.web.middleware import RequestId

pytestmark = pytest.mark.django_db  # an answer closes the connection that an earlier test has opened


def environ(path, method="GET", body=b"", **more):
    made = RequestFactory().generic(method, path, body, content_type="application/json").environ
    return {**made, "wsgi.input_terminated": True, **more}


CREDENTIALS = {
    request_brands.KEY: lambda request: "HTTP_API_KEY" in request.META,
    request_brands.TOKEN: lambda request: "HTTP_AUTHORIZATION" in request.META,
    request_brands.SESSION: lambda request: settings.SESSION_COOKIE_NAME in request.COOKIES,
}


class Site:
    """The application behind the door: its pages last until `over`; `asked` are the environs that reached it.

    Credentials of the kinds in `good` are those of `brand`.
    """

    def __init__(self):
        self.over, self.asked, self.brand, self.good = Event(), [], None, set(CREDENTIALS)

    def __call__(self, given, start_response):
        answer = RequestId(self.answer)(WSGIRequest(given))
        start_response(f"{answer.status_code} x", list(answer.items()))
        return answer

    def answer(self, request):
        self.asked.append(request.META)
        if self.brand:
            for credential in self.good & CREDENTIALS.keys():
                if CREDENTIALS[credential](request):
                    request_brands.note(credential, self.brand)
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


def party_of(door, given, name):
    return door.admission.party_of(given, name, admission.credentials_of(given, name))


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


def test_who_waits_in_vain_is_told_when_to_come_back(settings):
    settings.WEB_PAGE_THREADS = 2
    door = Door()
    door.admission.pools[PAGES].limits = fair_threads.ThreadLimits(1, 1, seconds=0.05)
    door.ask_beside(1, "/admin/slow")

    status, headers, content = door.ask("/admin/", HTTP_ACCEPT="application/json")
    door.site.over.set()

    assert (status, headers["Retry-After"]) == (503, "2")
    told = json.loads(content)
    assert (told["error"], told["success"]) == ("UNAVAILABLE", False)
    assert told["request_id"] == headers["X-Request-ID"]


def slow_scans(door, number, **headers):
    """How many of them have a thread."""
    door.site.asked.clear()
    for which in range(number):
        given = {name: text.format(which) for name, text in headers.items()}
        door.ask_beside(1, "/api/v1/scans/slow", **given)
    return len(door.site.asked)


@pytest.mark.parametrize("header", ["HTTP_AUTHORIZATION", "HTTP_API_KEY"])
def test_made_up_credentials_count_as_the_network_that_sends_them(door, settings, header):
    made_up = {header: "Bearer made-up-{}", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(door, 6, **made_up) == settings.WEB_API_THREADS - 1
    assert door.ask("/api/v1/scans/x", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_made_up_keys_of_campaign_events_count_as_the_network_that_sends_them(door, settings):
    event = "/api/v1/brand/loyalty/campaign/event"
    for number in range(8):
        door.ask_beside(1, f"{event}/slow", "POST", b"{}", HTTP_API_KEY=f"x{number}", REMOTE_ADDR="198.51.100.1")

    assert len(door.site.asked) == settings.WEB_EVENT_THREADS - 1
    assert door.ask(event, "POST", b"{}", HTTP_API_KEY="b", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_a_hostname_makes_nobody_another_party(door, settings):
    hosts = {"HTTP_HOST": "brand{}.example.com", "REMOTE_ADDR": "198.51.100.1"}

    assert slow_scans(door, 6, **hosts) == settings.WEB_API_THREADS - 1
    assert door.ask("/api/v1/scans/x", HTTP_HOST="brand0.example.com", REMOTE_ADDR="198.51.100.2")[0] == 200


def test_networks_of_an_ipv6_site_are_one_party(door, settings):
    assert slow_scans(door, 6, REMOTE_ADDR="2001:db8:1:{}::1") == settings.WEB_API_THREADS - 1
    assert door.ask("/api/v1/scans/x", REMOTE_ADDR="2001:db8:2::1")[0] == 200


def test_good_credentials_count_as_their_brand_wherever_they_come_from(door, settings):
    door.site.brand = [7]
    for number in range(6):
        door.ask("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")
    everywhere = {"HTTP_AUTHORIZATION": "bearer  a{}", "REMOTE_ADDR": "198.51.100.{}"}

    assert slow_scans(door, 6, **everywhere) == settings.WEB_API_THREADS - 1

    door.site.brand = [8]
    assert door.ask("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b", REMOTE_ADDR="198.51.100.1")[0] == 200


def test_a_good_key_says_nothing_of_the_token_beside_it(door):
    door.site.brand, door.site.good = [7], {request_brands.KEY}
    door.ask("/api/v1/auth/token", "POST", b"{}", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer junk")
    only_junk = environ("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer junk", REMOTE_ADDR="198.51.100.1")
    only_key = environ("/api/v1/scans/x", HTTP_API_KEY="a", REMOTE_ADDR="198.51.100.1")

    assert party_of(door, only_junk, API) == "198.51.100.1"
    assert party_of(door, only_key, API) == "brand:7"


def test_a_key_counts_before_a_token(door):
    door.site.brand = [7]
    door.ask("/api/v1/scans/x", HTTP_API_KEY="a")
    door.site.brand = [8]
    door.ask("/api/v1/scans/x", HTTP_AUTHORIZATION="Bearer b")

    both = environ("/api/v1/scans/x", HTTP_API_KEY="a", HTTP_AUTHORIZATION="Bearer b")
    assert party_of(door, both, API) == "brand:7"


def test_a_session_is_the_one_that_the_portal_reads(door):
    """However its cookie is written: what nobody sends is never somebody's."""
    name = settings.SESSION_COOKIE_NAME
    door.site.brand = [7]
    door.ask("/admin/", HTTP_COOKIE=f"{name} =theirs")
    door.ask("/admin/", HTTP_COOKIE=f"{name}=made-up; {name}=theirs")

    assert party_of(door, environ("/admin/"), PAGES) == admission.ANONYMOUS
    assert party_of(door, environ("/admin/", **session("made-up")), PAGES) == UNKNOWN_CALLERS
    assert party_of(door, environ("/admin/", **session("theirs")), PAGES) == "brand:7"


def test_logins_take_turns_by_the_network_that_they_come_from(door, settings):
    for number in range(4):
        body = b'{"email": "%d@example.com", "password": "slow", "brand_id": %d}' % (number, number)
        door.ask_beside(1, "/api/v1/auth/token/slow", "POST", body, REMOTE_ADDR="198.51.100.1")

    assert len(door.site.asked) == settings.WEB_LOGIN_THREADS - 1
    assert door.ask("/api/v1/auth/token", "POST", b'{"brand_id": 0}', REMOTE_ADDR="198.51.100.2")[0] == 200


def test_the_credentials_not_used_for_longest_are_forgotten_first():
    known = admission.Remembered(most=3)
    for credential in (b"a", b"b", b"c", b"a", b"d"):
        known.learn(credential, "brand:7")

    assert [known.party_of(each) for each in (b"a", b"b", b"c", b"d")] == ["brand:7", None, "brand:7", "brand:7"]


def test_a_flood_of_tokens_makes_no_session_or_key_unknown(door):
    for each in door.admission.remembered.values():
        each.most = 3
    door.site.brand = [8]
    door.ask("/admin/", **session("b"))
    door.ask("/api/v1/scans/x", HTTP_API_KEY="b")
    door.site.brand = [7]
    for number in range(10):
        door.ask("/api/v1/scans/x", HTTP_AUTHORIZATION=f"Bearer a{number}")

    assert party_of(door, environ("/admin/", **session("b")), PAGES) == "brand:8"
    assert party_of(door, environ("/api/v1/scans/x", HTTP_API_KEY="b"), API) == "brand:8"


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
    for number, key in ((7, "a"), (8, "b")):
        door.site.brand = [number]
        door.ask("/api/v1/events", HTTP_API_KEY=key)
    door.admission.receiving.bounds = Bounds(altogether=4, of_an_address=3, of_a_party=2, slow_seconds=0.2)
    for _ in range(3):
        slow = {"wsgi.input": Dripping(b"a" * 100), "CONTENT_LENGTH": "100", "HTTP_API_KEY": "a"}
        door.ask_beside(1, "/api/v1/events", "POST", **slow)

    assert door.ask("/api/v1/events", "POST", b"{}", HTTP_API_KEY="a")[0] == 503
    assert door.ask("/api/v1/events", "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def bodies_from(receiving, stack, address, number):
    """So many that stay under way, or fewer where no more are let in."""
    for done in range(number):
        try:
            stack.enter_context(receiving.place(address=address, party=address))
        except TooManyBodiesError:
            return done
    return number


def test_addresses_that_fill_all_places_leave_some_to_others():
    receiving = Receiving(Bounds(slow_seconds=-1))
    with ExitStack() as stack:
        assert [bodies_from(receiving, stack, f"A{number}", 60) for number in range(4)] == [48, 48, 48, 16]

        others = [bodies_from(receiving, stack, f"B{number}", 60) for number in range(25)]
        assert others == [4] * 24 + [0]


def test_networks_of_an_ipv6_site_have_the_places_of_one_address(door):
    door.admission.receiving.bounds = Bounds(altogether=9, of_an_address=2, of_a_party=2, slow_seconds=0.2)
    for number in range(2):
        slow = {"wsgi.input": Dripping(b"a" * 100), "CONTENT_LENGTH": "100", "REMOTE_ADDR": f"2001:db8:1:{number}::1"}
        door.ask_beside(1, "/api/v1/events", "POST", **slow)
    sleep(0.2)

    assert door.ask("/api/v1/events", "POST", b"{}", REMOTE_ADDR="2001:db8:1:9::1")[0] == 503
    assert door.ask("/api/v1/events", "POST", b"{}", REMOTE_ADDR="2001:db8:2::1")[0] == 200


def test_a_body_of_unknown_length_gets_one(door):
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": BytesIO(b'{"a": 1}'), "CONTENT_LENGTH": ""}

    assert door.ask("/api/v1/events", "POST", **chunked)[2] == b'{"a": 1}'
    assert door.site.asked[0]["CONTENT_LENGTH"] == "8"


def test_a_large_upload_of_the_portal_is_whole(door):
    content = b"x" * 900_000

    assert door.ask("/admin/upload", "POST", content)[2] == content
