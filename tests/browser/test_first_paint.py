"""A cheap phone with a slow connection soon shows something. bin/test --all runs this test while no other runs."""

from typing import Any

import pytest

from brands.models.tenants import BrandHostname
from tests.browser.slow_phone import first_paint, slow_down
from tests.browser.window import LOOPBACK, PHONE, Window
from tests.support import factories
from tests.support.portal import brand_with_one_of_each, staff

MAX_PAINT_MS = 2000
MAX_VISITS = 10  # the best one counts, because the machine may be busy


@pytest.fixture
def rows(brand) -> dict[str, Any]:
    _brand, rows = brand_with_one_of_each("northwind")
    return rows


@pytest.fixture
def login_state(window, rows) -> Any:
    """What an owner's browser stores about being logged in."""
    owner = staff(rows["authcodes.product"].brand, email="olivia@example.com", password=factories.PASSWORD)
    first_window = window(None)
    first_window.login(owner.email, factories.PASSWORD)
    return first_window.context.storage_state()


def test_pages_are_painted_soon_on_a_cheap_phone_with_a_slow_connection(
    portal, browser, login_state, rows, record_property
):
    code = rows["authcodes.authcode"]
    BrandHostname.objects.filter(brand=code.brand).update(hostname=LOOPBACK)
    batch, member = rows["authcodes.batchrange"].pk, rows["loyalty.userpoints"].pk
    pages = {
        "login": "/admin/login/",
        "Home": "/admin/",
        "list": "/admin/authcodes/batchrange/",
        "batch": f"/admin/authcodes/batchrange/{batch}/change/",
        "member": f"/admin/loyalty/userpoints/{member}/change/",
        "scan page": f"/s/{code}",
    }
    best: dict[str, float] = {}
    for name, address in pages.items():
        painted: list[float] = []
        size = 0
        while len(painted) < MAX_VISITS and min(painted, default=MAX_PAINT_MS) >= MAX_PAINT_MS:
            options = {} if name in {"login", "scan page"} else {"storage_state": login_state}
            visit = Window(browser, portal.url, PHONE, service_workers="block", **options)
            loaded = slow_down(visit.page)
            visit.page.goto(address)
            painted.append(first_paint(visit.page))
            visit.page.wait_for_load_state("networkidle")
            size = sum(loaded.values())
            visit.close()
        best[name] = min(painted)
        print(f"{name}: {sorted(map(round, painted))} ms, {size / 1000:.0f} kB")  # noqa: T201 - shown by pytest -s

    record_property("first paint, ms", best)
    assert {name: ms for name, ms in best.items() if ms >= MAX_PAINT_MS} == {}
