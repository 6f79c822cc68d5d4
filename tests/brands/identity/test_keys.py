"""API keys: shown once, found by their hash, two usable at a time."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys
from brands.identity.api_keys import Caller
from brands.models.credentials import ApiKey
from core.errors import Forbidden, Invalid
from tests.support import factories

NOW = timezone.now()


def make_key(brand, kind="hub", **fields):
    return api_keys.create(brand=brand, kind=kind, name="Shop", at=NOW, **fields)


def find(text, at=NOW):
    return api_keys.find(text, at=at)


@pytest.mark.parametrize("kind", ["hub", "app"])
def test_new_key_is_found_by_its_text(brand, kind):
    key, text = make_key(brand, kind)

    assert find(text) == Caller(key_id=key.pk, kind=kind, brand_id=brand.pk, prefix=text[:12])
    assert find(text).is_hub == (kind == "hub")


def test_key_has_256_random_bits_and_is_not_stored(brand):
    key, text = make_key(brand)

    assert text.startswith("hub_")
    assert len(text) == len("hub_") + 43
    assert text not in str(ApiKey.objects.values_list())
    assert bytes(key.digest) != text.encode()


@pytest.mark.parametrize(
    "text", ["", "hub_", "hub_" + "A" * 43, "hub_" + "A" * 44, "x" * 100_000, "hub_" + "é" * 43, "\0", "app_\ud800"]
)
def test_unknown_key_is_rejected(db, text):
    with pytest.raises(ApiKeyInvalid):
        find(text)


def test_key_with_the_prefix_of_another_kind_is_rejected(brand):
    _, text = make_key(brand, "app")

    with pytest.raises(ApiKeyInvalid):
        find(text.replace("app_", "hub_"))


def test_revoked_key_is_rejected(brand):
    key, text = make_key(brand)

    api_keys.revoke(key=key, at=NOW)

    with pytest.raises(ApiKeyInvalid):
        find(text)


def test_revoking_again_does_not_change_the_time_of_revocation(brand):
    key, _ = make_key(brand)
    api_keys.revoke(key=key, at=NOW)
    api_keys.revoke(key=key, at=NOW + timedelta(hours=1))

    assert key.revoked_at == NOW


def test_key_is_rejected_from_its_expiry_on(brand):
    _, text = make_key(brand, expires_at=NOW + timedelta(hours=1))

    assert find(text, NOW + timedelta(minutes=59))
    with pytest.raises(ApiKeyInvalid):
        find(text, NOW + timedelta(hours=1))


def test_third_usable_key_of_a_kind_is_rejected(brand):
    make_key(brand)
    make_key(brand)

    with pytest.raises(Invalid, match="2 usable hub keys"):
        make_key(brand)
    assert ApiKey.objects.count() == 2


def test_each_kind_and_brand_has_two_keys_of_its_own(brand):
    make_key(brand)
    make_key(brand)
    make_key(brand, "app")
    make_key(factories.brand())

    assert ApiKey.objects.count() == 4


def test_revoked_and_expired_keys_do_not_count(brand):
    first, _ = make_key(brand)
    make_key(brand, expires_at=NOW)
    api_keys.revoke(key=first, at=NOW)

    make_key(brand)
    make_key(brand)

    assert api_keys.usable(brand=brand, kind="hub", at=NOW) == 2


def test_rotated_key_is_valid_until_its_grace_period_ends(brand):
    key, old = make_key(brand)

    _, new = api_keys.rotate(key=key, at=NOW, grace=timedelta(days=1))

    assert find(old, NOW + timedelta(hours=23))
    assert find(new, NOW + timedelta(hours=23))
    with pytest.raises(ApiKeyInvalid):
        find(old, NOW + timedelta(hours=24))
    assert find(new, NOW + timedelta(hours=24))


def test_rotation_without_grace_ends_the_old_key_at_once(brand):
    make_key(brand)
    key, old = make_key(brand)

    api_keys.rotate(key=key, at=NOW, grace=timedelta(0))

    with pytest.raises(ApiKeyInvalid):
        find(old)


def test_rotation_does_not_extend_a_keys_expiry(brand):
    key, _ = make_key(brand, expires_at=NOW + timedelta(hours=1))

    api_keys.rotate(key=key, at=NOW, grace=timedelta(days=1))

    assert key.expires_at == NOW + timedelta(hours=1)


def test_rejected_rotation_changes_nothing(brand):
    make_key(brand)
    key, _ = make_key(brand)

    with pytest.raises(Invalid):
        api_keys.rotate(key=key, at=NOW, grace=timedelta(days=1))

    assert ApiKey.objects.get(pk=key.pk).expires_at is None


def test_finding_a_key_takes_one_statement_and_a_second_once_a_minute(brand, django_assert_num_queries):
    _, text = make_key(brand)

    for seconds, statements in [(0, 2), (1, 1), (60, 1), (61, 2), (62, 1)]:
        with django_assert_num_queries(statements):
            find(text, NOW + timedelta(seconds=seconds))

    assert ApiKey.objects.get().last_used_at == NOW + timedelta(seconds=61)


@pytest.mark.django_db(transaction=True)
def test_recording_the_use_of_a_key_waits_for_no_lock(brand, run_concurrently):
    key, text = make_key(brand)

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM brands_apikey FOR UPDATE")
        callers = run_concurrently(1, lambda: find(text))
        cursor.execute("ROLLBACK")

    assert [caller.key_id for caller in callers] == [key.pk]


@pytest.mark.django_db(transaction=True)
def test_parallel_calls_create_only_two_keys(brand, run_concurrently):
    outcomes = run_concurrently(16, lambda: make_key(brand))

    assert sum(isinstance(outcome, tuple) for outcome in outcomes) == ApiKey.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_control_without_the_row_lock_parallel_calls_create_more(brand, run_concurrently, monkeypatch):
    """Shows that the test above depends on the lock of the brand's row."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_: rows)

    def created_keys():
        ApiKey.objects.all().delete()
        run_concurrently(16, lambda: make_key(brand))
        return ApiKey.objects.count()

    assert any(created_keys() > 2 for _ in range(20))


def test_digest_is_read_from_an_index(brand):
    _, text = make_key(brand)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + api_keys.FIND_KEY.text, {"digest": api_keys.digest_of(text), "at": NOW})
        plan = str(cursor.fetchall())

    assert "api_key_digest_unique" in plan


def test_hub_key_has_the_scopes_it_was_created_with(brand):
    _, text = make_key(brand, scopes=["till", "read"])

    assert find(text).scopes == {"read", "till"}


def test_app_key_has_no_scopes(brand):
    key, text = make_key(brand, "app", scopes=ApiKey.Scope.values)

    assert (key.scopes, find(text).scopes) == ([], frozenset())


def test_successor_has_the_same_scopes_and_networks(brand):
    key, _ = make_key(brand, scopes=["till"], networks=["203.0.113.0/24"])

    successor, _ = api_keys.rotate(key=key, at=NOW, grace=timedelta(0))

    assert (successor.scopes, successor.networks) == (["till"], ["203.0.113.0/24"])


def test_error_names_the_scope_that_a_key_lacks(brand):
    _, text = make_key(brand, scopes=["read"])
    caller = find(text)

    caller.require("read")
    with pytest.raises(Forbidden, match="lacks the scope 'till'") as raised:
        caller.require("till")
    assert raised.value.details == {"scope": "till"}


@pytest.mark.parametrize(
    ("networks", "address", "allowed"),
    [
        ([], "198.51.100.7", True),
        (["203.0.113.0/24"], "203.0.113.9", True),
        (["203.0.113.0/24", "198.51.100.7/32"], "198.51.100.7", True),
        (["203.0.113.0/24"], "203.0.114.9", False),
        (["203.0.113.0/24"], "2001:db8::1", False),
        (["2001:db8::/48"], "2001:db8:0:5::1", True),
        (["2001:db8::1/128"], "2001:db8::2", False),
        (["203.0.113.0/24"], "::ffff:203.0.113.9", True),
    ],
)
def test_key_is_valid_only_from_its_networks(api, networks, address, allowed):
    _, text = make_key(api.brand, scopes=["read"], networks=networks)
    code = factories.code(api.brand)

    answer = replace(api, address=address).with_headers(api_key=text).get(f"/api/v1/auth-codes/{code}/scans")

    assert answer.status_code == (200 if allowed else 401)
    if not allowed:
        assert answer.json()["message"] == "This key may not be used from this network."


def test_network_is_the_address_that_the_proxy_saw(api, settings):
    settings.TRUSTED_PROXIES = 1
    _, text = make_key(api.brand, scopes=["read"], networks=["203.0.113.0/24"])
    path = f"/api/v1/auth-codes/{factories.code(api.brand)}/scans"
    hub = api.with_headers(api_key=text)

    assert hub.with_headers(x_forwarded_for="198.51.100.7, 203.0.113.9").get(path).status_code == 200
    assert hub.with_headers(x_forwarded_for="203.0.113.9, 198.51.100.7").get(path).status_code == 401


CALLS_BY_SCOPE = {
    "read": [("GET", "auth-codes/{code}/scans"), ("POST", "auth-codes/validate")],
    "codes": [("GET", "batch-ranges/{batch}/qr-codes")],
    "till": [("POST", "redemptions/check"), ("POST", "redemptions/use")],
    "members": [("POST", "members"), ("PATCH", "members/{member}")],
    "events": [("POST", "events"), ("POST", "auth-codes/scan")],
}


@pytest.mark.parametrize(
    ("scope", "method", "path"), [(scope, *call) for scope, calls in CALLS_BY_SCOPE.items() for call in calls]
)
def test_hub_calls_need_their_scope(api, scope, method, path):
    code = factories.code(api.brand)
    url = f"/api/v1/{path.format(code=code, batch=code.batch_id, member=factories.customer(api.brand).pk)}"
    body = json.dumps({"code": str(code)}).encode()
    _, key_with_scope = make_key(api.brand, scopes=[scope])
    _, key_without_scope = make_key(api.brand, scopes=set(ApiKey.Scope.values) - {scope})

    rejected = api.with_headers(api_key=key_without_scope).call(method, url, data=body)
    assert (rejected.status_code, rejected.json()["details"]) == (403, {"scope": scope})
    assert api.with_headers(api_key=key_with_scope).call(method, url, data=body).status_code != 403
