"""Tokens of an external issuer: believed by its published keys alone, for the customers of its brands alone."""

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
        self.status, self.questions = 200, 0
        self.answers = Event()  # cleared, the server keeps callers waiting
        self.answers.set()
        self.publish(self.jwk("one"))
        issuer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.questions += 1
                issuer.answers.wait(2)
                self.send_response(issuer.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
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
    made = Issuer()
    settings.JWT_EXTERNAL_JWKS_URL = made.url
    settings.JWT_EXTERNAL_ISSUER = ISSUER
    settings.JWT_EXTERNAL_AUDIENCE = AUDIENCE
    settings.JWT_EXTERNAL_BRANDS = frozenset({2})
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_token_of_the_external_issuer_is_read(issuer):
    assert tokens.verify_access(issuer.token()) == Principal(user_id=1, brand_id=2)


def test_our_own_tokens_are_read_beside_the_external_ones(issuer):
    assert tokens.verify_access(signed()) == Principal(user_id=1, brand_id=2)
    assert issuer.questions == 0


def test_keys_are_asked_for_once(issuer):
    for _ in range(5):
        tokens.verify_access(issuer.token())

    assert issuer.questions == 1


def test_token_without_a_key_id_is_read_with_the_only_key(issuer):
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
def test_external_token_with_a_bad_claim_is_refused(issuer, claims):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token(**claims))


def test_published_key_does_not_work_as_a_secret(issuer):
    """RFC 8725 2.1: a verifier that believes the header would take the public key for an HMAC secret."""
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
def test_published_key_that_takes_long_to_check_or_use_is_not_even_loaded(issuer, is_private, monkeypatch):
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


def test_external_token_signed_by_somebody_else_is_refused(issuer):
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key=stranger, algorithm="RS256", headers={"kid": "one"}, iss=ISSUER, aud=AUDIENCE))


def test_external_token_under_our_secret_is_refused(issuer):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(headers={"kid": "one"}, iss=ISSUER, aud=AUDIENCE))


def test_algorithm_is_the_setting_and_no_other(issuer, settings):
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


def test_new_key_of_the_issuer_is_found(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.publish(issuer.jwk("one"), issuer.jwk("two"))

    assert tokens.verify_access(issuer.token("two")) == Principal(user_id=1, brand_id=2)
    assert issuer.questions == 2


def test_made_up_key_ids_do_not_hammer_the_issuer(issuer):
    for number in range(20):
        with pytest.raises(TokenInvalid):
            tokens.verify_access(issuer.token(f"made up {number}"))

    assert issuer.questions == 1


def test_nobody_with_a_cached_key_waits_for_a_slow_issuer(issuer, monkeypatch):
    """Control: anyone without a cached key waits for the thread that fetches."""
    tokens.verify_access(issuer.token())
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    issuer.answers.clear()
    with ThreadPoolExecutor(3) as pool:
        fetching = pool.submit(tokens.verify_access, issuer.token())
        wait_until(lambda: issuer.questions == 2)

        assert pool.submit(tokens.verify_access, issuer.token()).result(timeout=1) == Principal(user_id=1, brand_id=2)
        unknown = pool.submit(tokens.verify_access, issuer.token("two"))
        assert not futures.wait([unknown, fetching], timeout=0.2).done
        issuer.answers.set()


def test_issuer_out_of_reach_is_unavailable(issuer):
    issuer.server.shutdown()
    issuer.server.server_close()

    with pytest.raises(Unavailable) as refusal:
        tokens.verify_access(issuer.token())

    assert refusal.value.retry_after == jwks.REFETCH_COOLDOWN_SECONDS


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
def test_answer_that_is_no_key_set_is_unavailable(issuer, status, body):
    issuer.status, issuer.body = status, body

    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token())


def test_known_keys_outlive_an_outage(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.status = 500

    assert tokens.verify_access(issuer.token()) == Principal(user_id=1, brand_id=2)
    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token("two"))


def test_known_keys_do_not_outlive_it_for_ever(issuer, monkeypatch):
    tokens.verify_access(issuer.token())
    monkeypatch.setattr(jwks, "REFETCH_COOLDOWN_SECONDS", 0)
    monkeypatch.setattr(jwks, "REFRESH_AFTER_SECONDS", 0)
    monkeypatch.setattr(jwks, "MAX_STALE_SECONDS", 0)
    issuer.status = 500

    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token())


# --- For whom the external issuer speaks -----------------------------------------------------------------------------


@pytest.fixture
def spoken_for(issuer, brand, settings):
    """What a customer's points answer to the external issuer's token for a user."""
    settings.JWT_EXTERNAL_BRANDS = frozenset({brand.pk})

    def ask(user, path="customer/loyalty/points"):
        token = issuer.token(user_id=user.pk, brand_id=brand.pk)
        return Api(brand).having(authorization=f"Bearer {token}").get(path).status_code

    return ask


@pytest.mark.django_db
def test_the_external_issuer_speaks_for_customers_of_its_brand(spoken_for, brand):
    registered, enrolled = factories.customer(brand), factories.customer(factories.brand())
    accounts.enrol(user_id=enrolled.pk, brand_id=brand.pk, at=timezone.now())

    assert [spoken_for(user) for user in (registered, enrolled)] == [200, 200]


@pytest.mark.django_db
def test_the_external_issuer_speaks_for_nobody_else(spoken_for, brand):
    staff = factories.customer(brand, is_staff=True)
    superuser = factories.customer(brand, is_superuser=True)
    with_role = factories.customer(brand)
    StaffRole.objects.create(user=with_role, brand=factories.brand(), role="support")

    assert [spoken_for(user) for user in (staff, superuser, with_role, factories.customer(factories.brand()))] == [
        401
    ] * 4


@pytest.mark.django_db
def test_the_external_issuer_scans_for_no_member_of_staff(issuer, brand, settings):
    settings.JWT_EXTERNAL_BRANDS = frozenset({brand.pk})
    answers = []
    for user in (factories.customer(brand), factories.customer(brand, is_staff=True)):
        token = issuer.token(user_id=user.pk, brand_id=brand.pk)
        answers.append(Api(brand).having(authorization=f"Bearer {token}").verify(factories.code(brand)).status_code)

    assert answers == [200, 401]
