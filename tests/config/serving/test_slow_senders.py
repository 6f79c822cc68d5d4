"""Senders who never finish hold the web server's threads; behind the nginx of docs/operations they hold none."""

import re
import select
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count

import httpx
import pytest
from django.conf import settings

from config.serving.silent_connections import MAX_SILENT_PER_ADDRESS, SILENT_SECONDS, YOUNG_SECONDS, end_silent
from tests.support.live_stack import ROOT, Stack, free_port, wait_until

SENDERS = 40  # for 2 processes with 2 threads each, over which the kernel deals them out as it likes
BODY_SECONDS = 3
MORE_THAN_ARE_ACCEPTED = 1100  # by 2 processes, 512 each
HEAD = b"POST /api/v1/auth-codes/scan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"

pytestmark = pytest.mark.django_db(transaction=True)  # the web's tables are emptied after each test


@contextmanager
def running(folder, *, fair):
    stack = Stack(log=folder / "log", redis_url=settings.REDIS_URL)
    stack.settings |= {"TRUSTED_PROXIES": "1"}
    stack.constants |= {"WEB_BODY_SECONDS": 2}
    try:
        stack.start_web(fair=fair)
        yield stack
    finally:
        stack.stop()


@pytest.fixture(scope="module")
def web(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock(), running(tmp_path_factory.mktemp("fair"), fair=True) as stack:
        yield stack


@pytest.fixture(scope="module")
def unfair_web(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock(), running(tmp_path_factory.mktemp("unfair"), fair=False) as stack:
        yield stack


@pytest.fixture
def proxy(web, tmp_path):
    """The documented configuration, on other ports and without TLS; a second of patience stands for three."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not program:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    port = free_port()
    configuration = (ROOT / "docs" / "operations" / "nginx.conf").read_text()
    configuration = configuration.replace("127.0.0.1:8000", f"127.0.0.1:{web.port}").replace(
        "listen 443 ssl", f"listen 127.0.0.1:{port}"
    )
    configuration = re.sub(r"\n *ssl_.*", "", configuration).replace(
        "server_name portal.example.com brand.example.com", "server_name _"
    )
    configuration = re.sub(r"client_body_timeout +10s", f"client_body_timeout {BODY_SECONDS}s", configuration)
    assert f"client_body_timeout {BODY_SECONDS}s" in configuration
    (tmp_path / "site.conf").write_text(configuration)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        f"events {{ worker_connections 500; }}\n"
        f"http {{ access_log off; {temporary}\ninclude {tmp_path}/site.conf; }}\n"
    )
    server = subprocess.Popen([program, "-p", tmp_path, "-c", tmp_path / "nginx.conf"])
    wait_until(lambda: answers(port, seconds=1))
    yield port
    server.terminate()
    server.wait()


def answers(port, *, seconds):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=seconds).status_code == 200
    except httpx.TransportError:
        return False


def slow_senders(port, number=SENDERS):
    """Each promises a body, sends a bit of it and waits."""
    lines = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(number)]
    for line in lines:
        line.sendall(HEAD + b'Content-Length: 500\r\n\r\n{"code": "')
    time.sleep(0.5)
    return lines


def scan_seconds(port, address):
    began = time.monotonic()
    headers = {"X-Forwarded-For": address, "Host": "localhost"}
    answer = httpx.post(
        f"http://127.0.0.1:{port}/api/v1/auth-codes/scan", json={"code": "NOBODYS"}, headers=headers, timeout=20
    )
    assert answer.json()["error"] == "AUTH_CODE_INVALID"
    return time.monotonic() - began


def test_two_hundred_slow_senders_hold_up_nobody_else(web):
    lines = slow_senders(web.port, 200)

    assert all(answers(web.port, seconds=2) for _ in range(8))
    assert max(scan_seconds(web.port, "198.51.100.7") for _ in range(8)) < 2
    for line in lines:
        line.close()


def dripping(lines, *, seconds, every=1.0):
    """Each sends a byte a second until the server has broken off all of them; returns how many it has."""
    gone, end = set(), time.monotonic() + seconds
    while len(gone) < len(lines) and time.monotonic() < end:
        for line in set(lines) - gone:
            try:
                line.sendall(b"a")
            except OSError:
                gone.add(line)
        time.sleep(every)
    return len(gone)


def test_two_hundred_who_drip_and_two_hundred_who_say_nothing_hold_up_nobody_else(web):
    silent = [socket.create_connection(("127.0.0.1", web.port), timeout=20) for _ in range(200)]
    lines = slow_senders(web.port, 200)

    with ThreadPoolExecutor() as beside:
        gone = beside.submit(dripping, lines, seconds=14)
        for number in count(1):
            assert answers(web.port, seconds=2)
            assert scan_seconds(web.port, f"198.51.{number}.7") < 2
            time.sleep(0.5)
            if gone.done():
                break

    assert gone.result() == 200
    for line in [*silent, *lines]:
        line.close()


def silent_connections(port, number):
    return [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(number)]


def ended(lines):
    """Those of the connections that the server has ended."""
    waiting = select.poll()
    for line in lines:
        waiting.register(line, select.POLLIN)
    return len(waiting.poll(0))


def close(lines):
    for line in lines:
        line.close()


def test_more_silent_connections_than_the_server_accepts_hold_it_up_for_seconds_only(web):
    lines = silent_connections(web.port, MORE_THAN_ARE_ACCEPTED)

    wait_until(lambda: answers(web.port, seconds=2), seconds=10)
    wait_until(lambda: ended(lines) == MORE_THAN_ARE_ACCEPTED, seconds=20)
    assert answers(web.port, seconds=2)
    close(lines)


def test_control_silent_connections_hold_the_server_itself(unfair_web):
    lines = silent_connections(unfair_web.port, MORE_THAN_ARE_ACCEPTED)

    # Those that the server has no room for wait to be accepted.
    wait_until(lambda: not answers(unfair_web.port, seconds=2))
    time.sleep(SILENT_SECONDS + 2)
    assert ended(lines) == 0
    close(lines)


def healthz(line):
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return line.recv(1000).startswith(b"HTTP/1.1 200")


def test_who_speaks_late_or_again_is_answered(web):
    late, again = lines = silent_connections(web.port, 2)
    assert healthz(again)
    time.sleep(SILENT_SECONDS / 2)
    assert healthz(late)
    time.sleep(SILENT_SECONDS + 2)

    assert healthz(again)
    assert healthz(late)
    close(lines)


def test_of_one_address_so_many_may_be_silent_for_a_moment():
    with ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        outside = [opened.enter_context(each) for each in silent_connections(port, MAX_SILENT_PER_ADDRESS + 3)]
        for _ in outside:
            opened.enter_context(server.accept()[0])
        outside[0].sendall(b"G")
        time.sleep(YOUNG_SECONDS + 0.2)

        assert end_silent() == 2
        assert ended(outside) == 2
        assert end_silent() == 0


def test_an_address_is_one_through_ipv6_too():
    with ExitStack() as opened:
        both = socket.AF_INET6
        servers = [
            opened.enter_context(socket.create_server(("127.0.0.1", 0))),
            opened.enter_context(socket.create_server(("::", 0), family=both, dualstack_ipv6=True)),
        ]
        for server in servers:
            for _ in range(MAX_SILENT_PER_ADDRESS // 2 + 1):
                opened.enter_context(socket.create_connection(("127.0.0.1", server.getsockname()[1]), timeout=20))
                opened.enter_context(server.accept()[0])
        time.sleep(YOUNG_SECONDS + 0.2)

        assert end_silent() == 2


def test_who_drips_is_sent_away(web):
    [line] = slow_senders(web.port, 1)
    line.settimeout(0.2)
    response = b""
    for _ in range(100):
        if not response:
            with suppress(TimeoutError):
                line.sendall(b"a")
                response = line.recv(10_000)

    head, _, body = response.partition(b"\r\n\r\n")
    assert b" 503 " in head.splitlines()[0]
    assert b"retry-after" in head
    assert b"did not come in time" in body


def test_control_slow_senders_hold_the_server_itself(unfair_web):
    web = unfair_web
    lines = slow_senders(web.port)

    # A process that had not opened its port yet took none of the first ones.
    wait_until(lambda: not answers(web.port, seconds=2) or lines.extend(slow_senders(web.port)))
    for line in lines:
        line.close()
    wait_until(lambda: answers(web.port, seconds=2))


def test_behind_nginx_they_hold_nothing_and_are_sent_away(proxy):
    began = time.monotonic()
    lines = slow_senders(proxy)

    assert all(answers(proxy, seconds=2) for _ in range(8))
    responses = [line.recv(100) for line in lines]
    assert all(not response or b" 408 " in response for response in responses)
    assert time.monotonic() - began < BODY_SECONDS + 5
    for line in lines:
        line.close()


def test_nginx_takes_what_comes_at_an_ordinary_pace(proxy):
    answer = httpx.post(f"http://127.0.0.1:{proxy}/api/v1/auth-codes/scan", json={"code": "NOBODYS"})

    assert (answer.status_code, answer.json()["error"]) == (400, "AUTH_CODE_INVALID")


def test_nginx_hides_the_figures(proxy):
    assert httpx.get(f"http://127.0.0.1:{proxy}/metrics").status_code == 404
