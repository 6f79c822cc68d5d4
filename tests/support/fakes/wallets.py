"""Apple and Google in tests: a certificate authority, a fake APNs and a fake Google API."""

import json
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import h2.config
import h2.connection
import h2.events
import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.utils import timezone

from brands.models.tenants import Brand
from core.http import google_service_accounts
from loyalty.models.wallets import WalletIssuer
from loyalty.wallets import issuers
from loyalty.wallets.apple import certificates
from loyalty.wallets.apple.certificates import AppleKeys, Upload
from loyalty.wallets.google import issuer_keys
from loyalty.wallets.google.api import SCOPE
from loyalty.wallets.google.issuer_keys import GoogleKeys

TEAM, PASS_TYPE, PUSH_KEY_ID = "TEAM123456", "pass.com.example.card", "PUSHKEY123"
ISSUER_ID, ACCOUNT = "3388000000012345678", "wallet@example.iam.gserviceaccount.com"
DAY = timedelta(days=1)
Name = NameOID


@cache
def rsa_key(name: str) -> Any:
    """The same key for a name throughout a run, since a new key takes a moment."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def ec_key(name: str) -> Any:
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: Any) -> bytes:
    encoded: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return encoded


def certificate(
    subject: dict[Any, str],
    *,
    key: str,
    by: str,
    issuer: dict[Any, str],
    authority: bool = False,
    begins: datetime | None = None,
    ends: datetime | None = None,
    address: str = "",
) -> x509.Certificate:
    now = datetime.now(tz=UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(named(subject))
        .issuer_name(named(issuer))
        .public_key(rsa_key(key).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins or now - 400 * DAY)
        .not_valid_after(ends or now + 400 * DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(rsa_key(key).public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(rsa_key(by).public_key()), critical=False)
    )
    if address:
        import ipaddress

        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        builder = builder.add_extension(names, critical=False)
    elif not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    return builder.sign(rsa_key(by), hashes.SHA256())


def named(attributes: dict[Any, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid, text) for oid, text in attributes.items()])


ROOT_NAME = {Name.COMMON_NAME: "Root of the tests"}
WWDR_NAME = {Name.COMMON_NAME: "WWDR of the tests", Name.ORGANIZATIONAL_UNIT_NAME: "G4"}


@cache
def root() -> x509.Certificate:
    return certificate(ROOT_NAME, key="root", by="root", issuer=ROOT_NAME, authority=True)


@cache
def wwdr() -> x509.Certificate:
    return certificate(WWDR_NAME, key="wwdr", by="root", issuer=ROOT_NAME, authority=True)


def pass_certificate(
    identifier: str = PASS_TYPE, *, key: str = "pass", by: str = "wwdr", team: str = TEAM, **fields: Any
) -> x509.Certificate:
    subject = {Name.USER_ID: identifier, Name.COMMON_NAME: f"Pass Type ID: {identifier}"}
    subject |= {Name.ORGANIZATIONAL_UNIT_NAME: team} if team else {}
    return certificate(subject, key=key, by=by, issuer=WWDR_NAME, **fields)


def text(made: x509.Certificate) -> bytes:
    return made.public_bytes(serialization.Encoding.PEM)


def upload(**changes: Any) -> Upload:
    plain = {"certificate": text(pass_certificate()), "key": pem(rsa_key("pass")), "authority": text(wwdr())}
    return Upload(**{**plain, **changes})


def p12(password: str) -> bytes:
    encryption = serialization.BestAvailableEncryption(password.encode())
    encoded: bytes = pkcs12.serialize_key_and_certificates(b"c", rsa_key("pass"), pass_certificate(), None, encryption)
    return encoded


def apple(brand: Brand, *, identifier: str = PASS_TYPE, token: bool = False) -> WalletIssuer:
    """The brand makes Apple passes; it pushes with a token, or else with its certificate."""
    return issuers.save(brand=brand, keys=apple_keys(identifier, token=token), at=timezone.now())


@cache
def apple_keys(identifier: str, *, token: bool) -> AppleKeys:
    """Read once in a test run, since each reading starts a program."""
    push = {"push_key": pem(ec_key("push")), "push_key_id": PUSH_KEY_ID} if token else {}
    return certificates.read(upload(certificate=text(pass_certificate(identifier)), **push), at=timezone.now())


def service_account(**changes: Any) -> bytes:
    plain = {
        "type": "service_account",
        "client_email": ACCOUNT,
        "private_key": pem(rsa_key("google")).decode(),
        "private_key_id": "key-1",
        "token_uri": "https://evil.example.com/token",
    }
    return json.dumps({**plain, **changes}).encode()


def google(brand: Brand, *, issuer_id: str = ISSUER_ID) -> WalletIssuer:
    return issuers.save(brand=brand, keys=google_keys(issuer_id), at=timezone.now())


@cache
def google_keys(issuer_id: str) -> GoogleKeys:
    """Read once in a test run, as Apple's keys are."""
    return issuer_keys.read(service_account(), issuer_id)


# --- APNs ------------------------------------------------------------------------------------------------------------


@dataclass
class Apns:
    """Apple's push service: HTTP/2 over TLS. `answers` has the answers to the next pushes of each device."""

    port: int
    pushes: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, list[tuple[int, Any, dict[str, str]]]] = field(default_factory=dict)
    connections: int = 0
    waits: float = 0  # seconds before each answer
    accepts_tokens: bool = True

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def tokens(self) -> list[str]:
        """The devices that were notified, in order."""
        return [push["device"] for push in self.pushes if push["status"] == 200]

    def answer(self, device: str, status: int, reason: str = "", *, times: int = 1, **headers: str) -> None:
        body: dict[str, Any] = {"reason": reason}
        if status == 410:
            body["timestamp"] = int(time.time() * 1000) + 60_000
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.setdefault(device, []).extend([(status, body, named)] * times)

    def respond(self, headers: dict[str, str], body: bytes, peer: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """The answer of Apple: an error for wrong credentials or a wrong topic, else what the test has prepared."""
        device = headers[":path"].rpartition("/")[2]
        more: dict[str, str]
        proof = self.proof(headers, peer)
        if not proof:
            status, payload, more = 403, {"reason": "InvalidProviderToken"}, {}
        elif headers.get("apns-topic") != PASS_TYPE or body != b"{}" or headers[":method"] != "POST":
            status, payload, more = 400, {"reason": "BadTopic"}, {}
        else:
            status, payload, more = (self.answers.get(device) or [(200, None, {})]).pop(0)
        self.pushes.append({"device": device, "status": status, "proof": proof, "headers": headers})
        return status, payload, more

    def proof(self, headers: dict[str, str], peer: dict[str, Any]) -> str:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme == "bearer" and self.accepts_tokens:
            try:
                claims = jwt.decode(token, ec_key("push").public_key(), algorithms=["ES256"])
            except jwt.InvalidTokenError:
                return ""
            kid = jwt.get_unverified_header(token)["kid"]
            return token if (claims["iss"], kid) == (TEAM, PUSH_KEY_ID) and claims["iat"] <= time.time() + 1 else ""
        subject = dict(pair[0] for pair in peer.get("subject", ()))
        return "certificate" if subject.get("userId", subject.get("UID")) == PASS_TYPE else ""

    def serve(self, listening: socket.socket, context: ssl.SSLContext) -> None:
        while True:
            try:
                raw, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve_connection, args=(raw, context), daemon=True).start()

    def serve_connection(self, raw: socket.socket, context: ssl.SSLContext) -> None:
        try:
            with context.wrap_socket(raw, server_side=True) as caller:
                assert caller.selected_alpn_protocol() == "h2"
                self.connections += 1
                self.serve_requests(caller)
        except OSError:
            raw.close()

    def serve_requests(self, caller: ssl.SSLSocket) -> None:
        session = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        session.initiate_connection()
        caller.sendall(session.data_to_send())
        requests: dict[int, tuple[dict[str, str], bytearray]] = {}
        while data := caller.recv(65536):
            for event in session.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = (dict[Any, Any](event.headers), bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    session.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    headers, body = requests.pop(event.stream_id)
                    status, payload, more = self.respond(headers, bytes(body), caller.getpeercert() or {})
                    time.sleep(self.waits)
                    session.send_headers(event.stream_id, [(":status", str(status)), *more.items()], payload is None)
                    if payload is not None:
                        session.send_data(event.stream_id, json.dumps(payload).encode(), end_stream=True)
            caller.sendall(session.data_to_send())


@contextmanager
def apns() -> Iterator[Apns]:
    """A server that uses and trusts the authority of the tests; its clients need `root_file()` as SSL_CERT_FILE."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own = certificate({Name.COMMON_NAME: "APNs"}, key="apns", by="root", issuer=ROOT_NAME, address="127.0.0.1")
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pem(rsa_key("apns")) + text(own))
        file.flush()
        context.load_cert_chain(file.name)
    context.load_verify_locations(root_file())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Apns(listening.getsockname()[1])
        threading.Thread(target=server.serve, args=(listening, context), daemon=True).start()
        yield server


@cache
def root_file() -> str:
    file = Path(tempfile.mkdtemp(prefix="wallet-root-")) / "root.pem"
    file.write_bytes(text(root()))
    return str(file)


# --- Google ----------------------------------------------------------------------------------------------------------


@dataclass
class Google:
    """Google's token endpoint and wallet API; `answers` has the answers to the next calls, by kind of address."""

    port: int
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str, int]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    grants: int = 0
    saved: bool = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, kind: str, status: int, message: str = "", *, times: int = 1) -> None:
        """`kind` is token, loyaltyClass or loyaltyObject."""
        payload = {"error": {"code": status, "message": message}}
        self.answers.setdefault(kind, []).extend([(status, payload)] * times)

    def objects(self) -> list[dict[str, Any]]:
        return [resource for name, resource in self.resources.items() if name.startswith("loyaltyObject/")]

    def sent(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of the calls that were answered with 200, newest last."""
        exchanges = zip(self.calls, self.bodies, strict=True)
        return [body for (_method, path, status), body in exchanges if path.startswith(kind) and status == 200]

    def grant(self, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        try:
            claims = jwt.decode(
                form["assertion"][0],
                rsa_key("google").public_key(),
                algorithms=["RS256"],
                audience=f"{self.address}/token",
                issuer=ACCOUNT,
            )
        except jwt.PyJWTError as error:
            return 400, {"error": "invalid_grant", "error_description": str(error)}
        if form["grant_type"] != [google_service_accounts.GRANT] or claims["scope"] != SCOPE:
            return 400, {"error": "invalid_grant"}
        self.grants += 1
        token = f"access-{self.grants}"
        self.tokens = {token}
        return 200, {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}

    def handle(self, method: str, path: str, body: dict[str, Any], bearer: str) -> tuple[int, dict[str, Any]]:
        kind, _, name = path.partition("/")
        if bearer.removeprefix("Bearer ") not in self.tokens:
            return 401, {"error": {"code": 401}}
        if self.answers.get(kind):
            return self.answers[kind].pop(0)
        full = f"{kind}/{name or body['id']}"
        if kind == "loyaltyObject" and f"loyaltyClass/{body['classId']}" not in self.resources:
            return 400, {"error": {"message": "class not found"}}
        if method == "PATCH" and full not in self.resources:
            return 404, {"error": {"code": 404}}
        if method == "POST" and full in self.resources:
            return 409, {"error": {"code": 409}}
        self.resources[full] = {**self.resources.get(full, {}), **body}
        return 200, {**self.resources[full], **({"hasUsers": True} if self.saved else {})}


@contextmanager
def google_server() -> Iterator[Google]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.lstrip("/")
            if path == "token":
                prepared = google_api.answers.get("token")
                status, payload = prepared.pop(0) if prepared else google_api.grant(parse_qs(body.decode()))
            else:
                sent = json.loads(body)
                status, payload = google_api.handle(self.command, path, sent, self.headers.get("Authorization", ""))
                google_api.calls.append((self.command, path, status))
                google_api.bodies.append(sent)
            content = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PATCH = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Requests are not logged; tests read `calls`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        google_api = Google(server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield google_api
        server.shutdown()
