"""How many clicks the commonest ways take, from a page after the login."""

import re

from brands.models.tenants import Brand
from brands.staff_login.models import Invitation
from tests.browser.test_member_page import COUNT
from tests.browser.window import Window
from tests.support import factories


def clicks(window: Window) -> int:
    return int(window.page.evaluate("sessionStorage.clicks || 0"))


def test_the_till_is_where_support_begins_and_one_click_away_for_others(window):
    assert "/loyalty/redemption/till/" in window("support").page.url

    manager = window("manager")
    manager.page.add_init_script(COUNT)
    manager.goto("")
    manager.page.get_by_role("link", name="Till").click()
    manager.page.wait_for_url(re.compile("/redemption/till/$"))
    assert clicks(manager) == 1


def test_a_new_brand_with_its_owner(portal, browser, transactional_db):
    factories.user(
        email="operator@example.com", password=factories.PASSWORD, is_staff=True, is_superuser=True, is_active=True
    )
    window = Window(browser, portal.url, (1440, 900))
    window.page.add_init_script(COUNT)
    window.login("operator@example.com", factories.PASSWORD)
    window.page.evaluate("sessionStorage.clicks = 0")
    window.sidebar("Settings")
    window.add()
    window.page.locator("#id_name").press_sequentially("Harbour Tea")
    assert window.page.locator("#id_slug").input_value() == "harbour-tea"
    window.page.locator("#id_time_zone").select_option("Europe/Berlin")
    window.page.locator("#id_support_email").fill("help@harbour.example.com")
    window.page.locator("#id_hostname").fill("codes.harbour.example.com")
    window.page.locator("#id_owner_email").fill("olivia@harbour.example.com")
    assert window.axe() == []
    window.page.locator("[name=_save]").first.click()
    window.reads("An invitation is being sent to olivia@harbour.example.com.")

    assert clicks(window) <= 4
    assert Brand.objects.get(slug="harbour-tea").hostnames.get().hostname == "codes.harbour.example.com"
    assert Invitation.objects.get().email == "olivia@harbour.example.com"
    window.close()


def test_the_guide_is_one_key_away_and_opens_beside_the_page(window):
    owner = window()
    owner.goto("authcodes/batchrange/add/")
    owner.page.locator("#id_range_name").fill("What is this?")
    with owner.context.expect_page() as opened:
        owner.page.locator("#content h1, #content h2, body").first.evaluate("() => document.activeElement.blur()")
        owner.page.keyboard.press("?")

    guide = opened.value
    guide.get_by_role("heading", name="Make codes: batches").wait_for()
    assert guide.url.endswith("/admin/help/portal/#make-codes-batches")
    assert owner.page.locator("#id_range_name").input_value() == "What is this?"


def test_the_guide_can_be_used_by_everybody(window):
    for size in ((1440, 900), (390, 844)):
        owner = window("owner", size)
        owner.goto("help/")
        assert owner.audit() + owner.axe() == []
