"""Tokens identify one user at one brand, expire, and cannot be forged."""

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
from tests.brands.identity.conftest import FAR_FUTURE, LONG_AGO, rotate, signed

# --- Access ----------------------------------------------------------------------------------------------------------


def test_access_token_identifies_its_user_and_brand(pair, customer, brand):
    assert tokens.verify_access(pair.access) == Principal(user_id=customer.pk, brand_id=brand.pk)
    assert pair.expires_in == settings.ACCESS_TOKEN_MINUTES * 60


def test_access_token_expires(customer, brand):
    long_ago = timezone.now() - timedelta(minutes=settings.ACCESS_TOKEN_MINUTES)
    pair = tokens.issue(user=customer, brand=brand, at=long_ago)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


def test_access_token_expires_even_when_it_is_cached(pair, monkeypatch):
    tokens.verify_access(pair.access)
    monkeypatch.setattr(tokens, "time", lambda: time.time() + settings.ACCESS_TOKEN_MINUTES * 60)

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


@pytest.mark.parametrize("junk", ["!", "===", "\n", " a", "."])
def test_token_with_extra_characters_is_rejected(pair, junk):
    """Otherwise one token could fill the cache of tokens."""
    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access + junk)


def test_new_signing_key_invalidates_cached_tokens(pair, settings):
    tokens.verify_access(pair.access)
    settings.SIMPLE_JWT = {**settings.SIMPLE_JWT, "SIGNING_KEY": "another" * 10}

    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.access)


def test_refresh_token_is_rejected_as_an_access_token(pair):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(pair.refresh)


def test_access_token_is_rejected_as_a_refresh_token(pair):
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
        {"nbf": FAR_FUTURE},
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
def test_token_with_an_invalid_claim_is_rejected(claims):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed_without_checks(claims))


def signed_without_checks(claims):
    """PyJWT does not encode some of these payloads, so it only computes the signature."""
    changes = dict(claims)
    headers, without = changes.pop("headers", {}), changes.pop("without", ())
    defaults = jwt.decode(signed(), options={"verify_signature": False})
    payload = {name: value for name, value in {**defaults, **changes}.items() if name not in without}
    key = settings.SIMPLE_JWT["SIGNING_KEY"].encode()
    header = {"alg": "HS256", "typ": "JWT", **headers}
    parts = [jwt.utils.base64url_encode(json.dumps(part).encode()) for part in (header, payload)]
    signature = jwt.algorithms.get_default_algorithms()["HS256"].sign(b".".join(parts), key)
    return b".".join([*parts, jwt.utils.base64url_encode(signature)]).decode()


def test_token_signed_without_checks_is_valid_by_default():
    """A control of the test above: its tokens are rejected for their claims alone."""
    assert tokens.verify_access(signed_without_checks({})) == Principal(user_id=1, brand_id=2)


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
def test_malformed_token_is_rejected(token):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(token)


def test_unsigned_token_is_rejected():
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key="", algorithm="none"))


def test_token_signed_with_another_key_is_rejected():
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(key="another secret of at least 32 bytes"))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_token_of_another_algorithm_with_our_key_is_rejected(algorithm):
    with pytest.raises(TokenInvalid):
        tokens.verify_access(signed(algorithm=algorithm))


def test_changed_claim_breaks_the_signature(pair):
    header, _, signature = pair.access.split(".")
    claims = jwt.utils.base64url_encode(json.dumps({"user_id": 1}).encode()).decode()

    with pytest.raises(TokenInvalid):
        tokens.verify_access(f"{header}.{claims}.{signature}")
