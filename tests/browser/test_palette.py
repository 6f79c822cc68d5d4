"""Staff open the search box by its button and find a code."""

from tests.support import factories


def test_a_code_is_found_from_the_header(window, brand):
    factories.batch(brand, prefix="NW-", quantity=5)
    manager = window("manager")

    manager.page.get_by_role("button", name="Search").first.click()
    box = manager.page.locator("#search-input-command")
    box.press_sequentially("no such thing")
    manager.reads("Nothing found for “no such thing”")
    box.fill("")
    box.press_sequentially("NW-0004")
    manager.page.locator("#command-results-list").get_by_role("link", name="NW-0004").click()

    manager.reads("History of this code")
