"""An identity provider on loopback: discovery, code exchange with PKCE, and ID tokens signed with a real key."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from brands.models.tenants import Brand

CLIENT_ID, SECRET = "the portal", "s3cret/with +signs"


@cache
def key(name: str) -> Any:
    """Return the same key for a name during a run, because generating one takes a moment."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Provider:
    """`claims` and `discovery` override the values of an honest provider; None removes one."""

    url: str
    email: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    discovery: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    key: Any = field(default_factory=lambda: key("the provider's"))
    delay_seconds: float = 0
    status: int = 200
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def authorize(self, address: str) -> dict[str, str]:
        """Agree as the user at the provider, and return the parameters that their browser brings back."""
        query = dict(parse_qsl(urlsplit(address).query))
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"], "iss": self.url}

    def discovery_document(self) -> dict[str, Any]:
        honest = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        return with_overrides(honest, self.discovery)

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key("the provider's").public_key()))
        return {"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]}

    def exchange_code(self, headers: Any, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        query = self.codes.pop(form.get("code", ""), None)
        pair = base64.b64decode(headers.get("Authorization", "").removeprefix("Basic ")).decode().split(":")
        if [unquote(part) for part in pair] != [CLIENT_ID, SECRET]:
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if query is None or challenge != query["code_challenge"] or form["redirect_uri"] != query["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"token_type": "Bearer", "id_token": self.token(query["nonce"])}

    def token(self, nonce: str) -> str:
        now = int(time.time())
        honest = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "email": self.email,
            "email_verified": True,
        }
        key = self.key if self.algorithm.startswith("RS") else (b"k" * 64 if self.algorithm != "none" else None)
        return jwt.encode(with_overrides(honest, self.claims), key, algorithm=self.algorithm, headers={"kid": "1"})


def with_overrides(honest: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**honest, **changed}.items() if value is not None}


@contextmanager
def running() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = provider.discovery_document() if self.path.endswith("openid-configuration") else provider.keys()
            self.answer(provider.status, document)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self.answer(*provider.exchange_code(self.headers, form))

        def answer(self, status: int, document: dict[str, Any]) -> None:
            provider.calls.append(self.path)
            time.sleep(provider.delay_seconds)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(url=f"http://127.0.0.1:{server.server_address[1]}")
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def start_sign_in(web_client: Client, brand: Brand) -> Any:
    return web_client.get(f"/admin/sign-in/{brand.slug}/")


def finish_sign_in(web_client: Client, brand: Brand, parameters: dict[str, str]) -> Any:
    return web_client.get(f"/admin/sign-in/{brand.slug}/done/", parameters)


def sign_in(web_client: Client, brand: Brand, provider: Provider) -> Any:
    return finish_sign_in(web_client, brand, provider.authorize(start_sign_in(web_client, brand).headers["Location"]))
