"""A brand's sign-in settings: its owner changes them, nobody reads the secret, and a neighbour's are not there."""

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


def save(window, row, **changed):
    form_data = {"oidc_active": "on", "oidc_issuer": ISSUER, "oidc_client_id": "portal", "oidc_client_secret": ""}
    return window.post(address(LABEL, "change", row.pk), {**form_data, **changed})


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_the_secret_is_shown_to_nobody(brand, row, role):
    page = browser(staff(brand, role=role)).get(address(LABEL, "change", row.pk)).content.decode()

    assert "portal" in page
    assert SECRET not in page


def test_an_empty_secret_stays_as_it_was(brand, row):
    save(browser(staff(brand)), row)

    row.refresh_from_db()
    assert (row.oidc_active, row.oidc_client_secret) == (True, SECRET)
    assert "oidc_client_secret" not in AuditLogEntry.objects.get().changes


def test_a_secret_is_never_sent_to_another_issuer(brand, row):
    response = save(browser(staff(brand)), row, oidc_issuer="https://evil.example.com")

    assert errors(response) == {"oidc_client_secret": ["Enter the client secret of the new issuer."]}


def test_the_trail_tells_of_a_new_secret_and_not_what_it_is(brand, row):
    save(browser(staff(brand)), row, oidc_client_secret="another-secret")

    row.refresh_from_db()
    assert row.oidc_client_secret == "another-secret"
    assert "another-secret" not in str(AuditLogEntry.objects.get().changes)


@pytest.mark.parametrize(
    "issuer", ["http://login.example.com", "https://127.0.0.1/", "https://10.1.2.3", "ftp://x", "x"]
)
def test_an_issuer_that_may_not_be_called_is_refused(brand, row, issuer):
    response = save(browser(staff(brand)), row, oidc_issuer=issuer, oidc_client_secret="new")

    assert "oidc_issuer" in errors(response)


def test_an_active_provider_is_complete(brand, row):
    response = save(browser(staff(brand)), row, oidc_client_id="")

    assert "needs issuer, client id and client secret" in str(errors(response))


def test_a_neighbours_settings_are_not_there(brand, row):
    neighbour_client = browser(staff(factories.brand()))

    assert neighbour_client.get(address(LABEL, "change", row.pk)).status_code == 404
    assert save(neighbour_client, row, oidc_client_id="mine").status_code == 404
    assert "Staff login of" not in neighbour_client.get(address(LABEL)).content.decode()


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_change_them(brand, row, role):
    response = save(browser(staff(brand, role=role)), row, oidc_client_id="mine")

    assert response.status_code in {403, 404}
    row.refresh_from_db()
    assert row.oidc_client_id == "portal"
