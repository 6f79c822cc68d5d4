"""A form that is sent after the session has ended: nothing that was typed is lost, and nobody else sees it."""

import os
import re

import pytest

from authcodes.models.products import Product
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories
from tests.support.portal import staff

NOTICE = "has been restored"


@pytest.fixture
def person(brand):
    return staff(brand, role="owner", email="olivia@example.com", password=factories.PASSWORD)


def log_in(window: Window, email: str) -> None:
    window.page.get_by_label("E-mail").fill(email)
    window.page.get_by_label("Password").fill(factories.PASSWORD)
    window.page.keyboard.press("Enter")


def typed_after_the_end(window: Window, person) -> None:
    """Fill the form of a product, lose the session, and save."""
    window.login(person.email, factories.PASSWORD)
    window.goto("authcodes/product/add/")
    window.page.get_by_label("Sku").fill("mug")
    window.page.locator("#id_title").fill("Blue mug")
    cookies = [each for each in window.context.cookies() if each["name"] != "sessionid"]
    window.context.clear_cookies()
    window.context.add_cookies(cookies)
    window.page.locator("[name=_save]").first.click()
    window.page.wait_for_url(re.compile("/admin/login/"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_form_is_filled_again_after_the_login_and_can_be_saved(portal, browser, person, size):
    window = Window(browser, portal.url, size)
    typed_after_the_end(window, person)

    log_in(window, person.email)
    window.reads(NOTICE)
    shown(window, f"draft-{size[0]}")
    assert window.page.locator("#id_title").input_value() == "Blue mug"
    window.page.locator("[name=_save]").first.click()
    window.reads("was added successfully")
    window.goto("authcodes/product/add/")

    assert Product.objects.get().title == "Blue mug"
    assert window.page.locator("#id_title").input_value() == ""
    window.close()


def test_somebody_else_in_the_same_tab_does_not_see_it(portal, browser, person, brand):
    other = staff(brand, role="owner", email="oscar@example.com", password=factories.PASSWORD)
    window = Window(browser, portal.url, DESKTOP)
    typed_after_the_end(window, person)

    log_in(window, other.email)
    window.page.wait_for_url(re.compile("/product/add/$"))
    window.page.wait_for_load_state()

    assert window.page.locator("#id_title").input_value() == ""
    assert "Blue mug" not in window.page.evaluate("JSON.stringify(sessionStorage)")
    window.close()


def test_passwords_and_secrets_are_not_kept(portal, browser, person):
    window = Window(browser, portal.url, DESKTOP)
    window.login(person.email, factories.PASSWORD)
    window.goto("staff_login/signinsettings/add/")
    window.page.locator("[name=oidc_client_secret]").fill("hush-hush")
    window.page.locator("[name=oidc_issuer]").fill("https://login.example.com")

    kept = window.page.evaluate("JSON.stringify(sessionStorage)")
    assert "login.example.com" in kept
    assert "hush" not in kept
    window.close()


def shown(window: Window, name: str) -> None:
    """A picture for whoever asks for one."""
    if folder := os.environ.get("SCREENSHOTS"):
        window.page.screenshot(path=f"{folder}/{name}.png")
