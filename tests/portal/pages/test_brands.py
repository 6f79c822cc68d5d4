"""The portal's page of a brand: hostnames, time zone, and what only the operator changes."""

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
    """As the operator: a brand that could take any hostname could take another's, or the API's own."""
    client.force_login(factories.user(is_staff=True, is_superuser=True))
    its = address("brands.brand", "change", brand.pk)
    sent = {name: value for name, value in form_of(client.get(its)).items() if not name.startswith("hostnames-")}
    stored = sum("id" in row for row in rows)
    sent |= {"hostnames-TOTAL_FORMS": len(rows), "hostnames-INITIAL_FORMS": stored}
    for number, row in enumerate(rows):
        sent |= {f"hostnames-{number}-{name}": value for name, value in {"brand": brand.pk, **row}.items()}
    return client.post(its, sent)


def test_another_hostname_becomes_the_primary_one(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    saved = save_hostnames(
        client,
        brand,
        {"id": old.pk, "hostname": old.hostname},
        {"hostname": "new.example.com", "is_primary": "on"},
    )

    assert saved.status_code == 302
    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: False, "new.example.com": True}


def test_primary_hostname_that_is_untouched_stays_primary(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    save_hostnames(
        client, brand, {"id": old.pk, "hostname": old.hostname, "is_primary": "on"}, {"hostname": "new.example.com"}
    )

    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: True, "new.example.com": False}


@pytest.mark.parametrize("hostname", ["Upper.example.com", "https://x.example.com", "x y", "taken.example.com", ""])
def test_hostnames_that_cannot_be_are_refused(client: Client, brand: Brand, hostname: str) -> None:
    factories.brand(hostname="taken.example.com")

    refused = save_hostnames(client, brand, {"hostname": hostname, "is_primary": "on"})

    assert refused.status_code == 200
    assert BrandHostname.objects.filter(brand=brand).count() == 1


def test_two_primary_hostnames_are_one_too_many(client: Client, brand: Brand) -> None:
    refused = save_hostnames(
        client,
        brand,
        {"hostname": "one.example.com", "is_primary": "on"},
        {"hostname": "two.example.com", "is_primary": "on"},
    )

    assert refused.status_code == 200
    assert "Only one hostname" in text(refused)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "localtime", "Factory", "+02", ""])
def test_time_zone_must_be_one(client: Client, brand: Brand, zone: str) -> None:
    its = address("brands.brand", "change", brand.pk)

    refused = client.post(its, {**form_of(client.get(its)), "time_zone": zone})

    assert list(errors(refused)) == ["time_zone"]


def test_time_zone_must_be_one_that_the_database_knows(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr("brands.models.brand_fields.available_timezones", lambda: {"Europe/Berlin", "Mars/Olympus"})

    validate_time_zone("Europe/Berlin")
    with pytest.raises(ValidationError):
        validate_time_zone("Mars/Olympus")


@pytest.mark.parametrize(("query", "status"), [("s=auth", 200), ("s=", 200), ("s=a&page=x", 404), ("s=a&page=99", 404)])
def test_page_search_answers_mistyped_page_numbers(rf: Any, query: str, status: int) -> None:
    request = rf.get(f"{reverse('admin:search')}?{query}")
    request.user = factories.user(is_staff=True, is_superuser=True)

    if status == 404:
        with pytest.raises(Http404):
            PortalSite().search(request)
    else:
        assert PortalSite().search(request).status_code == status


def test_name_is_the_operators_to_change(brand):
    """Mails come in it: an owner could have written in another brand's."""
    page = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.name

    owner.post(page, {**form_of(owner.get(page)), "name": "Northwind Coffee"})
    brand.refresh_from_db()
    assert brand.name == before

    operator.post(page, {**form_of(operator.get(page)), "name": "Acme again"})
    brand.refresh_from_db()
    assert brand.name == "Acme again"


def test_slug_is_the_operators_to_change(brand):
    page = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.slug

    owner.post(page, {**form_of(owner.get(page)), "slug": "another-tenant"})
    brand.refresh_from_db()
    assert brand.slug == before

    operator.post(page, {**form_of(operator.get(page)), "slug": "renamed"})
    brand.refresh_from_db()
    assert brand.slug == "renamed"


@pytest.mark.parametrize(("role", "may"), [("owner", True), ("manager", False), ("printer", False)])
def test_who_may_ask_for_confirmed_addresses_and_that_it_is_audited(brand: Brand, role: str, may: bool) -> None:
    its, person = address("brands.brand", "change", brand.pk), staff(brand, role=role)
    filled = {**form_of(browser(staff(brand)).get(its)), "requires_confirmed_email": "on"}

    browser(person).post(its, filled)

    brand.refresh_from_db()
    assert brand.requires_confirmed_email == may
    audit_entries = AuditLogEntry.objects.filter(brand=brand, user=person, kind="brands.brand")
    assert list(audit_entries.values_list("changes", flat=True)) == [{"requires_confirmed_email": [False, True]}] * may
