"""When a brand stops using a provider, the provider's sessions end and those with a password stay."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from brands.staff_login.models import SignInSettings, StaffSession
from tests.brands.staff_login.provider import CLIENT_ID, finish_sign_in, sign_in, start_sign_in
from tests.brands.staff_login.signing_in import add_app, code_of, is_logged_in, submit_password
from tests.support import factories
from tests.support.portal import address, browser, staff

LABEL = "staff_login.signinsettings"


def save(owner_client, brand, provider, **changed):
    row = SignInSettings.objects.get(brand=brand)
    form_data = {
        "oidc_active": "on",
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": "",
    }
    form_data = {name: value for name, value in {**form_data, **changed}.items() if value is not None}
    answer = owner_client.post(address(LABEL, "change", row.pk), form_data)
    assert answer.status_code == 302


CHANGES = [
    {"oidc_active": None},
    {"oidc_client_id": "another"},
    {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_secret": "new"},
]


@pytest.mark.parametrize("changed", CHANGES, ids=["off", "client", "issuer"])
def test_changing_the_provider_ends_the_sessions_that_it_began(brand, provider, web_client, changed):
    sign_in(web_client, brand, provider)
    assert is_logged_in(web_client)

    save(browser(staff(brand)), brand, provider, **changed)

    assert not is_logged_in(web_client)
    assert not StaffSession.objects.filter(brand=brand).exists()


def test_sessions_by_password_and_of_other_brands_stay(brand, provider, web_client, colleague):
    by_password, other_brand = Client(), factories.brand()
    submit_password(by_password, colleague)
    StaffSession.objects.create(user=colleague, session_key="k" * 32, brand=other_brand, network="192.0.2.1")
    sign_in(web_client, brand, provider)

    save(browser(staff(brand)), brand, provider, oidc_active=None)

    assert is_logged_in(by_password)
    assert not is_logged_in(web_client)
    assert StaffSession.objects.filter(brand=other_brand).exists()


def test_sessions_stay_when_the_provider_stays_the_same(brand, provider, web_client):
    sign_in(web_client, brand, provider)

    save(browser(staff(brand)), brand, provider, second_factor_required="on", oidc_client_secret="rotated")

    assert is_logged_in(web_client)


def test_owner_logged_in_by_the_provider_is_logged_out_by_disabling_it(brand, provider, web_client):
    owner = staff(brand, email="owner@example.com")
    provider.email = owner.email
    sign_in(web_client, brand, provider)

    save(web_client, brand, provider, oidc_active=None)

    assert not SignInSettings.objects.get().oidc_active
    assert not is_logged_in(web_client)


@pytest.mark.parametrize("change", ["off", "another client"])
def test_sign_in_waiting_for_its_second_factor_ends_too(brand, provider, web_client, colleague, change):
    seed = add_app(colleague)
    SignInSettings.objects.update(second_factor_required=True)
    sign_in(web_client, brand, provider)
    changed = {"oidc_active": None} if change == "off" else {"oidc_client_id": "another"}
    save(browser(staff(brand)), brand, provider, second_factor_required="on", **changed)

    web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert not is_logged_in(web_client)


def test_sign_in_begun_before_the_change_is_rejected(brand, provider, web_client):
    url = start_sign_in(web_client, brand).headers["Location"]
    assert parse_qs(urlsplit(url).query)["client_id"] == [CLIENT_ID]
    save(browser(staff(brand)), brand, provider, oidc_issuer="http://127.0.0.1:9", oidc_client_secret="new")

    finish_sign_in(web_client, brand, provider.authorize(url))

    assert not is_logged_in(web_client)
