"""The page that creates a brand with its design, hostname and owner."""

from typing import Any

import pytest
from django.test import Client

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand, BrandHostname
from brands.staff_login.models import Invitation, StaffMail
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff

pytestmark = pytest.mark.django_db
ADD_URL = address("brands.brand", "add")


@pytest.fixture
def operator() -> Client:
    return browser(factories.user(is_staff=True, is_superuser=True, email="operator@example.com"))


def submit(client: Client, **fields: Any) -> Any:
    form_data = {
        "name": "Harbour Tea",
        "slug": "harbour-tea",
        "time_zone": "Europe/Berlin",
        "support_email": "help@harbour.example.com",
        "hostname": "codes.harbour.example.com",
        "owner_email": "Olivia@harbour.example.com",
    }
    return client.post(ADD_URL, {**form_of(client.get(ADD_URL)), **form_data, **fields})


def test_form_creates_brand_hostname_invitation_and_audit_log(operator: Client) -> None:
    assert submit(operator, colour_accent="#204060").status_code == 302

    brand = Brand.objects.get(slug="harbour-tea")
    invitation = Invitation.objects.get()
    assert (brand.time_zone, brand.colour_accent) == ("Europe/Berlin", "#204060")
    assert list(BrandHostname.objects.values_list("hostname", "is_primary")) == [("codes.harbour.example.com", True)]
    assert (invitation.brand, invitation.email, invitation.role) == (brand, "olivia@harbour.example.com", "owner")
    assert StaffMail.objects.get().invitation == invitation
    audit_entries = AuditLogEntry.objects.filter(brand=brand)
    assert {"brands.brand", "staff_login.invitation"} <= set(audit_entries.values_list("kind", flat=True))
    assert audit_entries.get(kind="brands.brand").changes["hostname"][1] == "codes.harbour.example.com"


def test_hostname_and_owner_are_optional(operator: Client) -> None:
    submit(operator, hostname="", owner_email="")

    assert Brand.objects.filter(slug="harbour-tea").exists()
    assert not BrandHostname.objects.exists()
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "expected_text"),
    [
        ("hostname", "not a host", "Enter the hostname in lowercase."),
        ("hostname", "taken.example.com", "already exists"),
        ("owner_email", "olivia", "Enter a valid email address."),
        ("slug", "taken", "already exists"),
        ("time_zone", "Berlin", "not a valid time zone"),
        ("colour_text", "#ffffff", "Not enough contrast"),
    ],
)
def test_error_appears_at_its_field_and_nothing_is_created(
    operator: Client, field: str, value: str, expected_text: str
) -> None:
    factories.brand(slug="taken", hostname="taken.example.com")

    response = submit(operator, **{field: value})

    assert expected_text in " ".join(errors(response)[field])
    assert response.context["adminform"].form["name"].value() == "Harbour Tea"
    assert Brand.objects.count() == 1
    assert not Invitation.objects.exists()


def test_brand_is_not_created_when_the_invitation_cannot_be_sent(operator: Client, settings: Any) -> None:
    settings.PORTAL_URL = ""
    factories.brand(hostname="testserver")

    submit(operator)

    assert not Brand.objects.filter(slug="harbour-tea").exists()


def test_owner_cannot_open_the_page(brand: Brand) -> None:
    assert browser(staff(brand)).get(ADD_URL).status_code == 403


def test_change_page_has_hostnames_but_no_owner_field(operator: Client, brand: Brand) -> None:
    page = operator.get(address("brands.brand", "change", brand.pk))

    assert [formset.opts.model for formset in page.context["inline_admin_formsets"]] == [BrandHostname]
    assert "owner_email" not in page.context["adminform"].form.fields
