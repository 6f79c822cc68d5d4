"""A provider that a brand uses no more: whom it let in is logged out, and whom a password let in stays."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from brands.staff_login.models import SignInSettings, StaffSession
from tests.brands.staff_login.provider import CLIENT_ID, sign_in, way_back, way_there
from tests.brands.staff_login.signing_in import code_of, give_password, is_in, with_app
from tests.support import factories
from tests.support.portal import address, browser, staff

LABEL = "staff_login.signinsettings"


def save(owner_in, brand, provider, **changed):
    row = SignInSettings.objects.get(brand=brand)
    sent = {"oidc_active": "on", "oidc_issuer": provider.url, "oidc_client_id": CLIENT_ID, "oidc_client_secret": ""}
    sent = {name: value for name, value in {**sent, **changed}.items() if value is not None}
    answer = owner_in.post(address(LABEL, "change", row.pk), sent)
    assert answer.status_code == 302


CHANGES = [
    {"oidc_active": None},
    {"oidc_client_id": "another"},
    {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_secret": "new"},
]


@pytest.mark.parametrize("changed", CHANGES, ids=["off", "client", "issuer"])
def test_another_provider_logs_out_whom_the_old_one_let_in(brand, provider, window, changed):
    sign_in(window, brand, provider)
    assert is_in(window)

    save(browser(staff(brand)), brand, provider, **changed)

    assert not is_in(window)
    assert not StaffSession.objects.filter(brand=brand).exists()


def test_sessions_of_passwords_and_of_other_brands_stay(brand, provider, window, colleague):
    by_password, elsewhere = Client(), factories.brand()
    give_password(by_password, colleague)
    StaffSession.objects.create(user=colleague, session_key="k" * 32, brand=elsewhere, network="192.0.2.1")
    sign_in(window, brand, provider)

    save(browser(staff(brand)), brand, provider, oidc_active=None)

    assert is_in(by_password)
    assert not is_in(window)
    assert StaffSession.objects.filter(brand=elsewhere).exists()


def test_nothing_ends_while_the_provider_stays(brand, provider, window):
    sign_in(window, brand, provider)

    save(browser(staff(brand)), brand, provider, second_factor_required="on", oidc_client_secret="rotated")

    assert is_in(window)


def test_owner_whom_the_provider_let_in_switches_it_off_and_is_out(brand, provider, window):
    owner = staff(brand, email="owner@example.com")
    provider.email = owner.email
    sign_in(window, brand, provider)

    save(window, brand, provider, oidc_active=None)

    assert not SignInSettings.objects.get().oidc_active
    assert not is_in(window)


@pytest.mark.parametrize("meanwhile", ["off", "another client"])
def test_sign_in_that_waits_for_its_second_factor_ends_too(brand, provider, window, colleague, meanwhile):
    seed = with_app(colleague)
    SignInSettings.objects.update(second_factor_required=True)
    sign_in(window, brand, provider)
    changed = {"oidc_active": None} if meanwhile == "off" else {"oidc_client_id": "another"}
    save(browser(staff(brand)), brand, provider, second_factor_required="on", **changed)

    window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert not is_in(window)


def test_attempt_begun_before_the_change_lets_nobody_in(brand, provider, window):
    there = way_there(window, brand).headers["Location"]
    assert parse_qs(urlsplit(there).query)["client_id"] == [CLIENT_ID]
    save(browser(staff(brand)), brand, provider, oidc_issuer="http://127.0.0.1:9", oidc_client_secret="new")

    way_back(window, brand, provider.agree(there))

    assert not is_in(window)
