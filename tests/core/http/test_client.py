"""Calls to external servers: what is rejected, cut off and bounded. The other side is a real socket."""

import gzip
import socket
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest

from core.http import client
from tests.core.http.conftest import server

pytestmark = pytest.mark.usefixtures("loopback_allowed")


def test_request_is_sent_and_the_whole_answer_returned():
    with server(b"HTTP/1.1 201 Created\r\nX-What: yes\r\nContent-Length: 4\r\n\r\nfine") as (url, seen):
        answer = client.send("POST", url, headers={"X-Mine": "1"}, content=b"{}")

    assert (answer.status, answer.headers["x-what"], answer.body) == (201, "yes", b"fine")
    assert seen[0].startswith(b"POST /hook HTTP/1.1\r\n")
    assert b"X-Mine: 1" in seen[0]


def test_redirect_is_returned_and_not_followed():
    with server(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n") as (url, _):
        assert client.send("GET", url).status == 302


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "2130706433"],  # noqa: S104
)
def test_private_addresses_are_rejected(settings, host):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    with pytest.raises(client.RequestFailedError, match="private network address"):
        client.send("GET", f"http://{host}:9/")


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "::7f00:1",
        "::ffff:10.0.0.1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00:ec2::254",
        "ff0e::1",
        "5f00::1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "198.18.0.1",
    ],
)
def test_embedded_and_reserved_addresses_are_not_allowed(settings, address):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    assert not client.is_allowed(ip_address(address.partition("%")[0]))


def test_public_addresses_are_allowed():
    assert client.is_allowed(ip_address("93.184.215.14"))
    assert client.is_allowed(ip_address("2606:2800:21f:cb07:6820:80da:af6b:8b2c"))


def test_plain_http_is_allowed_only_on_private_networks():
    assert client.is_allowed(ip_address("127.0.0.1"), encrypts=False)
    assert not client.is_allowed(ip_address("93.184.215.14"), encrypts=False)


def test_plain_http_call_to_a_public_address_is_rejected():
    with pytest.raises(client.RequestFailedError, match="called by https only"):
        client.send("GET", "http://93.184.215.14/", timeout_seconds=1)


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "017700000001", "0", "169.254.43518", "user:word@127.0.0.1"])
def test_alternative_spellings_of_private_addresses_are_rejected(settings, host):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    with pytest.raises(client.RequestFailedError, match="private network address"):
        client.send("GET", f"https://{host}:9/")


def test_call_uses_the_resolved_address_that_was_checked(settings, monkeypatch):
    """DNS rebinding: the name resolves to our receiver first, and to a private address from then on."""
    answers = iter(["127.0.0.1", *["10.0.0.1"] * 9])
    resolved_hosts = []

    real = socket.getaddrinfo

    def rebinding(host, port, *arguments, **options):
        if host != "shop.example":
            return real(host, port, *arguments, **options)
        resolved_hosts.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as (url, seen):
        url_by_name = url.replace("127.0.0.1", "shop.example")
        first = client.send("GET", url_by_name)
        with pytest.raises(client.RequestFailedError, match="private network address"):
            client.send("GET", url_by_name)

    assert (first.status, resolved_hosts, len(seen)) == (200, ["shop.example"] * 2, 1)
    assert b"Host: shop.example:" in seen[0]


def test_hostname_with_one_private_address_is_rejected(settings, monkeypatch):
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("93.184.215.14", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)

    with pytest.raises(client.RequestFailedError, match="private network address"):
        client.send("GET", "https://two.example/")


def test_hanging_resolver_is_abandoned_at_the_deadline(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(10))
    began = time.monotonic()

    with pytest.raises(client.RequestFailedError, match=r"within 0\.2 seconds"):
        client.send("GET", "https://slow.example/", timeout_seconds=0.2)

    assert time.monotonic() - began < 5


def test_operator_configured_url_may_be_on_a_private_network(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    with server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (url, _):
        assert client.send("GET", url, anywhere=True).status == 200


def test_proxy_settings_of_the_environment_are_ignored(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    with server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (url, _):
        assert client.send("GET", url).status == 200


@pytest.mark.parametrize(
    "parts",
    [[b"H"] * 200, [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 200]],
    ids=["slow headers", "slow body"],
)
def test_deadline_holds_for_slowly_sent_answers(parts):
    with server(*parts, pause=0.05) as (url, _):
        began = time.monotonic()
        with pytest.raises(client.RequestFailedError, match=r"within 0\.3 seconds"):
            client.send("GET", url, timeout_seconds=0.3)

    assert time.monotonic() - began < 5


def test_too_large_answer_is_rejected():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    endless = server(head, *[b"1000\r\n" + b"x" * 4096 + b"\r\n"] * 1000)
    with endless as (url, _), pytest.raises(client.RequestFailedError, match="larger than 5000 bytes"):
        client.send("GET", url, most_bytes=5000)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "http:///x",
        "no address",
        "http://[::1/",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:-1/",
        "http://a b/",
        "http://b\u00fccher.example/",
        "https://" + "a" * 70 + ".example/",
        "unix:///run/x",
        "",
    ],
)
def test_invalid_url_is_rejected(url):
    with pytest.raises(client.RequestFailedError):
        client.send("GET", url)


def test_closed_port_raises_a_request_error():
    with pytest.raises(client.RequestFailedError, match="ConnectError"):
        client.send("GET", "http://127.0.0.1:9/")


def test_large_answer_is_truncated_on_request():
    endless = server(CHUNKED, *[b"1000\r\n" + b"x" * 4096 + b"\r\n"] * 1000)
    with endless as (url, _):
        answer = client.send("GET", url, most_bytes=5000, cut=True)

    assert (answer.status, answer.body, answer.cut) == (200, b"x" * 5000, True)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_compressed_answer_is_not_decompressed():
    bomb = gzip.compress(b"0" * 10_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
    with server(head, bomb) as (url, seen):
        answer = client.send("GET", url)

    assert answer.body == bomb
    assert b"Accept-Encoding: identity" in seen[0]


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 200 OK\r\n", *[b"X-Pad: " + b"y" * 8192 + b"\r\n"] * 100],
        [b"HTTP/1.1 200 OK\r\nX-Pad: " + b"y" * 400_000 + b"\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nends early"],
        [b"SSH-2.0-OpenSSH_9.2\r\n"],
        [b""],
    ],
    ids=["many headers", "long header", "negative", "two lengths", "ends early", "another protocol", "silence"],
)
def test_malformed_answer_raises_a_request_error(parts):
    with server(*parts) as (url, _), pytest.raises(client.RequestFailedError):
        client.send("GET", url, timeout_seconds=2)


def test_endless_interim_responses_are_cut_off_at_the_deadline():
    with server(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000, pause=0.01) as (url, _):
        began = time.monotonic()
        with pytest.raises(client.RequestFailedError, match=r"within 0\.3 seconds"):
            client.send("GET", url, timeout_seconds=0.3)

    assert time.monotonic() - began < 5


def test_deadline_holds_for_a_server_that_does_not_read():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        began = time.monotonic()
        with pytest.raises(client.RequestFailedError, match=r"within 0\.3 seconds"):
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            client.send("POST", url, content=b"x" * 30_000_000, timeout_seconds=0.3)

    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("30", 30),
        ("0", 0),
        ("99999999999999999999", 3600),
        ("Fri, 20 Nov 2026 12:10:00 GMT", 600),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0),
        ("-5", None),
        ("soon", None),
        ("\u0663", None),
        ("", None),
    ],
)
def test_retry_after_header_is_parsed_and_capped(retry_after, seconds):
    answer = client.Answer(429, {"retry-after": retry_after}, b"")

    delay = answer.retry_after(at=datetime(2026, 11, 20, 12, tzinfo=UTC), at_most=timedelta(hours=1))

    assert delay == (None if seconds is None else timedelta(seconds=seconds))
