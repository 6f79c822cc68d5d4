"""A first visit of a page loads little, and all of it from this server."""

from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Request

from brands.models.people import User
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support.portal import brand_with_one_of_each, staff

MAX_BYTES = 600_000
PAGES = ["", "authcodes/batchrange/", "authcodes/product/add/", "loyalty/pointsrollup/programme/"]
FOREIGN_FONTS = "/unfold/fonts/"


@pytest.fixture
def rows(brand) -> dict[str, Any]:
    _brand, rows = brand_with_one_of_each("northwind")
    return rows


@pytest.fixture
def logged_in_user(window, rows) -> tuple[User, Any]:
    """A user, and what their browser stores about being logged in."""
    user = staff(rows["authcodes.product"].brand, email="olivia@example.com")
    first_window = window(None)
    first_window.begin_session(user)
    return user, first_window.context.storage_state()


def count_bytes(visit: Window) -> Counter[str]:
    loaded: Counter[str] = Counter()

    def count(request: Request) -> None:
        sizes = request.sizes()
        loaded[request.url] += sizes["responseBodySize"] + sizes["responseHeadersSize"]

    visit.page.on("requestfinished", count)
    return loaded


@pytest.mark.parametrize("language", ["", "ar"])
def test_first_visit_loads_little_and_nothing_from_other_hosts(portal, browser, logged_in_user, language):
    user, state = logged_in_user
    User.objects.filter(pk=user.pk).update(portal_language=language)
    for page in PAGES:
        visit = Window(browser, portal.url, DESKTOP, storage_state=state)
        loaded = count_bytes(visit)
        try:
            visit.goto(page)
            visit.page.wait_for_load_state("networkidle")
        finally:
            visit.close()

        assert visit.complaints == []  # which would list requests to other machines
        assert len(loaded) > 10
        assert sum(loaded.values()) < MAX_BYTES, (page, loaded.most_common(12))
        assert not [each for each in loaded if FOREIGN_FONTS in each]


@pytest.mark.parametrize("language", ["en", "ar"])
def test_login_page_loads_no_font_for_the_names_of_languages(portal, browser, transactional_db, language):
    visit = Window(browser, portal.url, PHONE, locale=language)
    loaded = count_bytes(visit)
    visit.goto("")
    visit.page.wait_for_load_state("networkidle")
    visit.close()

    assert sum(loaded.values()) < MAX_BYTES / 2, loaded.most_common(12)
    assert not [each for each in loaded if FOREIGN_FONTS in each]
