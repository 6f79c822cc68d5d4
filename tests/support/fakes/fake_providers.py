"""Mail, SMS and push services on loopback: they check credentials and requests, and fail on command."""

import base64
import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import jwt
from aiosmtpd.controller import Controller
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.live_stack import free_port

SID, SMS_KEY = "AC" + "0" * 32, "0123456789abcdef0123456789abcdef"


class Mailbox:
    """An SMTP server. `refusals` answers RCPT by address, `answers` answers DATA once each, in order."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.rejections: dict[str, str] = {}
        self.answers: deque[str] = deque()
        self.controller = Controller(self, hostname="127.0.0.1", port=free_port())

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if address in self.rejections:
            return self.rejections[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.answers:
            return self.answers.popleft()
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        self.recipients += envelope.rcpt_tos
        return "250 taken"

    @property
    def port(self) -> int:
        return int(self.controller.port)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    box.controller.start()
    try:
        yield box
    finally:
        box.controller.stop()


class Web:
    """An HTTP server; `answer` takes path, headers and body, and returns status, JSON and headers."""

    def __init__(self) -> None:
        self.answers: deque[tuple[int, Any, dict[str, str]]] = deque()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status, content, headers = web.answer(self.path, dict(self.headers), body)
                data = json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Requests are not logged."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, dict[str, str]]:
        raise NotImplementedError


class Sms(Web):
    """As Twilio: Basic authentication, a form, 201 with a SID."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, str]] = []

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, dict[str, str]]:
        if headers.get("Authorization") != "Basic " + base64.b64encode(f"{SID}:{SMS_KEY}".encode()).decode():
            return 401, {"code": 20003, "message": "Authenticate"}, {}
        if path != f"/2010-04-01/Accounts/{SID}/Messages.json":
            return 404, {"code": 20404, "message": "not found"}, {}
        if self.answers:
            return self.answers.popleft()
        form = {name: values[0] for name, values in parse_qs(body.decode(), strict_parsing=True).items()}
        if not {"To", "Body"} <= set(form) or not ({"From", "MessagingServiceSid"} & set(form)):
            return 400, {"code": 21604, "message": "A 'To' phone number is required."}, {}
        self.messages.append(form)
        return 201, {"sid": f"SM{len(self.messages):032d}"}, {}


class Push(Web):
    """As Google's token server and Firebase Cloud Messaging together; it knows one service account."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.grants = 0
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def service_account(self) -> str:
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        account = {"type": "service_account", "project_id": "acme", "client_email": "push@acme.example.com"}
        return json.dumps({**account, "private_key_id": "k1", "private_key": pem})

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, dict[str, str]]:
        if path == "/token":
            return self.grant(parse_qs(body.decode()))
        if headers.get("Authorization") != f"Bearer access-{self.grants}" or path != "/v1/projects/acme/messages:send":
            return 401, {"error": {"status": "UNAUTHENTICATED", "message": "no"}}, {}
        if self.answers:
            return self.answers.popleft()
        self.messages.append(json.loads(body)["message"])
        return 200, {"name": f"projects/acme/messages/{len(self.messages)}"}, {}

    def grant(self, form: dict[str, list[str]]) -> tuple[int, Any, dict[str, str]]:
        try:
            claims = jwt.decode(
                form["assertion"][0], self.key.public_key(), algorithms=["RS256"], audience=f"{self.url}/token"
            )
        except jwt.PyJWTError as error:
            return 400, {"error": "invalid_grant", "error_description": str(error)}, {}
        expected = ("push@acme.example.com", "https://www.googleapis.com/auth/firebase.messaging")
        if (claims["iss"], claims["scope"]) != expected:
            return 400, {"error": "invalid_scope"}, {}
        self.grants += 1
        return 200, {"access_token": f"access-{self.grants}", "expires_in": 3599}, {}


@contextmanager
def serving(make: Callable[[], Any]) -> Iterator[Any]:
    web = make()
    thread = Thread(target=web.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.server.shutdown()
        web.server.server_close()
