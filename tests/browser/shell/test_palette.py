"""Staff open the search box by its button or Ctrl K, and find codes, members, actions and the guide by keyboard."""

import re

from tests.browser.window import PHONE
from tests.support import factories


def search_for(window, typed: str) -> None:
    window.page.get_by_role("button", name="Search").first.click()
    window.page.get_by_role("combobox", name="Search").press_sequentially(typed)


def test_code_is_found_from_the_header(window, brand):
    factories.batch(brand, prefix="NW-", quantity=5)
    manager = window("manager")
    manager.goto("")

    search_for(manager, "no such thing")
    manager.wait_for_text("Nothing found for “no such thing”", "You can search Codes, Members, Products")
    manager.page.get_by_role("combobox", name="Search").fill("")
    manager.page.get_by_role("combobox", name="Search").press_sequentially("NW-0004")
    manager.page.get_by_role("option", name="NW-0004").click()

    manager.wait_for_text("History of this code")


def test_results_are_chosen_by_keyboard_and_marked_for_screen_readers(window, brand):
    factories.batch(brand, prefix="NW-", quantity=5)
    owner = window()
    page = owner.page
    owner.goto("authcodes/product/")
    page.get_by_role("link", name="Home").first.focus()
    before = page.evaluate("document.activeElement.outerHTML")

    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search")
    owner.wait_for_text("Type to search, or choose an action.")
    assert box.evaluate("box => box === document.activeElement")
    assert owner.axe() == []
    page.keyboard.type("NW-000")
    page.get_by_role("option", name="NW-0003").wait_for()
    number_of_results = page.get_by_role("option").count()
    owner.wait_for_text(f"{number_of_results} results")
    chosen = page.locator("[role=option][aria-selected=true]")
    assert box.get_attribute("aria-expanded") == "true"
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id") == "palette-1"
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id") == "palette-2"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert chosen.get_attribute("id") == f"palette-{number_of_results}"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.outerHTML") == before

    page.keyboard.press("Control+k")
    page.keyboard.type("batch")
    page.keyboard.press("Enter")  # before the answer: this opens what was typed, not an earlier result
    page.wait_for_url(re.compile("/admin/authcodes/batchrange/add/$"))


def test_search_finds_an_action_for_a_member_and_the_guide(window, brand):
    factories.customer(brand, email="anna@example.com")
    owner = window("owner", PHONE)
    owner.goto("")

    search_for(owner, "adjust points of anna")
    owner.page.get_by_role("option", name="Adjust the points of anna@example.com").click()
    owner.page.wait_for_url(re.compile("/adjust/$"))

    search_for(owner, "signing in")
    owner.page.get_by_role("option", name="Signing in").click()
    owner.page.wait_for_url(re.compile("/admin/help/portal/#signing-in$"))
