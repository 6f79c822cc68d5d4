"""What no test client can send, sent byte by byte to the real web server: rejected, never a 5xx, nothing written."""

import contextlib
import json
import re
import socket
from dataclasses import dataclass

import pytest
from django.conf import settings

from authcodes.models.scans import Scan
from brands.models.credentials import LoginSession
from brands.models.people import User
from tests.support.api import random_address
from tests.support.live_stack import Stack

TIMEOUT_SECONDS = 10
HOST = b"Host: 127.0.0.1"
FROM = f"X-Forwarded-For: {random_address()}".encode()  # the client of the rate limits; no other run uses this address
BODY = b'{"code": "A"}'
CHUNKED = b"Transfer-Encoding: chunked\r\n"
MEGABYTE = b"".join(b"10000\r\n" + b"x" * 65_536 + b"\r\n" for _ in range(16))


@pytest.fixture(scope="module")
def web(django_db_setup, django_db_blocker, tmp_path_factory):
    stack = Stack(log=tmp_path_factory.mktemp("wire") / "log", redis_url=settings.REDIS_URL)
    stack.settings["TRUSTED_PROXIES"] = "1"
    with django_db_blocker.unblock():
        try:
            stack.start_web(workers=1)
            yield stack
        finally:
            stack.stop()


@dataclass
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def error(self):
        return json.loads(self.body)["error"] if self.body else None


def exchange(port, sent, *, breaks_off=False):
    """All that the server answers to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        with contextlib.suppress(OSError):  # it may answer and close before it has read everything
            connection.sendall(sent)
            if breaks_off:
                connection.shutdown(socket.SHUT_WR)
        response = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65_536):
                response += chunk
        return response


def parse(response):
    head, _, body = response.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    if b"transfer-encoding: chunked" in head:
        size, _, chunks = body.partition(b"\r\n")
        body = chunks[: int(size, 16)]
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return Answer(status, head, body[: int(length[0].split(b":")[1])] if length else body)


def scan(*headers, body=BODY):
    lines = [b"POST /api/v1/auth-codes/scan HTTP/1.1", HOST, b"Content-Type: application/json", FROM]
    return b"\r\n".join([*lines, b"Connection: close", *headers]) + b"\r\n\r\n" + body


def get(target, *headers, host=HOST):
    return b"\r\n".join([b"GET " + target + b" HTTP/1.1", host, b"Connection: close", *headers]) + b"\r\n\r\n"


# Without an error code, the web server itself rejects the request before it gets to Django.
BODIES = {
    "shorter than it says, and no object yet": (
        scan(b"Content-Length: 50", body=b'{"code": "A'),
        400,
        "VALIDATION_ERROR",
    ),
    "longer than it says": (scan(b"Content-Length: 5"), 400, "VALIDATION_ERROR"),
    "of negative length": (scan(b"Content-Length: -1"), 400, None),
    "of no length that is a number": (scan(b"Content-Length: x"), 400, None),
    "of length +13": (scan(b"Content-Length: +13"), 400, None),
    "of two lengths": (scan(b"Content-Length: 13", b"Content-Length: 5"), 400, None),
    "of length 2^64": (scan(b"Content-Length: 18446744073709551616"), 400, None),
    "of 10 GB, it says": (scan(b"Content-Length: 9999999999"), 413, "PAYLOAD_TOO_LARGE"),
    "of 2 MB": (scan(b"Content-Length: 2000000", body=b"x" * 2_000_000), 413, "PAYLOAD_TOO_LARGE"),
    "of unsaid length": (scan(), 400, "VALIDATION_ERROR"),
    "of 2 MB in chunks": (scan(CHUNKED.strip(), body=MEGABYTE * 2 + b"0\r\n\r\n"), 413, "PAYLOAD_TOO_LARGE"),
    "of endless chunks": (scan(CHUNKED.strip(), body=MEGABYTE * 3), 413, "PAYLOAD_TOO_LARGE"),
    "in chunks of no size": (scan(CHUNKED.strip(), body=b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"), 400, "VALIDATION_ERROR"),
    "in a chunk that breaks off": (scan(CHUNKED.strip(), body=b"ff\r\n" + BODY[:8]), 400, "VALIDATION_ERROR"),
    "in an unknown encoding": (scan(b"Transfer-Encoding: gzip"), 400, None),
}
TARGETS = {
    "broken escape": (get(b"/api/v1/scans/%ZZ"), 404, "NOT_FOUND"),
    "half an escape": (get(b"/api/v1/scans/%"), 404, "NOT_FOUND"),
    "NUL": (get(b"/api/v1/scans/%00"), 404, "NOT_FOUND"),
    "raw NUL": (get(b"/api/v1/scans/\0"), 400, None),
    "raw DEL": (get(b"/api/v1/scans/\x7f"), 400, None),
    "raw bytes": (get(b"/api/v1/scans/\xff\xfe"), 400, None),
    "raw bytes in the query": (get(b"/api/v1/scans/x?limit=\xff"), 400, None),
    "bytes that are no UTF-8": (get(b"/api/v1/scans/%FF%FE"), 404, "NOT_FOUND"),
    "half a surrogate pair": (get(b"/api/v1/scans/%ED%A0%80"), 404, "NOT_FOUND"),
    "a space": (get(b"/api/v1/a b"), 400, None),
    "a dot": (get(b"/api/v1/./events"), 404, "NOT_FOUND"),
    "two dots": (get(b"/api/v1/%2e%2e/admin"), 404, "NOT_FOUND"),
    "100,000 letters": (get(b"/api/v1/" + b"a" * 100_000), 414, None),
    "another host": (get(b"http://evil.example.com/api/v1/scans/x"), 404, "NOT_FOUND"),
}
HEADERS = {
    "token of raw bytes": (
        get(b"/api/v1/customer/loyalty/points", b"Authorization: Bearer \xff"),
        401,
        "TOKEN_INVALID",
    ),
    "two tokens": (
        get(b"/api/v1/customer/loyalty/points", b"Authorization: a", b"Authorization: b"),
        401,
        "TOKEN_INVALID",
    ),
    "raw NUL": (get(b"/api/v1/scans/x", b"X: a\0b"), 400, None),
    "control character": (get(b"/api/v1/scans/x", b"X: a\x01b"), 400, None),
    "folded": (get(b"/api/v1/scans/x", b"X: a", b" b"), 400, None),
    "no colon": (get(b"/api/v1/scans/x", b"X"), 400, None),
    "no name": (get(b"/api/v1/scans/x", b": a"), 400, None),
    "1 MB": (get(b"/api/v1/scans/x", b"X: " + b"a" * 1_000_000), 431, None),
    "1,000 of them": (get(b"/api/v1/scans/x", *[b"X-%d: a" % number for number in range(1000)]), 431, None),
    "two hosts": (get(b"/api/v1/scans/x", b"Host: evil.example.com"), 400, "VALIDATION_ERROR"),
    "rubbish for a host": (get(b"/api/v1/scans/x", host=b"Host: [::1"), 400, "VALIDATION_ERROR"),
    "another host": (get(b"/api/v1/scans/x", host=b"Host: evil.example.com"), 400, "VALIDATION_ERROR"),
}
LINES = {
    "HTTP/0.9": (b"GET /api\r\n\r\n", 400, None),
    "HTTP/9.9": (b"GET /api HTTP/9.9\r\n\r\n", 400, None),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500, 400, None),
    "rubbish": (b"\xff" * 1000 + b"\r\n\r\n", 400, None),
}


INCOMPLETE_BODIES = {"shorter than it says, and no object yet", "of endless chunks", "in a chunk that breaks off"}


@pytest.mark.parametrize("table", [BODIES, TARGETS, HEADERS, LINES], ids=["bodies", "targets", "headers", "lines"])
def test_malformed_requests_are_rejected_and_nothing_is_written(web, transactional_db, subtests, table):
    for row, (sent, status, error) in table.items():
        with subtests.test(row):
            answer = parse(exchange(web.port, sent, breaks_off=row in INCOMPLETE_BODIES))

            assert (answer.status, answer.error) == (status, error)

    assert parse(exchange(web.port, get(b"/healthz"))).status == 200
    assert [model.objects.count() for model in (Scan, User, LoginSession)] == [0, 0, 0]


def test_answers_of_the_application_are_json_with_a_request_id(web, transactional_db):
    answer = parse(exchange(web.port, get(b"/api/v1/scans/%00", b"X-Request-ID: abc")))

    assert re.search(rb"x-request-id: [0-9a-f]{32}\r", answer.head)
    assert b"content-type: application/json" in answer.head


def test_chunked_body_is_read_completely(web, transactional_db):
    chunks = b'5\r\n{"cod\r\n8\r\ne": "A"}\r\n0\r\n\r\n'

    assert parse(exchange(web.port, scan(CHUNKED.strip(), body=chunks))).error == "AUTH_CODE_INVALID"
    assert Scan.objects.get().code == "A"


def test_content_length_with_chunks_does_not_smuggle_a_second_request(web, transactional_db):
    """A proxy that trusts the length and a server that trusts the chunks would see two different requests."""
    inner = b"0\r\n\r\n" + scan(b"Content-Length: 13")

    outer = scan(b"Content-Length: %d" % len(inner), CHUNKED.strip(), body=inner)

    response = exchange(web.port, outer.replace(b"Connection: close\r\n", b"", 1))

    assert (parse(response).status, response.count(b"HTTP/1.1 ")) == (400, 1)
    assert b"connection: close" in parse(response).head
    assert not Scan.objects.exists()
