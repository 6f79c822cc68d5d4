"""External servers: a real HTTP server on loopback that records its requests, and answers as configured."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from standardwebhooks.webhooks import Webhook

from core.redis.client import client


@dataclass(frozen=True)
class Received:
    """A request as it was received."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)

    def verified(self, secret: str) -> Any:
        """The content, if the official library accepts the signature; else WebhookVerificationError is raised."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass(frozen=True)
class Reply:
    """How to answer: `waits` seconds before the answer, `drips` seconds between its bytes, `endless` without an end."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    waits: float = 0
    drips: float = 0
    endless: bool = False


@dataclass
class Receiver:
    """`replies` are sent in their order, the last of them repeatedly; `on_call` runs before each."""

    url: str
    replies: list[Reply] = field(default_factory=lambda: [Reply()])
    calls: list[Received] = field(default_factory=list)
    concurrent_calls: int = 0
    max_concurrent_calls: int = 0
    on_call: Callable[[Received], Reply | None] = lambda _call: None
    lock: Lock = field(default_factory=Lock)

    def answers(self, *replies: Reply | int) -> None:
        self.replies[:] = [Reply(reply) if isinstance(reply, int) else reply for reply in replies]

    def decides(self, **decision: Any) -> None:
        self.answers(Reply(body=json.dumps(decision).encode()))

    def take(self, call: Received) -> Reply:
        own = self.on_call(call)
        with self.lock:
            self.calls.append(call)
            return own or (self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver that runs until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with running.lock:
                running.concurrent_calls += 1
                running.max_concurrent_calls = max(running.max_concurrent_calls, running.concurrent_calls)
            try:
                reply = running.take(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                with suppress(OSError):
                    self.answer(reply)
            finally:
                with running.lock:
                    running.concurrent_calls -= 1

        def answer(self, reply: Reply) -> None:
            time.sleep(reply.waits)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if not reply.endless:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if reply.endless:
                self.close_connection = True
            while reply.endless:
                self.wfile.write(b"x" * 4096)
                time.sleep(reply.drips)
            if reply.drips:
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(reply.drips)
            else:
                self.wfile.write(reply.body)

        def log_message(self, *_: Any) -> None:
            """Requests are not logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Receiver(url=f"http://127.0.0.1:{server.server_address[1]}/hook")
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()


def reset_breakers() -> None:
    """As if no server had ever failed: breakers identify servers by the ids of their rows, which tests reuse."""
    for pattern in ("loyalty:breaker:*", "loyalty:slot:*"):
        for key in client().scan_iter(pattern):
            client().delete(key)


def end_cooldowns() -> None:
    """As if the cooldowns of all open breakers had just ended."""
    for key in client().scan_iter("loyalty:breaker:*:rest"):
        client().delete(key)
