"""Bodies that the web server is receiving are limited in time and number."""

from contextlib import ExitStack
from io import BytesIO
from time import sleep

import pytest

from config.serving.receiving import Bounds, Receiving, TooManyBodiesError
from tests.config.serving.conftest import Web

pytestmark = pytest.mark.django_db  # an answer closes the connection that an earlier test has opened


class SlowBody(BytesIO):
    """A body that arrives slowly, one byte at a time."""

    def read(self, size=-1):
        sleep(0.3)
        return super().read(min(size, 1))


def test_body_that_is_sent_too_slowly_is_rejected_with_retry_after(settings):
    settings.WEB_BODY_SECONDS = 0.5
    web = Web()
    slow = {"wsgi.input": SlowBody(b"a" * 100), "CONTENT_LENGTH": "100"}

    status, headers, content = web.send("/api/v1/events", "POST", **slow)

    assert (status, headers["Retry-After"], web.site.requests) == (503, "2", [])
    assert b"did not come in time" in content


def test_concurrent_bodies_are_limited_per_address_and_party(web):
    for number, key in ((7, "a"), (8, "b")):
        web.site.brand = [number]
        web.send("/api/v1/events", HTTP_API_KEY=key)
    web.admission.receiving.bounds = Bounds(altogether=4, of_an_address=3, of_a_party=2, slow_seconds=0.2)
    for _ in range(3):
        slow = {"wsgi.input": SlowBody(b"a" * 100), "CONTENT_LENGTH": "100", "HTTP_API_KEY": "a"}
        web.send_in_background(1, "/api/v1/events", "POST", **slow)

    assert web.send("/api/v1/events", "POST", b"{}", HTTP_API_KEY="a")[0] == 503
    assert web.send("/api/v1/events", "POST", b"{}", HTTP_API_KEY="b")[0] == 200


def bodies_from(receiving, stack, address, number):
    """Open `number` bodies and leave them open; return how many were admitted."""
    for opened in range(number):
        try:
            stack.enter_context(receiving.place(address=address, party=address))
        except TooManyBodiesError:
            return opened
    return number


def test_addresses_with_many_bodies_leave_places_for_others():
    receiving = Receiving(Bounds(slow_seconds=-1))
    with ExitStack() as stack:
        assert [bodies_from(receiving, stack, f"A{number}", 60) for number in range(4)] == [48, 48, 48, 16]

        later_bodies = [bodies_from(receiving, stack, f"B{number}", 60) for number in range(25)]
        assert later_bodies == [4] * 24 + [0]


def test_networks_of_an_ipv6_site_share_the_places_of_one_address(web):
    web.admission.receiving.bounds = Bounds(altogether=9, of_an_address=2, of_a_party=2, slow_seconds=0.2)
    for number in range(2):
        slow = {"wsgi.input": SlowBody(b"a" * 100), "CONTENT_LENGTH": "100", "REMOTE_ADDR": f"2001:db8:1:{number}::1"}
        web.send_in_background(1, "/api/v1/events", "POST", **slow)
    sleep(0.2)

    assert web.send("/api/v1/events", "POST", b"{}", REMOTE_ADDR="2001:db8:1:9::1")[0] == 503
    assert web.send("/api/v1/events", "POST", b"{}", REMOTE_ADDR="2001:db8:2::1")[0] == 200


def test_body_of_unknown_length_gets_a_content_length(web):
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": BytesIO(b'{"a": 1}'), "CONTENT_LENGTH": ""}

    assert web.send("/api/v1/events", "POST", **chunked)[2] == b'{"a": 1}'
    assert web.site.requests[0]["CONTENT_LENGTH"] == "8"


def test_large_upload_to_the_portal_is_received_completely(web):
    content = b"x" * 900_000

    assert web.send("/admin/upload", "POST", content)[2] == content
