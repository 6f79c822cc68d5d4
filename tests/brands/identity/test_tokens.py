"""Tokens speak for one user at one brand, expire, and cannot be forged."""

import json
import time
from datetime import timedelta

import jwt
import pytest
from django.conf import settings
from django.utils import timezone

from brands.identity import tokens
from brands.identity.tokens import Principal
from core.errors import TokenInvalid
from tests.brands.identity.conftest import LONG_AGO, LONG_HENCE, rotate, signed

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
