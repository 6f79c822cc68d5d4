"""The latest calls with a hub key, which its page lists."""

from dataclasses import replace
from datetime import timedelta

import pytest
import redis
from django.utils import timezone

from brands.access import key_calls
from brands.identity import api_keys
from core.redis import client
from core.redis.client import outage
from tests.support import factories


def make_key(brand, kind="hub", **fields):
    return api_keys.create(brand=brand, kind=kind, name="Shop", at=timezone.now(), **fields)


def test_latest_calls_with_a_hub_key_are_recorded(api):
    key, text = make_key(api.brand, scopes=["read"])
    code = factories.code(api.brand)
    hub = api.with_headers(api_key=text)

    hub.get(f"/api/v1/auth-codes/{code}/scans")
    rejected = hub.post("members", {"user_id": 1})

    last, first = key_calls.latest(key.pk)
    assert (first.method, first.path, first.status) == ("GET", "/api/v1/auth-codes/{code}/scans", 200)
    assert (last.path, last.status, last.request_id) == ("/api/v1/members", 403, rejected["X-Request-ID"])
    assert abs(timezone.now() - last.at) < timedelta(minutes=1)


def test_call_from_a_forbidden_network_is_recorded(api):
    """The owner of the key looks for it in this list."""
    key, text = make_key(api.brand, scopes=["read"], networks=["203.0.113.0/24"])

    replace(api, address="198.51.100.7").with_headers(api_key=text).get("brand/levels")

    [call] = key_calls.latest(key.pk)
    assert (call.path, call.status) == ("/api/v1/brand/levels", 401)


def test_rejected_calls_do_not_displace_accepted_ones(api, monkeypatch):
    monkeypatch.setattr(key_calls, "MAX_CALLS", 3)
    key, text = make_key(api.brand, scopes=["read"], networks=["203.0.113.0/24"])
    hub = api.with_headers(api_key=text)
    replace(hub, address="203.0.113.9").get("brand/levels")
    for _ in range(5):
        replace(hub, address="198.51.100.7").get("brand/levels")

    assert [call.status for call in key_calls.latest(key.pk)] == [401, 401, 401, 200]


def test_number_of_recorded_calls_is_limited(api, monkeypatch):
    monkeypatch.setattr(key_calls, "MAX_CALLS", 3)
    key, text = make_key(api.brand, scopes=["read"])
    for _ in range(5):
        api.with_headers(api_key=text).get("brand/levels")

    assert len(key_calls.latest(key.pk)) == 3


def test_calls_with_app_keys_are_not_recorded(api):
    key, text = make_key(api.brand, "app")
    api.with_headers(api_key=text).get("brand/levels")

    assert key_calls.latest(key.pk) == []


@pytest.mark.parametrize("kind", ["unknown", "revoked"])
def test_calls_with_unknown_and_revoked_keys_are_not_recorded(api, kind):
    """Such keys are no brand's: anybody could fill the lists."""
    key, text = make_key(api.brand, scopes=["read"])
    api.with_headers(api_key=text).get("brand/levels")
    before = recorded_lists()
    if kind == "revoked":
        api_keys.revoke(key=key, at=timezone.now())
    else:
        text = f"{text[:-8]}{'x' * 8}"

    assert api.with_headers(api_key=text).get("brand/levels").status_code == 401

    assert [call.status for call in key_calls.latest(key.pk)] == [200]
    assert recorded_lists() == before != set()


def recorded_lists():
    return set(client.client().scan_iter("*key-calls*"))


def test_calls_are_answered_while_redis_is_unavailable(api, monkeypatch):
    key, text = make_key(api.brand, scopes=["read"])
    monkeypatch.setattr(key_calls, "run", raise_connection_error)
    monkeypatch.setattr(key_calls, "command", raise_connection_error)

    assert api.with_headers(api_key=text).get("brand/levels").status_code == 200
    assert key_calls.latest(key.pk) is None
    outage.__init__()


def raise_connection_error(*_arguments):
    raise redis.ConnectionError
