"""An owner of two brands shows one of them, and rotates an API key that is shown only once."""

from django.utils import timezone
from playwright.sync_api import expect

from brands.identity import api_keys
from brands.models.credentials import ApiKey
from tests.support import factories
from tests.support.portal import staff


def test_owner_of_two_brands_can_show_one_of_them(window, brand):
    other = factories.brand(name="Harbour Tea")
    factories.batch(brand, range_name="Beans")
    factories.batch(other, range_name="Leaves")
    owner = window(None)
    owner.begin_session(staff(brand, other, email="olivia@example.com"))
    owner.goto("")

    owner.sidebar("Products & codes", "Batches")
    owner.lists(2)
    owner.page.get_by_label("Brand to show").filter(visible=True).select_option(label="Harbour Tea")
    owner.lists(1)

    owner.wait_for_text("Leaves")


def test_rotated_api_key_shows_its_successor_once(window, brand):
    api_keys.create(brand=brand, kind=ApiKey.Kind.HUB, name="Shop", at=timezone.now())
    owner = window()

    owner.goto("brands/apikey/")
    owner.link("Shop").click()
    owner.link("Rotate").click()
    owner.page.get_by_label("Reason").fill("Yearly")
    owner.button("Rotate and show the new key").click()
    text = owner.page.locator("[data-copied-text]").inner_text()
    owner.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    owner.button("Copy").click()
    expect(owner.page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert owner.page.evaluate("navigator.clipboard.readText()") == text
    owner.link("I have copied it").click()
    owner.lists(2)

    assert api_keys.find(text, at=timezone.now()).brand_id == brand.pk
    assert text not in owner.page.content()
