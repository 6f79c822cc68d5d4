"""Every endpoint rejects invalid tokens, keys and origins with the same clear error, and writes nothing."""

import base64
import json
import time
from datetime import timedelta

import jwt
import pytest
from django.conf import settings
from django.utils import timezone

from brands.identity import api_keys
from brands.identity.tokens import MAX_TOKEN_LENGTH
from brands.models.credentials import ApiKey
from tests.config.api.sampled_endpoints import endpoints_for
from tests.support import factories
from tests.support.endpoints import (
    BAD_REQUEST,
    ENDPOINTS,
    NOT_FOUND,
    WITH_IDEMPOTENCY_KEY,
    WITH_KEY,
    WITH_TOKEN,
    assert_rejected,
    with_value,
)

# --- Tokens ----------------------------------------------------------------------------------------------------------

LONG_AGO = 1_000_000_000  # seconds since 1970


def value_for(context, value):
    """The value of a row; a callable makes it from the context."""
    return value(context) if callable(value) else value


def signed(scenario, *, key=None, algorithm="HS256", headers=None, **claims):
    """A token made by this test, valid except for the claims that the row changes."""
    default_claims = {
        "iss": settings.JWT_ISSUER,
        "aud": settings.JWT_AUDIENCE,
        "exp": int(time.time()) + 60,
        "token_type": "access",
        "user_id": scenario.customer.pk,
        "brand_id": scenario.brand.pk,
    }
    present_claims = {name: value for name, value in {**default_claims, **claims}.items() if value is not None}
    signing_key = settings.SIMPLE_JWT["SIGNING_KEY"]
    return jwt.encode(present_claims, signing_key if key is None else key, algorithm=algorithm, headers=headers)


def segment(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


DEEP = segment(b"[" * 12_000)
HS256, NONE, LIST = (segment(b'{"alg":%s}' % name) for name in (b'"HS256"', b'"none"', b'["HS256"]'))


def unsigned(scenario):
    payload = signed(scenario).split(".")[1]
    return f"{NONE}.{payload}."


def altered(scenario):
    head, _, signature = signed(scenario).split(".")
    claims = {
        "user_id": scenario.other_customer.pk,
        "brand_id": scenario.brand.pk,
        "token_type": "access",
        "exp": 5_000_000_000,
    }
    return f"{head}.{segment(json.dumps(claims).encode())}.{signature}"


TOKENS = {
    "nothing": "",
    "no scheme": signed,
    "another scheme": lambda scenario: f"Basic {signed(scenario)}",
    "no token": "Bearer ",
    "two tokens": lambda scenario: f"Bearer {signed(scenario)} {signed(scenario)}",
    "rubbish": "Bearer rubbish",
    "dots": "Bearer ..",
    "not ASCII": "Bearer \xe9.\xe9.\xe9",
    "100,000 letters": f"Bearer {'A' * 100_000}",
    "deep header": f"Bearer {DEEP}.e30.e30",
    "deep claims": f"Bearer {HS256}.{DEEP}.e30",
    "header is no object": f"Bearer {segment(b'[]')}.e30.e30",
    "alg is no text": f"Bearer {LIST}.e30.e30",
    "unsigned": lambda scenario: f"Bearer {unsigned(scenario)}",
    "altered": lambda scenario: f"Bearer {altered(scenario)}",
    "signed by another": lambda scenario: f"Bearer {signed(scenario, key='x' * 64)}",
    "another algorithm": lambda scenario: f"Bearer {signed(scenario, algorithm='HS384')}",
    "expired": lambda scenario: f"Bearer {signed(scenario, exp=LONG_AGO)}",
    "without an end": lambda scenario: f"Bearer {signed(scenario, exp=None)}",
    "not yet valid": lambda scenario: f"Bearer {signed(scenario, nbf=int(time.time()) + 3600)}",
    "end is no number": lambda scenario: f"Bearer {signed(scenario, exp='tomorrow')}",
    "another issuer": lambda scenario: f"Bearer {signed(scenario, iss='https://evil.example.com')}",
    "another audience": lambda scenario: f"Bearer {signed(scenario, aud='somebody')}",
    "refresh token": lambda scenario: f"Bearer {scenario.refresh}",
    "without a kind": lambda scenario: f"Bearer {signed(scenario, token_type=None)}",
    "without a user": lambda scenario: f"Bearer {signed(scenario, user_id=None)}",
    "user is text": lambda scenario: f"Bearer {signed(scenario, user_id='1')}",
    "user is true": lambda scenario: f"Bearer {signed(scenario, user_id=True)}",
    "user 0": lambda scenario: f"Bearer {signed(scenario, user_id=0)}",
    "user 2^63": lambda scenario: f"Bearer {signed(scenario, user_id=2**63)}",
    "user 2^63-1": lambda scenario: f"Bearer {signed(scenario, user_id=2**63 - 1)}",
    "brand 2^63": lambda scenario: f"Bearer {signed(scenario, brand_id=2**63)}",
    "switched-off user": lambda scenario: scenario.api.as_customer(switched_off(scenario)).headers["authorization"],
}


def switched_off(scenario):
    return factories.customer(scenario.brand, is_active=False)


@pytest.mark.parametrize("row", TOKENS)
def test_invalid_token_is_rejected(scenario, subtests, row):
    text = value_for(scenario, TOKENS[row])
    for name in endpoints_for(row, TOKENS, WITH_TOKEN):
        with subtests.test(name):
            response = assert_rejected((401, "TOKEN_INVALID"), scenario.call, name, authorization=text)

            assert response["WWW-Authenticate"] == "Bearer"


def test_unchanged_token_of_these_tests_is_accepted(scenario):
    assert scenario.call("read_points", authorization=f"Bearer {signed(scenario)}").status_code == 200


def test_token_and_key_of_different_brands_are_rejected(scenario, subtests):
    caller = scenario.api.as_customer(scenario.customer, brand=scenario.other_brand).app()
    for name in (*WITH_IDEMPOTENCY_KEY, "validate_code", "read_scan"):
        with subtests.test(name):
            assert_rejected((403, "BRAND_MISMATCH"), scenario.call, name, caller=caller)


@pytest.mark.parametrize("name", ["credit_action", "verify_product", "read_points", "list_transactions"])
def test_missing_token_is_rejected(scenario, name):
    assert_rejected((401, "AUTHENTICATION_REQUIRED"), scenario.call, name, without="authorization")


# Valid tokens of another user. In an event, a token stays valid after its user is switched off.
OF_ANOTHER_USER = {"user 2^63-1", "switched-off user"}


@pytest.mark.parametrize("row", [name for name in TOKENS if name not in {"nothing", "no token"}])
def test_event_with_an_invalid_token_is_rejected(scenario, row):
    text = value_for(scenario, TOKENS[row])
    body = with_value(ENDPOINTS["ingest_event"].body(scenario), "detail.arguments.authorization", text)
    expected = (403, "BRAND_MISMATCH") if row in OF_ANOTHER_USER else (401, "TOKEN_INVALID")

    assert_rejected(BAD_REQUEST if len(text) > MAX_TOKEN_LENGTH else expected, scenario.call, "ingest_event", body=body)


REFRESH_TOKENS = {
    **{name: TOKENS[name] for name in ("rubbish", "dots", "deep header", "unsigned", "altered", "signed by another")},
    "access token": signed,
    "without a session": lambda scenario: signed(scenario, token_type="refresh"),
    "session is no id": lambda scenario: signed(scenario, token_type="refresh", sid="x", jti="y"),
    "session is a list": lambda scenario: signed(scenario, token_type="refresh", sid=["x"], jti="y"),
}


@pytest.mark.parametrize("token", REFRESH_TOKENS.values(), ids=REFRESH_TOKENS)
def test_invalid_refresh_token_is_rejected(scenario, token):
    text = value_for(scenario, token).removeprefix("Bearer ")[:4096]

    for name in ("refresh_tokens", "log_out"):
        assert_rejected((401, "TOKEN_INVALID"), scenario.call, name, body={"refresh": text})


# --- Keys ------------------------------------------------------------------------------------------------------------


def revoked(scenario):
    key, text = api_keys.create(brand=scenario.brand, kind="app", name="old", at=timezone.now())
    api_keys.revoke(key=key, at=timezone.now())
    return text


def expired(scenario):
    past = timezone.now() - timedelta(seconds=1)
    return api_keys.create(brand=scenario.brand, kind="app", name="old", at=past, expires_at=past)[1]


KEYS = {
    "empty": "",
    "unknown": "hub_" + "A" * 43,
    "rubbish": "rubbish",
    "not ASCII": "hub_" + "\xe9" * 43,
    "100,000 letters": "hub_" + "A" * 100_000,
    "two keys": lambda scenario: ", ".join([scenario.bare_hub.headers["api-key"]] * 2),
    "an app key that calls itself hub": lambda scenario: scenario.app.headers["api-key"].replace("app_", "hub_"),
    "only its visible part": lambda scenario: ApiKey.objects.get(prefix=scenario.app.headers["api-key"][:12]).prefix,
    "revoked": revoked,
    "expired": expired,
}


@pytest.mark.parametrize("row", KEYS)
def test_invalid_api_key_is_rejected(scenario, subtests, row):
    text = value_for(scenario, KEYS[row])
    for name in endpoints_for(row, KEYS, WITH_KEY):
        with subtests.test(name):
            assert_rejected((401, "API_KEY_INVALID"), scenario.call, name, api_key=text)


@pytest.mark.parametrize("name", ["credit_action", "ingest_event"])
def test_missing_api_key_is_rejected(scenario, name):
    assert_rejected((401, "API_KEY_INVALID"), scenario.call, name, without="api-key")


HUB_ONLY = ["credit_action (order)", "credit_action (profile)", "ingest_event", "list_code_scans", "list_qr_codes"]


@pytest.mark.parametrize("name", HUB_ONLY)
def test_app_key_is_rejected_where_a_hub_key_is_needed(scenario, name):
    assert_rejected((403, "FORBIDDEN"), scenario.call, name, caller=scenario.app)


@pytest.mark.parametrize("name", ["list_code_scans", "list_qr_codes"])
def test_api_key_of_another_brand_finds_nothing(scenario, name):
    assert_rejected(NOT_FOUND, scenario.call, name, caller=scenario.api.hub(brand=scenario.other_brand))


# --- Origins ---------------------------------------------------------------------------------------------------------

ORIGINS = {
    "empty": "",
    "null": "null",
    "a star": "*",
    "another host": "https://evil.example.com",
    "longer host": lambda host: f"https://{host}.evil.example.com",
    "sub-host": lambda host: f"https://evil.{host}",
    "user": lambda host: f"https://{host}@evil.example.com",
    "path": lambda host: f"https://evil.example.com/{host}",
    "query": lambda host: f"https://evil.example.com?{host}",
    "two": lambda host: f"https://{host}, https://{host}",
    "half an IPv6 address": "http://[::1",
    "bad port": lambda host: f"https://{host}:x",
    "spaces inside": lambda host: host.replace(".", " . "),
    "not ASCII": lambda host: f"https://\xe9{host}",
    "100,000 letters": "https://" + "a" * 100_000,
}


@pytest.mark.parametrize("name", ["credit_action", "credit_action (app)"])
@pytest.mark.parametrize("origin", ORIGINS.values(), ids=ORIGINS)
def test_origin_that_is_not_the_brands_is_rejected(scenario, name, origin):
    value = value_for(scenario.brand.hostnames.get().hostname, origin)

    assert_rejected((403, "ORIGIN_NOT_ALLOWED"), scenario.call, name, origin=value)


@pytest.mark.parametrize("name", ["credit_action", "credit_action (app)"])
def test_missing_origin_or_origin_of_another_brand_is_rejected(scenario, name):
    assert_rejected(
        (403, "ORIGIN_NOT_ALLOWED"), scenario.call, name, origin=scenario.other_brand.hostnames.get().hostname
    )
    assert_rejected((403, "ORIGIN_NOT_ALLOWED"), scenario.call, name, without="origin")


@pytest.mark.parametrize("name", ["log_in", "register", "forgot_password"])
@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//a]b", "\xe9", "https://x:y", "x" * 100_000])
def test_malformed_origin_is_rejected(scenario, name, origin):
    """Before the password is right, a login does not report an unknown brand: that would reveal which users exist."""
    body = {"email": "nobody@example.com", "password": "a long pass phrase"}
    expected = (401, "AUTHENTICATION_REQUIRED") if name == "log_in" else BAD_REQUEST

    assert_rejected(expected, scenario.call, name, body=body, origin=origin)
