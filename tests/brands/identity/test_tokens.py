"""Tokens speak for one user at one brand, expire, rotate once, and cannot be forged."""

import json
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from brands.identity import jwks, tokens
from brands.identity.tokens import Principal
from brands.models.credentials import LoginSession
from brands.models.people import StaffRole
from core.errors import TokenInvalid, Unavailable
from core.http import client
from loyalty.points import accounts
from tests.support import factories
from tests.support.api import Api

ISSUER = "https://login.example.com"
AUDIENCE = "shop"
LONG_AGO, LONG_HENCE = 1_000_000_000, 5_000_000_000  # seconds since 1970


@pytest.fixture
def pair(customer, brand):
    return tokens.issue(user=customer, brand=brand, at=timezone.now())


def rotate(refresh):
    return tokens.rotate(refresh=refresh, at=timezone.now())


def signed(*, key=None, algorithm="HS256", headers=None, without=(), **claims):
    """A token of our own making, right in every respect but those that the test names."""
    usual = {
        "iss": settings.JWT_ISSUER,
        "aud": settings.JWT_AUDIENCE,
        "exp": int(time.time()) + 60,
        "token_type": "access",
        "user_id": 1,
        "brand_id": 2,
    }
    named = {name: value for name, value in {**usual, **claims}.items() if name not in without}
    own_key = settings.SIMPLE_JWT["SIGNING_KEY"]
    return jwt.encode(named, own_key if key is None else key, algorithm=algorithm, headers=headers)


# --- Access ----------------------------------------------------------------------------------------------------------


def test_access_token_speaks_for_its_user_at_its_brand(pair, customer, brand):
    assert tokens.verify_access(pair.access) == Principal(user_id=customer.pk, brand_id=brand.pk)
    assert pair.expires_in == settings.ACCESS_TOKEN_MINUTES * 60


def test_access_token_ends(customer, brand):
    long_ago = timezone.now() - timedelta(minutes=settings.ACCESS_TOKEN_MINUTES)
    pair = tokens.issue(user=customer, brand=brand, at=long_ago)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


def test_access_token_ends_also_where_it_was_read_before(pair, monkeypatch):
    tokens.verify_access(pair.access)
    monkeypatch.setattr(tokens, "time", lambda: time.time() + settings.ACCESS_TOKEN_MINUTES * 60)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


@pytest.mark.parametrize("junk", ["!", "===", "\n", " a", "."])
def test_a_token_has_few_spellings(pair, junk):
    """Else anybody could fill with one token what is remembered of tokens."""
    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access + junk)


def test_another_key_ends_tokens_that_were_read_before(pair, settings):
    tokens.verify_access(pair.access)
    settings.SIMPLE_JWT = {**settings.SIMPLE_JWT, "SIGNING_KEY": "another" * 10}

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


def test_refresh_token_is_no_access_token(pair):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.refresh)


def test_access_token_is_no_refresh_token(pair):
    with pytest.raises(TokenInvalid):
        rotate(pair.access)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": LONG_AGO},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": float("-inf")},
        {"exp": "soon"},
        {"exp": None},
        {"exp": []},
        {"without": ["exp"]},
        {"nbf": LONG_HENCE},
        {"nbf": float("nan")},
        {"without": ["iss"]},
        {"without": ["aud"]},
        {"iss": "another"},
        {"aud": "another"},
        {"aud": 7},
        {"aud": {}},
        {"token_type": "refresh"},
        {"token_type": None},
        {"without": ["token_type"]},
        {"without": ["user_id"]},
        {"user_id": "1"},
        {"user_id": 1.0},
        {"user_id": True},
        {"user_id": 0},
        {"user_id": -1},
        {"user_id": 2**63},
        {"user_id": None},
        {"brand_id": 2**64},
        {"brand_id": [2]},
        {"sub": 5},
        {"headers": {"kid": None, "crit": ["exp"]}},
    ],
    ids=str,
)
def test_token_with_a_bad_claim_is_refused(claims):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(forgivingly_signed(claims))


def forgivingly_signed(claims):
    """PyJWT itself would refuse to write a few of these, so only the signature is its work."""
    given = dict(claims)
    headers, without = given.pop("headers", {}), given.pop("without", ())
    usual = jwt.decode(signed(), options={"verify_signature": False})
    payload = {name: value for name, value in {**usual, **given}.items() if name not in without}
    key = settings.SIMPLE_JWT["SIGNING_KEY"].encode()
    header = {"alg": "HS256", "typ": "JWT", **headers}
    parts = [jwt.utils.base64url_encode(json.dumps(part).encode()) for part in (header, payload)]
    signature = jwt.algorithms.get_default_algorithms()["HS256"].sign(b".".join(parts), key)
    return b".".join([*parts, jwt.utils.base64url_encode(signature)]).decode()


def test_forgiving_writer_makes_good_tokens_too():
    """The control of the test above: its tokens fail by their claims alone."""
    assert tokens.verify_access(forgivingly_signed({})) == Principal(user_id=1, brand_id=2)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "é.é.é",
        "\ud800.a.b",
        "\0",
        "Bearer x",
        "eyJhbGciOiJIUzI1NiJ9..",
        "[" * 5000,
        "x" * 10**6,
    ],
    ids=lambda token: ascii(token[:20]),
)
def test_garbage_is_refused(token):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(token)


def test_unsigned_token_is_refused():
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key="", algorithm="none"))


def test_token_signed_with_another_key_is_refused():
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key="another secret of at least 32 bytes"))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_another_algorithm_with_our_key_is_refused(algorithm):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(algorithm=algorithm))


def test_changed_claim_breaks_the_signature(pair):
    header, _, signature = pair.access.split(".")
    claims = jwt.utils.base64url_encode(json.dumps({"user_id": 1}).encode()).decode()

    with pytest.raises(TokenInvalid):
        tokens.verify_access(f"{header}.{claims}.{signature}")


# --- Refresh ---------------------------------------------------------------------------------------------------------


def test_rotation_gives_a_new_pair_of_the_same_session(pair, customer, brand):
    following = rotate(pair.refresh)

    assert following.refresh != pair.refresh
    assert following.session_id == pair.session_id
    assert tokens.verify_access(following.access) == Principal(user_id=customer.pk, brand_id=brand.pk)
    assert rotate(following.refresh)


def test_rotation_prolongs_the_session(pair):
    later = timezone.now() + timedelta(days=settings.REFRESH_TOKEN_DAYS - 1)

    tokens.rotate(refresh=pair.refresh, at=later)

    assert LoginSession.objects.get().expires_at == later + timedelta(days=settings.REFRESH_TOKEN_DAYS)


def test_session_ends_when_nobody_refreshes_it(pair):
    with pytest.raises(TokenInvalid):
        tokens.rotate(refresh=pair.refresh, at=timezone.now() + timedelta(days=settings.REFRESH_TOKEN_DAYS, seconds=1))


def test_sessions_that_ended_are_forgotten_and_the_others_kept(customer, brand):
    long_ago = timezone.now() - timedelta(days=400)
    tokens.issue(user=customer, brand=brand, at=long_ago)
    alive = tokens.issue(user=customer, brand=brand, at=timezone.now())

    assert tokens.purge_ended(at=timezone.now()) == 1
    assert str(LoginSession.objects.get().pk) == alive.session_id


def test_a_new_password_ends_every_session(pair, customer):
    customer.set_password("another battery staple")
    customer.save()

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_refresh_of_a_deactivated_user_is_refused(pair, customer):
    customer.is_active = False
    customer.save(update_fields=["is_active"])

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_refresh_of_a_deleted_user_is_refused(pair, customer):
    customer.points_rows.all().delete()
    customer.delete()

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


@pytest.mark.parametrize("session", ["no uuid", 7, None, "00000000-0000-4000-8000-000000000000"])
def test_refresh_of_no_known_session_is_refused(db, session):
    with pytest.raises(TokenInvalid):
        rotate(signed(token_type="refresh", sid=session, jti="x"))


def test_revoked_session_cannot_be_refreshed(pair):
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_revoking_again_keeps_the_first_moment(pair):
    first = timezone.now()
    tokens.revoke(refresh=pair.refresh, at=first)
    tokens.revoke(refresh=pair.refresh, at=first + timedelta(hours=1))

    assert LoginSession.objects.get().revoked_at == first


def test_expired_token_still_revokes_its_session(customer, brand):
    long_ago = timezone.now() - timedelta(days=settings.REFRESH_TOKEN_DAYS + 1)
    pair = tokens.issue(user=customer, brand=brand, at=long_ago)

    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    assert LoginSession.objects.get().revoked_at


def test_forged_token_revokes_nothing(pair):
    with pytest.raises(TokenInvalid):
        tokens.revoke(refresh=pair.refresh[:-4] + "AAAA", at=timezone.now())

    assert LoginSession.objects.get().revoked_at is None


def jti_of(pair):
    return jwt.decode(pair.refresh, options={"verify_signature": False})["jti"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("later", [tokens.SAME_ANSWER_WITHIN, timedelta(0)])
def test_the_last_token_gets_its_successor_again_for_a_moment(pair, later):
    """Its answer was lost, or two requests took it along at once."""
    at = timezone.now()
    first = tokens.rotate(refresh=pair.refresh, at=at)

    again = tokens.rotate(refresh=pair.refresh, at=at + later)

    assert jti_of(again) == jti_of(first) != jti_of(pair)
    assert tokens.verify_access(again.access)
    assert not LoginSession.objects.get().revoked_at


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("others", [0, 1], ids=["too late", "not the last one"])
def test_second_use_of_a_refresh_token_revokes_the_whole_session(pair, others):
    at = timezone.now()
    following = tokens.rotate(refresh=pair.refresh, at=at)
    for _ in range(others):
        following = tokens.rotate(refresh=following.refresh, at=at)
    later = timedelta(0) if others else tokens.SAME_ANSWER_WITHIN + timedelta(seconds=1)

    with pytest.raises(TokenInvalid):
        tokens.rotate(refresh=pair.refresh, at=at + later)

    assert LoginSession.objects.get().revoked_at
    with pytest.raises(TokenInvalid):
        rotate(following.refresh)


@pytest.mark.django_db(transaction=True)
def test_a_session_that_has_ended_is_not_answered_again(pair):
    rotate(pair.refresh)
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


@pytest.mark.django_db(transaction=True)
def test_twenty_parallel_rotations_get_one_successor(pair, at_once):
    outcomes = at_once(20, lambda: rotate(pair.refresh))

    assert {jti_of(outcome) for outcome in outcomes} == {LoginSession.objects.get().current_jti}


@pytest.mark.django_db(transaction=True)
def test_control_without_the_row_lock_parallel_rotations_get_several(customer, brand, at_once, monkeypatch):
    """The control: the lock is what the test above shows."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_: rows)

    def successors():
        pair = tokens.issue(user=customer, brand=brand, at=timezone.now())
        outcomes = at_once(20, lambda: rotate(pair.refresh))
        return {jti_of(outcome) for outcome in outcomes if not isinstance(outcome, Exception)}

    assert any(len(successors()) > 1 for _ in range(20))


# --- Another issuer --------------------------------------------------------------------------------------------------


RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer:
    """A real HTTP server that publishes keys, as Keycloak or Auth0 would."""

    def __init__(self):
        self.private = RSA_KEY
        self.status, self.questions = 200, 0
        self.publish(self.jwk("one"))
        issuer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.questions += 1
                self.send_response(issuer.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *words):
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


@pytest.mark.parametrize("members", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}, {"n": "?"}])
def test_key_for_another_purpose_is_not_used(issuer, members):
    issuer.publish(issuer.jwk("one", **members))

    with pytest.raises(TokenInvalid):
        tokens.verify_access(issuer.token())


def test_new_key_of_the_issuer_is_found(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "PAUSE_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.publish(issuer.jwk("one"), issuer.jwk("two"))

    assert tokens.verify_access(issuer.token("two")) == Principal(user_id=1, brand_id=2)
    assert issuer.questions == 2


def test_made_up_key_ids_do_not_hammer_the_issuer(issuer):
    for number in range(20):
        with pytest.raises(TokenInvalid):
            tokens.verify_access(issuer.token(f"made up {number}"))

    assert issuer.questions == 1


def test_issuer_out_of_reach_is_unavailable(issuer):
    issuer.server.shutdown()
    issuer.server.server_close()

    with pytest.raises(Unavailable) as refusal:
        tokens.verify_access(issuer.token())

    assert refusal.value.retry_after == jwks.PAUSE_SECONDS


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
    monkeypatch.setattr(jwks, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(jwks, "FRESH_SECONDS", 0)
    tokens.verify_access(issuer.token())
    issuer.status = 500

    assert tokens.verify_access(issuer.token()) == Principal(user_id=1, brand_id=2)
    with pytest.raises(Unavailable):
        tokens.verify_access(issuer.token("two"))


def test_known_keys_do_not_outlive_it_for_ever(issuer, monkeypatch):
    tokens.verify_access(issuer.token())
    monkeypatch.setattr(jwks, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(jwks, "FRESH_SECONDS", 0)
    monkeypatch.setattr(jwks, "STALE_SECONDS", 0)
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
