"""Staff set up second factors in a browser: an app by its code, and a passkey by Chromium's virtual authenticator."""

from typing import Any

import pyotp
import pytest

from brands.staff_login.models import Factor, SignInSettings
from tests.browser.window import BY_NAME, DESKTOP, LOOPBACK, PHONE, Window
from tests.support import factories
from tests.support.portal import staff


@pytest.fixture
def colleague(brand):
    SignInSettings.objects.create(brand=brand, second_factor_required=True)
    return staff(brand, role="owner", email="olivia@example.com", password=factories.PASSWORD)


def enter_password(window: Window) -> None:
    window.goto("")
    window.page.get_by_label("E-mail").fill("olivia@example.com")
    window.page.get_by_label("Password").fill(factories.PASSWORD)
    window.page.keyboard.press("Enter")


def add_virtual_authenticator(window: Window) -> Any:
    devtools = window.context.new_cdp_session(window.page)
    devtools.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}
    result = devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {**options, "hasResidentKey": True, "automaticPresenceSimulation": True}},
    )
    return devtools, result["authenticatorId"]


def test_passkey_is_set_up_and_accepted_unless_it_is_a_copy(portal, browser, colleague):
    window = Window(browser, portal.url.replace(LOOPBACK, BY_NAME), DESKTOP)
    devtools, authenticator = add_virtual_authenticator(window)
    enter_password(window)
    window.wait_for_text("A second factor is required")

    window.page.get_by_label("Name").fill("My laptop")
    window.button("passkey Add a passkey").click()
    window.wait_for_text("enter one of these codes instead")
    window.link("I have saved them").click()
    window.goto("account/")
    window.wait_for_text("My laptop", "Active sessions")

    window.context.clear_cookies()
    enter_password(window)
    window.wait_for_text("Enter the code from your authenticator app")
    window.button("passkey Use a passkey").click()
    window.page.wait_for_url("**/admin/")
    assert Factor.objects.get().last_used_at is not None

    window.context.clear_cookies()
    [credential] = devtools.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]
    devtools.send(
        "WebAuthn.removeCredential",
        {"authenticatorId": authenticator, "credentialId": credential["credentialId"]},
    )
    devtools.send(
        "WebAuthn.addCredential",
        {"authenticatorId": authenticator, "credential": {**credential, "signCount": 0}},
    )
    enter_password(window)
    window.button("passkey Use a passkey").click()
    window.wait_for_text("was not accepted")  # a counter that went back means a copied key
    assert window.complaints == []
    window.close()


def test_authenticator_app_is_set_up_on_a_phone(portal, browser, colleague):
    window = Window(browser, portal.url, PHONE)
    enter_password(window)
    window.page.get_by_text("Enter it manually").click()
    seed = window.page.locator("details .once-shown").inner_text().replace(" ", "")

    window.page.get_by_label("Code").fill(pyotp.TOTP(seed).now())
    window.button("Add the app").click()
    window.wait_for_text("enter one of these codes instead")
    window.link("I have saved them").click()
    window.page.wait_for_url("**/admin/")
    window.goto("account/")
    window.wait_for_text("Authenticator app")
    owner_page = f"staff_login/signinsettings/{SignInSettings.objects.get().pk}/change/"
    window.goto(owner_page)
    window.wait_for_text("Identity provider")

    assert window.complaints == []
    window.close()
