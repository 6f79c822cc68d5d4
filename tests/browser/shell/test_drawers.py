"""Rows are read one after another in a drawer: the list stays, the URL names the row, and the page is a link away."""

import re

import pytest

from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

ROW = re.compile(r"#row=/admin/authcodes/authcode/\d+/change/$")


@pytest.fixture
def codes(brand):
    factories.batch(brand, prefix="NW-", quantity=5)


@pytest.mark.usefixtures("codes")
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_rows_are_read_one_after_another_in_the_drawer(window, size):
    owner = window("owner", size)
    page = owner.page
    owner.goto("authcodes/authcode/")
    page.get_by_role("link", name="NW-0002").click()

    drawer = page.get_by_role("dialog", name="NW-0002")
    drawer.get_by_text("History of this code").wait_for()
    assert ROW.search(page.url)
    assert owner.axe() == []
    drawer.get_by_role("button", name="Next row").click()
    page.get_by_role("dialog", name="NW-0003").or_(page.get_by_role("dialog", name="NW-0001")).wait_for()
    width = page.locator(".drawer").evaluate("drawer => drawer.getBoundingClientRect().width")
    assert (width == size[0]) == (size == PHONE)

    page.keyboard.press("Escape")
    page.wait_for_function("!location.hash")
    assert page.evaluate("document.activeElement.textContent.trim()") in {"NW-0003", "NW-0001"}


@pytest.mark.usefixtures("codes")
def test_url_opens_the_drawer_again_and_back_closes_it(window):
    owner = window()
    page = owner.page
    owner.goto("authcodes/authcode/?q=NW-0004")
    page.get_by_role("link", name="NW-0004", exact=True).click()
    page.get_by_role("dialog", name="NW-0004").wait_for()

    page.reload()
    page.get_by_role("dialog", name="NW-0004").wait_for()
    page.go_back()
    page.get_by_role("dialog").wait_for(state="hidden")
    assert page.url.endswith("?q=NW-0004")


@pytest.mark.usefixtures("codes")
def test_drawer_links_to_the_page_itself(window):
    owner = window()
    page = owner.page
    owner.goto("authcodes/authcode/")
    with owner.context.expect_page() as opened:
        page.get_by_role("link", name="NW-0004").click(modifiers=["Control"])
    opened.value.wait_for_url("**/change/")

    page.get_by_role("link", name="NW-0004").click()
    drawer = page.get_by_role("dialog", name="NW-0004")
    assert drawer.locator("input:not(:disabled), textarea:not(:disabled), form").count() == 0
    drawer.get_by_role("link", name="Deactivate").click()
    page.wait_for_url(re.compile("/deactivate/$"))
    page.go_back()
    page.get_by_role("dialog", name="NW-0004").get_by_role("link", name="Open the page").click()
    page.wait_for_url(re.compile(r"authcode/\d+/change/$"))


@pytest.mark.usefixtures("codes")
def test_foreign_hash_in_the_url_opens_no_drawer(window):
    owner = window()
    owner.goto("authcodes/authcode/#row=/admin/logout/")
    owner.goto("authcodes/authcode/#row=https://evil.example.com/1/change/")
    owner.lists(5)

    assert owner.page.get_by_role("dialog").count() == 0
