"""Tokens of an external issuer are verified with its published keys, for customers of its brands only."""

import json
import time
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.conf import settings
from django.utils import timezone

from brands.identity import jwks, tokens
from brands.identity.tokens import Principal
from brands.models.people import StaffRole
from core.errors import TokenInvalid, Unavailable
from core.http import client
from loyalty.points import accounts
from tests.brands.identity.conftest import LONG_AGO, signed
from tests.support import factories
from tests.support.api import Api
from tests.support.fakes import slow_keys
from tests.support.live_stack import wait_until

ISSUER = "https://login.example.com"


AUDIENCE = "shop"


# --- Another issuer --------------------------------------------------------------------------------------------------


RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer:
    """A real HTTP server that publishes keys, as Keycloak or Auth0 would."""

    def __init__(self):
        self.private = RSA_KEY
        self.status, self.requests = 200, 0
        self.is_answering = Event()  # while it is cleared, callers wait
        self.is_answering.set()
        self.publish(self.jwk("one"))
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.requests += 1
                issuer.is_answering.wait(2)
                self.send_response(issuer.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def publish(self, *keys):
        self.body = json.dumps({"keys": keys}).encode()

    def jwk(self, key_id, **members):
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
        return {**public, "kid": key_id, "use": "sig", "alg": "RS256", **members}

    def public_pem(self):
        public = self.private.public_key()
        return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def token(self, key_id="one", **claims):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "without": ["token_type"], **claims}
        return signed(key=self.private, algorithm="RS256", headers={"kid": key_id}, **claims)


@pytest.fixture
def issuer(settings):
    external_issuer = Issuer()
    settings.JWT_EXTERNAL_JWKS_URL = external_issuer.url
    settings.JWT_EXTERNAL_ISSUER = ISSUER
    settings.JWT_EXTERNAL_AUDIENCE = AUDIENCE
    settings.JWT_EXTERNAL_BRANDS = frozenset({2})
    yield external_issuer
    external_issuer.server.shutdown()
    external_issuer.server.server_close()


def test_token_of_the_external_issuer_is_accepted(issuer):
    assert tokens.verify_access(issuer.token()) == Principal(user_id=1, brand_id=2)


def test_own_tokens_are_accepted_without_calling_the_issuer(issuer):
    assert tokens.verify_access(signed()) == Principal(user_id=1, brand_id=2)
    assert issuer.requests == 0


def test_keys_are_fetched_once(issuer):
    for _ in range(5):
        tokens.verify_access(issuer.token())

    assert issuer.requests == 1


def test_token_without_a_key_id_is_verified_with_the_only_key(issuer):
    token = signed(key=issuer.private, algorithm="RS256", iss=ISSUER, aud=AUDIENCE)

    assert tokens.verify_access(token) == Principal(user_id=1, brand_id=2)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"exp": LONG_AGO},
        {"without": ["exp"]},
        {"without": ["user_id"]},
        {"user_id": 2**63},
        {"brand_id": 3},
        {"brand_id": [2]},
        {"without": [], "token_type": "refresh"},
        {"iss": settings.JWT_ISSUER, "aud": settings.JWT_AUDIENCE},
    ],
    ids=str,
)
def test_external_token_with_an_invalid_claim_is_rejected(issuer, claims):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token(**claims))


def test_published_key_cannot_be_used_as_an_hmac_secret(issuer):
    """RFC 8725 2.1: a verifier that trusts the header would use the public key as an HMAC secret."""
    header = {"alg": "HS256", "kid": "one"}
    claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 60, "user_id": 1, "brand_id": 2}
    parts = [jwt.utils.base64url_encode(json.dumps(part).encode()) for part in (header, claims)]
    hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    parts.append(jwt.utils.base64url_encode(hmac.sign(b".".join(parts), issuer.public_pem())))

    with pytest.raises(TokenInvalid):
        tokens.verify_access(b".".join(parts).decode())


def test_published_symmetric_key_is_not_used(issuer, settings):
    settings.JWT_EXTERNAL_ALGORITHM = "HS256"
    secret = "a secret that everybody can read there"
    issuer.publish({"kty": "oct", "kid": "one", "k": jwt.utils.base64url_encode(secret.encode()).decode()})

    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key=secret, headers={"kid": "one"}, iss=ISSUER, aud=AUDIENCE))


@pytest.mark.parametrize("is_private", [True, False])
def test_published_key_of_excessive_size_is_not_loaded(issuer, is_private, monkeypatch):
    huge = slow_keys.rsa_key()
    members = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(huge if is_private else huge.public_key()))
    monkeypatch.setattr(jwt.PyJWK, "__init__", lambda *_: pytest.fail("it is loaded"))

    issuer.publish({**members, "kid": "one"})

    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token())


def test_published_private_key_is_not_used(issuer):
    issuer.publish({**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(issuer.private)), "kid": "one"})

    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token())


def test_external_token_signed_with_another_key_is_rejected(issuer):
    other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key=other_key, algorithm="RS256", headers={"kid": "one"}, iss=ISSUER, aud=AUDIENCE))


def test_external_token_signed_with_our_secret_is_rejected(issuer):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(headers={"kid": "one"}, iss=ISSUER, aud=AUDIENCE))


def test_only_the_configured_algorithm_is_accepted(issuer, settings):
    settings.JWT_EXTERNAL_ALGORITHM = "ES256"
    curve = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(curve.public_key()))
    issuer.publish({**public, "kid": "curve"}, issuer.jwk("one"))

    token = signed(key=curve, algorithm="ES256", headers={"kid": "curve"}, iss=ISSUER, aud=AUDIENCE)

    assert tokens.verify_access(token) == Principal(user_id=1, brand_id=2)
    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token())


@pytest.mark.parametrize("members", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}, {"n": "?"}, {"kid": ["one"]}])
def test_key_for_another_purpose_is_not_used(issuer, members):
    issuer.publish(issuer.jwk("one", **members))

    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token())


def test_new_key_of_the_issuer_is_fetched(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.publish(issuer.jwk("one"), issuer.jwk("two"))

    assert tokens.verify_access(issuer.token("two")) == Principal(user_id=1, brand_id=2)
    assert issuer.requests == 2


def test_unknown_key_ids_cause_only_one_fetch(issuer):
    for number in range(20):
        with pytest.raises(TokenInvalid):
            tokens.verify_access(issuer.token(f"made up {number}"))

    assert issuer.requests == 1


def test_token_with_a_cached_key_does_not_wait_for_a_slow_issuer(issuer, monkeypatch):
    """As a control, a token without a cached key waits for the thread that fetches."""
    tokens.verify_access(issuer.token())
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    issuer.is_answering.clear()
    with ThreadPoolExecutor(3) as pool:
        fetching = pool.submit(tokens.verify_access, issuer.token())
        wait_until(lambda: issuer.requests == 2)

        assert pool.submit(tokens.verify_access, issuer.token()).result(timeout=1) == Principal(user_id=1, brand_id=2)
        unknown = pool.submit(tokens.verify_access, issuer.token("two"))
        assert not futures.wait([unknown, fetching], timeout=0.2).done
        issuer.is_answering.set()


def test_unreachable_issuer_is_reported_as_unavailable(issuer):
    issuer.server.shutdown()
    issuer.server.server_close()

    with pytest.raises(Unavailable) as raised:
        tokens.verify_access(issuer.token())

    assert raised.value.retry_after == jwks.REFETCH_COOLDOWN_SECONDS


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b""),
        (302, b'{"keys": []}'),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"keys": {}}'),
        (200, b"[" * 90_000),
        (200, b" " * (client.MAX_ANSWER_BYTES + 1)),
    ],
    ids=["error", "redirect", "no json", "no object", "no list", "too deep", "too long"],
)
def test_issuer_without_a_valid_key_set_is_reported_as_unavailable(issuer, status, body):
    issuer.status, issuer.body = status, body

    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token())


def test_cached_keys_are_used_during_an_outage(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.status = 500

    assert tokens.verify_access(issuer.token()) == Principal(user_id=1, brand_id=2)
    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token("two"))


def test_cached_keys_expire_during_a_long_outage(issuer, monkeypatch):
    tokens.verify_access(issuer.token())
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    monkeypatch.setattr(jwks, "MAX_STALE_SECONDS", 0)
    issuer.status = 500

    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token())


# --- Users that the issuer authenticates -----------------------------------------------------------------------------


@pytest.fixture
def status_as(issuer, brand, settings):
    """Return a function that calls the API with the issuer's token for a user, for the answer's status."""
    settings.JWT_EXTERNAL_BRANDS = frozenset({brand.pk})

    def call_as(user, path="customer/loyalty/points"):
        token = issuer.token(user_id=user.pk, brand_id=brand.pk)
        return Api(brand).with_headers(authorization=f"Bearer {token}").get(path).status_code

    return call_as


@pytest.mark.django_db
def test_external_issuer_authenticates_customers_of_its_brand(status_as, brand):
    registered, enrolled = factories.customer(brand), factories.customer(factories.brand())
    accounts.enrol(user_id=enrolled.pk, brand_id=brand.pk, at=timezone.now())

    assert [status_as(user) for user in (registered, enrolled)] == [200, 200]


@pytest.mark.django_db
def test_external_issuer_authenticates_neither_staff_nor_other_customers(status_as, brand):
    staff = factories.customer(brand, is_staff=True)
    superuser = factories.customer(brand, is_superuser=True)
    with_role = factories.customer(brand)
    StaffRole.objects.create(user=with_role, brand=factories.brand(), role="support")

    assert [status_as(user) for user in (staff, superuser, with_role, factories.customer(factories.brand()))] == [
        401
    ] * 4


@pytest.mark.django_db
def test_staff_cannot_scan_with_a_token_of_the_external_issuer(issuer, brand, settings):
    settings.JWT_EXTERNAL_BRANDS = frozenset({brand.pk})
    answers = []
    for user in (factories.customer(brand), factories.customer(brand, is_staff=True)):
        token = issuer.token(user_id=user.pk, brand_id=brand.pk)
        answers.append(
            Api(brand).with_headers(authorization=f"Bearer {token}").verify(factories.code(brand)).status_code
        )

    assert answers == [200, 401]
