"""A brand's sign-in settings: only its owner changes them, and the secret cannot be read."""

import pytest

from brands.models.audit import AuditLogEntry
from brands.staff_login.models import SignInSettings
from tests.support import factories
from tests.support.portal import address, browser, errors, staff

LABEL = "staff_login.signinsettings"
SECRET = "very-secret-value"
ISSUER = "https://login.example.com/realms/staff"


@pytest.fixture
def row(brand):
    return SignInSettings.objects.create(
        brand=brand, oidc_issuer=ISSUER, oidc_client_id="portal", oidc_client_secret=SECRET
    )


def save(web_client, row, **changed):
    form_data = {"oidc_active": "on", "oidc_issuer": ISSUER, "oidc_client_id": "portal", "oidc_client_secret": ""}
    return web_client.post(address(LABEL, "change", row.pk), {**form_data, **changed})


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_client_secret_is_not_on_the_page(brand, row, role):
    page = browser(staff(brand, role=role)).get(address(LABEL, "change", row.pk)).content.decode()

    assert "portal" in page
    assert SECRET not in page


def test_empty_secret_field_does_not_change_the_secret(brand, row):
    save(browser(staff(brand)), row)

    row.refresh_from_db()
    assert (row.oidc_active, row.oidc_client_secret) == (True, SECRET)
    assert "oidc_client_secret" not in AuditLogEntry.objects.get().changes


def test_another_issuer_needs_a_new_secret(brand, row):
    response = save(browser(staff(brand)), row, oidc_issuer="https://evil.example.com")

    assert errors(response) == {"oidc_client_secret": ["Enter the client secret of the new issuer."]}


def test_removing_the_provider_removes_its_secret(brand, row):
    empty = {"oidc_active": "", "oidc_issuer": "", "oidc_client_id": ""}

    response = save(browser(staff(brand)), row, **empty)

    row.refresh_from_db()
    assert response.status_code == 302
    assert (row.oidc_active, row.oidc_issuer, row.oidc_client_secret) == (False, "", "")


def test_new_secret_is_not_in_the_audit_log(brand, row):
    save(browser(staff(brand)), row, oidc_client_secret="another-secret")

    row.refresh_from_db()
    assert row.oidc_client_secret == "another-secret"
    assert "another-secret" not in str(AuditLogEntry.objects.get().changes)


@pytest.mark.parametrize(
    "issuer", ["http://login.example.com", "https://127.0.0.1/", "https://10.1.2.3", "ftp://x", "x"]
)
def test_issuer_that_may_not_be_called_is_rejected(brand, row, issuer):
    response = save(browser(staff(brand)), row, oidc_issuer=issuer, oidc_client_secret="new")

    assert "oidc_issuer" in errors(response)


def test_active_provider_needs_all_its_settings(brand, row):
    response = save(browser(staff(brand)), row, oidc_client_id="")

    assert "needs issuer, client id and client secret" in str(errors(response))


def test_settings_of_another_brand_are_not_found(brand, row):
    neighbour_client = browser(staff(factories.brand()))

    assert neighbour_client.get(address(LABEL, "change", row.pk)).status_code == 404
    assert save(neighbour_client, row, oidc_client_id="mine").status_code == 404
    assert "Staff login of" not in neighbour_client.get(address(LABEL)).content.decode()


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_can_change_the_settings(brand, row, role):
    response = save(browser(staff(brand, role=role)), row, oidc_client_id="mine")

    assert response.status_code in {403, 404}
    row.refresh_from_db()
    assert row.oidc_client_id == "portal"
