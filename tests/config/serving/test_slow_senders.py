"""Slow senders and silent connections do not block the web server, nor the nginx of docs/operations before it."""

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

SENDERS = 40  # for 2 processes with 2 threads each, among which the kernel distributes them as it likes
BODY_SECONDS = 3
MORE_THAN_ACCEPTED = 1100  # by 2 processes, 512 each
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
    """nginx with the documented configuration, but on other ports, without TLS and with a shorter timeout."""
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
    configuration = configuration.replace("/var/log/nginx", str(tmp_path))
    (tmp_path / "site.conf").write_text(configuration)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary_paths = "\n".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        f"events {{ worker_connections 500; }}\n"
        f"http {{ access_log off; {temporary_paths}\ninclude {tmp_path}/site.conf; }}\n"
    )
    server = subprocess.Popen([program, "-p", tmp_path, "-c", tmp_path / "nginx.conf"])
    wait_until(lambda: is_alive(port, seconds=1))
    yield port
    server.terminate()
    server.wait()


def is_alive(port, *, seconds):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=seconds).status_code == 200
    except httpx.TransportError:
        return False


def slow_senders(port, number=SENDERS):
    """Connections that each announce a body, send a bit of it and wait."""
    connections = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(number)]
    for connection in connections:
        connection.sendall(HEAD + b'Content-Length: 500\r\n\r\n{"code": "')
    time.sleep(0.5)
    return connections


def scan_seconds(port, address):
    began = time.monotonic()
    headers = {"X-Forwarded-For": address, "Host": "localhost"}
    answer = httpx.post(
        f"http://127.0.0.1:{port}/api/v1/auth-codes/scan", json={"code": "NOBODYS"}, headers=headers, timeout=20
    )
    assert answer.json()["error"] == "AUTH_CODE_INVALID"
    return time.monotonic() - began


def test_two_hundred_slow_senders_do_not_delay_other_requests(web):
    connections = slow_senders(web.port, 200)

    assert all(is_alive(web.port, seconds=2) for _ in range(8))
    assert max(scan_seconds(web.port, "198.51.100.7") for _ in range(8)) < 2
    for connection in connections:
        connection.close()


def send_slowly(connections, *, seconds, every=1.0):
    """Send a byte a second on each connection until the server has closed all of them; return how many are closed."""
    closed, deadline = set(), time.monotonic() + seconds
    while len(closed) < len(connections) and time.monotonic() < deadline:
        for connection in set(connections) - closed:
            try:
                connection.sendall(b"a")
            except OSError:
                closed.add(connection)
        time.sleep(every)
    return len(closed)


def test_slow_and_silent_connections_do_not_delay_other_requests(web):
    silent = [socket.create_connection(("127.0.0.1", web.port), timeout=20) for _ in range(200)]
    connections = slow_senders(web.port, 200)

    with ThreadPoolExecutor() as executor:
        closed = executor.submit(send_slowly, connections, seconds=14)
        for number in count(1):
            assert is_alive(web.port, seconds=2)
            assert scan_seconds(web.port, f"198.51.{number}.7") < 2
            time.sleep(0.5)
            if closed.done():
                break

    assert closed.result() == 200
    for connection in [*silent, *connections]:
        connection.close()


def silent_connections(port, number):
    return [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(number)]


def closed_by_server(connections):
    """The number of connections that the server has closed."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return len(poll.poll(0))


def close(connections):
    for connection in connections:
        connection.close()


def test_excess_silent_connections_block_the_server_only_for_seconds(web):
    connections = silent_connections(web.port, MORE_THAN_ACCEPTED)

    wait_until(lambda: is_alive(web.port, seconds=2), seconds=10)
    wait_until(lambda: closed_by_server(connections) == MORE_THAN_ACCEPTED, seconds=20)
    assert is_alive(web.port, seconds=2)
    close(connections)


def test_control_silent_connections_block_a_server_without_fair_threads(unfair_web):
    connections = silent_connections(unfair_web.port, MORE_THAN_ACCEPTED)

    # Connections beyond the server's capacity wait to be accepted.
    wait_until(lambda: not is_alive(unfair_web.port, seconds=2))
    time.sleep(SILENT_SECONDS + 2)
    assert closed_by_server(connections) == 0
    close(connections)


def get_healthz(connection):
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_late_and_repeated_requests_of_a_connection_are_answered(web):
    late, again = connections = silent_connections(web.port, 2)
    assert get_healthz(again)
    time.sleep(SILENT_SECONDS / 2)
    assert get_healthz(late)
    time.sleep(SILENT_SECONDS + 2)

    assert get_healthz(again)
    assert get_healthz(late)
    close(connections)


def test_silent_connections_of_one_address_are_limited():
    with ExitStack() as exit_stack:
        server = exit_stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        clients = [exit_stack.enter_context(each) for each in silent_connections(port, MAX_SILENT_PER_ADDRESS + 3)]
        for _ in clients:
            exit_stack.enter_context(server.accept()[0])
        clients[0].sendall(b"G")
        time.sleep(YOUNG_SECONDS + 0.2)

        assert end_silent() == 2
        assert closed_by_server(clients) == 2
        assert end_silent() == 0


def test_ipv4_address_on_an_ipv6_socket_counts_as_the_same():
    with ExitStack() as exit_stack:
        both = socket.AF_INET6
        servers = [
            exit_stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            exit_stack.enter_context(socket.create_server(("::", 0), family=both, dualstack_ipv6=True)),
        ]
        for server in servers:
            for _ in range(MAX_SILENT_PER_ADDRESS // 2 + 1):
                exit_stack.enter_context(socket.create_connection(("127.0.0.1", server.getsockname()[1]), timeout=20))
                exit_stack.enter_context(server.accept()[0])
        time.sleep(YOUNG_SECONDS + 0.2)

        assert end_silent() == 2


def test_slow_sender_is_rejected_with_retry_after(web):
    [connection] = slow_senders(web.port, 1)
    connection.settimeout(0.2)
    response = b""
    for _ in range(100):
        if not response:
            with suppress(TimeoutError):
                connection.sendall(b"a")
                response = connection.recv(10_000)

    head, _, body = response.partition(b"\r\n\r\n")
    assert b" 503 " in head.splitlines()[0]
    assert b"retry-after" in head
    assert b"did not come in time" in body


def test_control_slow_senders_block_a_server_without_fair_threads(unfair_web):
    web = unfair_web
    connections = slow_senders(web.port)

    # A process that had not opened its port yet accepted none of the first connections.
    wait_until(lambda: not is_alive(web.port, seconds=2) or connections.extend(slow_senders(web.port)))
    for connection in connections:
        connection.close()
    wait_until(lambda: is_alive(web.port, seconds=2))


def test_nginx_rejects_slow_senders_and_stays_available(proxy):
    began = time.monotonic()
    connections = slow_senders(proxy)

    assert all(is_alive(proxy, seconds=2) for _ in range(8))
    responses = [connection.recv(100) for connection in connections]
    assert all(not response or b" 408 " in response for response in responses)
    assert time.monotonic() - began < BODY_SECONDS + 5
    for connection in connections:
        connection.close()


def test_nginx_forwards_requests_of_ordinary_speed(proxy):
    answer = httpx.post(f"http://127.0.0.1:{proxy}/api/v1/auth-codes/scan", json={"code": "NOBODYS"})

    assert (answer.status_code, answer.json()["error"]) == (400, "AUTH_CODE_INVALID")


def test_nginx_hides_the_metrics(proxy):
    assert httpx.get(f"http://127.0.0.1:{proxy}/metrics").status_code == 404
