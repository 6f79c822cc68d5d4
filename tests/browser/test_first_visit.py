"""Who opens the portal for the first time loads little, and all of it from here."""

from collections import Counter

import pytest
from playwright.sync_api import Request

from tests.browser.window import DESKTOP, Window
from tests.support import factories
from tests.support.portal import brand_with_one_of_each, staff

MAX_BYTES = 600_000
PAGES = ["", "authcodes/batchrange/", "authcodes/product/add/", "loyalty/pointsrollup/programme/"]


@pytest.mark.parametrize("page", PAGES)
def test_a_first_visit_loads_little_and_nothing_from_elsewhere(window, portal, browser, brand, page):
    brand, _rows = brand_with_one_of_each("northwind")
    olivia = staff(brand, email="olivia@example.com", password=factories.PASSWORD)
    before = window(None)
    before.login(olivia.email, factories.PASSWORD)
    visit = Window(browser, portal.url, DESKTOP, storage_state=before.context.storage_state())
    loaded: Counter[str] = Counter()

    def count(request: Request) -> None:
        sizes = request.sizes()
        loaded[request.url] += sizes["responseBodySize"] + sizes["responseHeadersSize"]

    visit.page.on("requestfinished", count)
    try:
        visit.goto(page)
        visit.page.wait_for_load_state("networkidle")
    finally:
        visit.close()

    assert visit.complaints == []  # where a request leaves this machine
    assert len(loaded) > 10
    assert sum(loaded.values()) < MAX_BYTES, loaded.most_common(12)
