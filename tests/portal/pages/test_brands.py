"""The portal's page of a brand: hostnames, time zone, and the fields that only operators may change."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import Http404
from django.test import Client
from django.urls import reverse

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand, BrandHostname, validate_time_zone
from portal.site import PortalSite
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db


def save_hostnames(client: Client, brand: Brand, *rows: dict[str, Any]) -> Any:
    """Save as an operator: a brand that may set hostnames itself could take another brand's, or the API's own."""
    client.force_login(factories.user(is_staff=True, is_superuser=True))
    url = address("brands.brand", "change", brand.pk)
    form_data = {name: value for name, value in form_of(client.get(url)).items() if not name.startswith("hostnames-")}
    stored = sum("id" in row for row in rows)
    form_data |= {"hostnames-TOTAL_FORMS": len(rows), "hostnames-INITIAL_FORMS": stored}
    for index, row in enumerate(rows):
        form_data |= {f"hostnames-{index}-{name}": value for name, value in {"brand": brand.pk, **row}.items()}
    return client.post(url, form_data)


def test_second_hostname_can_become_primary(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    saved = save_hostnames(
        client,
        brand,
        {"id": old.pk, "hostname": old.hostname},
        {"hostname": "new.example.com", "is_primary": "on"},
    )

    assert saved.status_code == 302
    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: False, "new.example.com": True}


def test_unchanged_primary_hostname_stays_primary(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    save_hostnames(
        client, brand, {"id": old.pk, "hostname": old.hostname, "is_primary": "on"}, {"hostname": "new.example.com"}
    )

    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: True, "new.example.com": False}


@pytest.mark.parametrize("hostname", ["Upper.example.com", "https://x.example.com", "x y", "taken.example.com", ""])
def test_invalid_or_taken_hostname_is_rejected(client: Client, brand: Brand, hostname: str) -> None:
    factories.brand(hostname="taken.example.com")

    rejected = save_hostnames(client, brand, {"hostname": hostname, "is_primary": "on"})

    assert rejected.status_code == 200
    assert BrandHostname.objects.filter(brand=brand).count() == 1


def test_two_primary_hostnames_are_rejected(client: Client, brand: Brand) -> None:
    rejected = save_hostnames(
        client,
        brand,
        {"hostname": "one.example.com", "is_primary": "on"},
        {"hostname": "two.example.com", "is_primary": "on"},
    )

    assert rejected.status_code == 200
    assert "Only one hostname" in text(rejected)


@pytest.mark.parametrize("time_zone", ["Mars/Olympus", "localtime", "Factory", "+02", ""])
def test_invalid_time_zone_is_rejected(client: Client, brand: Brand, time_zone: str) -> None:
    url = address("brands.brand", "change", brand.pk)

    rejected = client.post(url, {**form_of(client.get(url)), "time_zone": time_zone})

    assert list(errors(rejected)) == ["time_zone"]


def test_time_zone_unknown_to_the_database_is_rejected(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr("brands.models.brand_fields.available_timezones", lambda: {"Europe/Berlin", "Mars/Olympus"})

    validate_time_zone("Europe/Berlin")
    with pytest.raises(ValidationError):
        validate_time_zone("Mars/Olympus")


@pytest.mark.parametrize(("query", "status"), [("s=auth", 200), ("s=", 200), ("s=a&page=x", 404), ("s=a&page=99", 404)])
def test_search_handles_mistyped_page_numbers(rf: Any, query: str, status: int) -> None:
    request = rf.get(f"{reverse('admin:search')}?{query}")
    request.user = factories.user(is_staff=True, is_superuser=True)

    if status == 404:
        with pytest.raises(Http404):
            PortalSite().search(request)
    else:
        assert PortalSite().search(request).status_code == status


def test_only_operators_can_change_the_name(brand):
    """E-mails are sent under this name: an owner could write in the name of another brand."""
    url = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.name

    owner.post(url, {**form_of(owner.get(url)), "name": "Northwind Coffee"})
    brand.refresh_from_db()
    assert brand.name == before

    operator.post(url, {**form_of(operator.get(url)), "name": "Acme again"})
    brand.refresh_from_db()
    assert brand.name == "Acme again"


def test_only_operators_can_change_the_slug(brand):
    url = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.slug

    owner.post(url, {**form_of(owner.get(url)), "slug": "another-tenant"})
    brand.refresh_from_db()
    assert brand.slug == before

    operator.post(url, {**form_of(operator.get(url)), "slug": "renamed"})
    brand.refresh_from_db()
    assert brand.slug == "renamed"


@pytest.mark.parametrize(("role", "allowed"), [("owner", True), ("manager", False), ("printer", False)])
def test_only_owners_can_require_confirmed_addresses_and_it_is_audited(brand: Brand, role: str, allowed: bool) -> None:
    url, user = address("brands.brand", "change", brand.pk), staff(brand, role=role)
    form_data = {**form_of(browser(staff(brand)).get(url)), "requires_confirmed_email": "on"}

    browser(user).post(url, form_data)

    brand.refresh_from_db()
    assert brand.requires_confirmed_email == allowed
    audit_entries = AuditLogEntry.objects.filter(brand=brand, user=user, kind="brands.brand")
    assert (
        list(audit_entries.values_list("changes", flat=True)) == [{"requires_confirmed_email": [False, True]}] * allowed
    )
