"""The portal's pages for API keys: display, rotation, revocation, scopes, networks and latest calls."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from tests.support import factories
from tests.support.api import Api
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db


KEY = re.compile(r"(?:hub|app)_[A-Za-z0-9_-]{43}")


def add_key(client: Client, brand: Brand, **fields: Any) -> Any:
    form_data = {"brand": brand.pk, "name": "Shop", "kind": "hub", "scopes": ["read"], "reason": "New shop", **fields}
    return client.post(address("brands.apikey", "add"), form_data)


def stored_key(brand: Brand) -> tuple[ApiKey, str]:
    return api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now())


def displayed_key(response: Any) -> str:
    match = KEY.search(text(response))
    assert match
    return match[0]


def is_usable(key: str) -> bool:
    try:
        return bool(api_keys.find(key, at=timezone.now()))
    except ApiKeyInvalid:
        return False


def test_new_key_is_displayed_only_in_the_response(
    client: Client, brand: Brand, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")

    response = add_key(client, brand)

    key_text = displayed_key(response)
    assert api_keys.find(key_text, at=timezone.now()).brand_id == brand.pk
    assert "no-store" in response["Cache-Control"]
    key = ApiKey.objects.get()
    later_pages = [client.get(url) for url in (address("brands.apikey"), address("brands.apikey", "change", key.pk))]
    later_pages.append(client.get(address("brands.apikey", "history", key.pk)))
    assert not any(KEY.search(text(page)) for page in later_pages)
    assert key_text not in str(client.cookies)
    assert key_text not in str(dict(client.session))
    assert key_text not in str(AuditLogEntry.objects.values_list())
    assert key_text not in caplog.text


@pytest.mark.parametrize("reason", ["", "  "])
def test_key_without_a_reason_is_not_created(client: Client, brand: Brand, reason: str) -> None:
    assert list(errors(add_key(client, brand, reason=reason))) == ["reason"]
    assert not ApiKey.objects.exists()


def test_third_usable_key_of_a_kind_is_rejected(client: Client, brand: Brand) -> None:
    for _ in range(2):
        displayed_key(add_key(client, brand))

    assert list(errors(add_key(client, brand))) == ["kind"]
    displayed_key(add_key(client, brand, kind="app"))


def test_key_with_a_past_expiry_is_rejected(client: Client, brand: Brand) -> None:
    rejected = add_key(client, brand, expires_at_0="2020-01-01", expires_at_1="00:00")

    assert list(errors(rejected)) == ["expires_at"]


def test_revoked_key_is_unusable(client: Client, brand: Brand) -> None:
    key, key_text = stored_key(brand)
    url = address("brands.apikey", "revoke", key.pk)
    assert url in text(client.get(address("brands.apikey", "change", key.pk)))
    assert "rejected from now on" in text(client.get(url))
    assert is_usable(key_text)

    client.post(url, {"reason": "Lost a laptop"})

    assert not is_usable(key_text)
    history = text(client.get(address("brands.apikey", "history", key.pk)))
    assert "Revoked" in history
    assert "Lost a laptop" in history
    assert client.post(url, {"reason": "again"}).status_code == 403


def test_revocation_shows_the_last_use_by_the_brands_clock() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    key, _key_text = stored_key(brand)
    ApiKey.objects.update(last_used_at=datetime(2026, 3, 9, 20, tzinfo=UTC))

    page = text(browser(staff(brand)).get(address("brands.apikey", "revoke", key.pk)))

    assert "10 Mar 2026, 01:30 IST" in page


def test_revocation_requires_a_reason(client: Client, brand: Brand) -> None:
    key, key_text = stored_key(brand)

    rejected = client.post(address("brands.apikey", "revoke", key.pk), {"reason": " "})

    assert list(rejected.context["form"].errors) == ["reason"]
    assert is_usable(key_text)


def test_rotated_key_stays_usable_for_the_chosen_hours(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    response = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 24, "reason": "Yearly"})

    new_text = displayed_key(response)
    assert "no-store" in response["Cache-Control"]
    assert (is_usable(old_text), is_usable(new_text)) == (True, True)
    old.refresh_from_db()
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    entries = AuditLogEntry.objects.filter(reason="Yearly")
    assert {entry.row_id for entry in entries} == {str(pk) for pk in ApiKey.objects.values_list("pk", flat=True)}
    assert new_text not in str(entries.values_list())


def test_rotation_with_zero_hours_ends_the_old_key_immediately(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    new_text = displayed_key(client.post(address("brands.apikey", "rotate", old.pk), {"hours": 0, "reason": "Leaked"}))

    assert (is_usable(old_text), is_usable(new_text)) == (False, True)


def test_rotation_submitted_twice_creates_one_successor(client: Client, brand: Brand) -> None:
    old, _ = stored_key(brand)
    form_data = {"hours": 24, "reason": "Yearly"}
    url = address("brands.apikey", "rotate", old.pk)
    client.post(url, form_data)
    entries = AuditLogEntry.objects.count()

    repeated = client.post(url, form_data)

    assert "2 usable hub keys" in str(repeated.context["form"].errors)
    assert (ApiKey.objects.count(), AuditLogEntry.objects.count()) == (2, entries)


@pytest.mark.parametrize(("changes", "field"), [({"hours": 5}, "hours"), ({"reason": ""}, "reason")])
def test_rotation_with_invalid_data_is_rejected(
    client: Client, brand: Brand, changes: dict[str, Any], field: str
) -> None:
    old, _ = stored_key(brand)

    rejected = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 1, "reason": "x", **changes})

    assert list(rejected.context["form"].errors) == [field]
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("action", ["rotate", "revoke"])
def test_only_owners_of_the_brand_can_rotate_or_revoke_keys(client: Client, brand: Brand, action: str) -> None:
    key, key_text = stored_key(brand)
    foreign_key, foreign_key_text = stored_key(factories.brand())
    form_data = {"hours": 0, "reason": "x"}

    assert client.get(address("brands.apikey", action, foreign_key.pk)).status_code == 404
    assert client.post(address("brands.apikey", action, foreign_key.pk), form_data).status_code == 404
    manager = browser(staff(brand, role="manager"))
    assert manager.post(address("brands.apikey", action, key.pk), form_data).status_code == 403
    assert address("brands.apikey", action, key.pk) not in text(manager.get(address("brands.apikey", "change", key.pk)))
    assert is_usable(key_text)
    assert is_usable(foreign_key_text)


def test_key_cannot_be_changed(client: Client, brand: Brand) -> None:
    key, _ = api_keys.create(brand=brand, kind="app", name="Shop", at=timezone.now())

    assert client.post(address("brands.apikey", "change", key.pk), {"kind": "hub"}).status_code == 403
    assert ApiKey.objects.get(pk=key.pk).kind == "app"


def test_form_preselects_only_the_read_scope(client: Client) -> None:
    page = client.get(address("brands.apikey", "add"))

    assert page.context["adminform"].form["scopes"].initial == ["read"]


def test_new_key_has_the_chosen_scopes_and_networks(client: Client, brand: Brand) -> None:
    add_key(client, brand, scopes=["till", "read"], networks="203.0.113.7\r\n2001:db8::/48")

    key = ApiKey.objects.get()
    assert (key.scopes, key.networks) == (["read", "till"], ["203.0.113.7/32", "2001:db8::/48"])


def test_hub_key_without_scopes_is_rejected(client: Client, brand: Brand) -> None:
    assert list(errors(add_key(client, brand, scopes=[]))) == ["scopes"]
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("networks", ["here", "203.0.113.0/33", "203.0.113.7/24", "1" * 100, "\0"])
def test_invalid_network_is_rejected_at_its_field(client: Client, brand: Brand, networks: str) -> None:
    assert list(errors(add_key(client, brand, networks=networks))) == ["networks"]
    assert not ApiKey.objects.exists()


def test_key_page_shows_its_latest_calls(client: Client, brand: Brand) -> None:
    key, secret = api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now(), scopes=["read"])
    Api(brand, {"api-key": secret}).get("brand/levels")

    page = client.get(address("brands.apikey", "change", key.pk)).content.decode()

    assert "GET /api/v1/brand/levels" in page
