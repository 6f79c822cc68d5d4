"""The portal's pages about API keys: shown once, rotated, revoked, with their scopes, networks and calls."""

import re
from datetime import timedelta
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
    sent = {"brand": brand.pk, "name": "Shop", "kind": "hub", "scopes": ["read"], "reason": "New shop", **fields}
    return client.post(address("brands.apikey", "add"), sent)


def stored_key(brand: Brand) -> tuple[ApiKey, str]:
    return api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now())


def shown_key(response: Any) -> str:
    found = KEY.search(text(response))
    assert found
    return found[0]


def opens(key: str) -> bool:
    try:
        return bool(api_keys.find(key, at=timezone.now()))
    except ApiKeyInvalid:
        return False


def test_new_key_is_shown_in_the_answer_only(client: Client, brand: Brand, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    answer = add_key(client, brand)

    key = shown_key(answer)
    assert api_keys.find(key, at=timezone.now()).brand_id == brand.pk
    assert "no-store" in answer["Cache-Control"]
    made = ApiKey.objects.get()
    later = [client.get(where) for where in (address("brands.apikey"), address("brands.apikey", "change", made.pk))]
    later.append(client.get(address("brands.apikey", "history", made.pk)))
    assert not any(KEY.search(text(page)) for page in later)
    assert key not in str(client.cookies)
    assert key not in str(dict(client.session))
    assert key not in str(AuditLogEntry.objects.values_list())
    assert key not in caplog.text


@pytest.mark.parametrize("reason", ["", "  "])
def test_key_without_a_reason_is_not_made(client: Client, brand: Brand, reason: str) -> None:
    assert list(errors(add_key(client, brand, reason=reason))) == ["reason"]
    assert not ApiKey.objects.exists()


def test_third_usable_key_of_a_kind_is_refused(client: Client, brand: Brand) -> None:
    for _ in range(2):
        shown_key(add_key(client, brand))

    assert list(errors(add_key(client, brand))) == ["kind"]
    shown_key(add_key(client, brand, kind="app"))


def test_key_that_has_ended_before_it_began_is_refused(client: Client, brand: Brand) -> None:
    refused = add_key(client, brand, expires_at_0="2020-01-01", expires_at_1="00:00")

    assert list(errors(refused)) == ["expires_at"]


def test_revoked_key_opens_nothing(client: Client, brand: Brand) -> None:
    key, its_text = stored_key(brand)
    its = address("brands.apikey", "revoke", key.pk)
    assert its in text(client.get(address("brands.apikey", "change", key.pk)))
    assert "rejected from now on" in text(client.get(its))
    assert opens(its_text)

    client.post(its, {"reason": "Lost a laptop"})

    assert not opens(its_text)
    history = text(client.get(address("brands.apikey", "history", key.pk)))
    assert "Revoked" in history
    assert "Lost a laptop" in history
    assert client.post(its, {"reason": "again"}).status_code == 403


def test_revoking_asks_why(client: Client, brand: Brand) -> None:
    key, its_text = stored_key(brand)

    refused = client.post(address("brands.apikey", "revoke", key.pk), {"reason": " "})

    assert list(refused.context["form"].errors) == ["reason"]
    assert opens(its_text)


def test_rotated_key_and_its_successor_are_both_usable_for_a_while(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    answer = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 24, "reason": "Yearly"})

    new_text = shown_key(answer)
    assert "no-store" in answer["Cache-Control"]
    assert (opens(old_text), opens(new_text)) == (True, True)
    old.refresh_from_db()
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    entries = AuditLogEntry.objects.filter(reason="Yearly")
    assert {entry.row_id for entry in entries} == {str(pk) for pk in ApiKey.objects.values_list("pk", flat=True)}
    assert new_text not in str(entries.values_list())


def test_rotation_can_end_the_old_key_at_once(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    new_text = shown_key(client.post(address("brands.apikey", "rotate", old.pk), {"hours": 0, "reason": "Leaked"}))

    assert (opens(old_text), opens(new_text)) == (False, True)


def test_rotation_sent_twice_makes_one_successor(client: Client, brand: Brand) -> None:
    old, _ = stored_key(brand)
    sent = {"hours": 24, "reason": "Yearly"}
    its = address("brands.apikey", "rotate", old.pk)
    client.post(its, sent)
    entries = AuditLogEntry.objects.count()

    again = client.post(its, sent)

    assert "2 usable hub keys" in str(again.context["form"].errors)
    assert (ApiKey.objects.count(), AuditLogEntry.objects.count()) == (2, entries)


@pytest.mark.parametrize(("sent", "field"), [({"hours": 5}, "hours"), ({"reason": ""}, "reason")])
def test_rotation_that_cannot_be_is_refused(client: Client, brand: Brand, sent: dict[str, Any], field: str) -> None:
    old, _ = stored_key(brand)

    refused = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 1, "reason": "x", **sent})

    assert list(refused.context["form"].errors) == [field]
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("what", ["rotate", "revoke"])
def test_keys_are_ended_by_owners_of_their_brand_only(client: Client, brand: Brand, what: str) -> None:
    key, opening = stored_key(brand)
    foreign_key, foreign_opening = stored_key(factories.brand())
    sent = {"hours": 0, "reason": "x"}

    assert client.get(address("brands.apikey", what, foreign_key.pk)).status_code == 404
    assert client.post(address("brands.apikey", what, foreign_key.pk), sent).status_code == 404
    manager = browser(staff(brand, role="manager"))
    assert manager.post(address("brands.apikey", what, key.pk), sent).status_code == 403
    assert address("brands.apikey", what, key.pk) not in text(manager.get(address("brands.apikey", "change", key.pk)))
    assert opens(opening)
    assert opens(foreign_opening)


def test_key_cannot_be_changed(client: Client, brand: Brand) -> None:
    key, _ = api_keys.create(brand=brand, kind="app", name="Shop", at=timezone.now())

    assert client.post(address("brands.apikey", "change", key.pk), {"kind": "hub"}).status_code == 403
    assert ApiKey.objects.get(pk=key.pk).kind == "app"


def test_form_proposes_to_read_and_no_more(client: Client) -> None:
    page = client.get(address("brands.apikey", "add"))

    assert page.context["adminform"].form["scopes"].initial == ["read"]


def test_new_key_has_the_chosen_scopes_and_networks(client: Client, brand: Brand) -> None:
    add_key(client, brand, scopes=["till", "read"], networks="203.0.113.7\r\n2001:db8::/48")

    made = ApiKey.objects.get()
    assert (made.scopes, made.networks) == (["read", "till"], ["203.0.113.7/32", "2001:db8::/48"])


def test_hub_key_without_scopes_is_refused(client: Client, brand: Brand) -> None:
    assert list(errors(add_key(client, brand, scopes=[]))) == ["scopes"]
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("networks", ["here", "203.0.113.0/33", "203.0.113.7/24", "1" * 100, "\0"])
def test_what_is_no_network_is_named(client: Client, brand: Brand, networks: str) -> None:
    assert list(errors(add_key(client, brand, networks=networks))) == ["networks"]
    assert not ApiKey.objects.exists()


def test_page_of_a_key_shows_its_latest_calls(client: Client, brand: Brand) -> None:
    key, secret = api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now(), scopes=["read"])
    Api(brand, {"api-key": secret}).get("brand/levels")

    page = client.get(address("brands.apikey", "change", key.pk)).content.decode()

    assert "GET /api/v1/brand/levels" in page
