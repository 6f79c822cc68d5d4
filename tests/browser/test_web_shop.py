"""A brand's web shop on its own origin: its pages can call the API from a real browser, and no other page can."""

from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from tests.browser.window import LOOPBACK, Window
from tests.support import factories
from tests.support.api import Api
from tests.support.factories import PASSWORD
from tests.support.live_stack import ROOT, Stack, wait_until

SHOP = "<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1></html>"
# A call that the browser does not let the page read is "blocked".
CALL = """
async ([path, key, token, body]) => {
  const headers = { "api-key": key };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  if (body) headers["Idempotency-Key"] = crypto.randomUUID();
  try {
    const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    return { http: answer.status, id: answer.headers.get("X-Request-ID"), ...(await answer.json()) };
  } catch (error) {
    return { blocked: error.name };
  }
}
"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_line: Any) -> None:
        """Log nothing."""


@pytest.fixture
def website(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Serves a page on a port of its own; returns its origin."""
    (tmp_path / "index.html").write_text(SHOP)
    servers: list[ThreadingHTTPServer] = []

    def serve() -> str:
        server = ThreadingHTTPServer((LOOPBACK, 0), partial(QuietHandler, directory=str(tmp_path)))
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://{LOOPBACK}:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def page_at(portal: Stack, browser: Browser) -> Iterator[Callable[..., Any]]:
    """`page_at(origin, key)` opens the website; the returned function calls the API as the page's script would."""
    windows: list[Window] = []

    def open_page(origin: str, key: str) -> Callable[..., Any]:
        windows.append(Window(browser, origin))
        page = windows[-1].page
        page.goto("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Shop")
        return lambda path, token="", body=None: page.evaluate(CALL, [f"{portal.url}/api/v1/{path}", key, token, body])

    yield open_page
    for window in windows:
        window.close()


def test_only_the_registered_shop_can_log_in_scan_and_read_points(
    brand: Brand, website: Callable[[], str], page_at: Callable[..., Any]
) -> None:
    origin, other_origin = website(), website()
    Brand.objects.filter(pk=brand.pk).update(web_origins=[origin])
    customer, code = factories.customer(brand, password=PASSWORD), str(factories.code(brand))
    key = Api(brand).app().headers["api-key"]
    credentials = {"email": customer.email, "password": PASSWORD}
    call, intruder = page_at(origin, key), page_at(other_origin, key)

    assert call("auth/token", body={**credentials, "password": "wrong"})["error"] == "AUTHENTICATION_REQUIRED"
    token = call("auth/token", body=credentials)["access"]
    scan = call("auth-codes/scan", token, {"code": code})
    assert (scan["http"], scan["status"]) == (200, "success")
    wait_until(LoyaltyTransaction.objects.exists)
    points = call("customer/loyalty/points", token)

    assert points["data"]["points"] == 10
    assert points["id"]
    assert call("customer/loyalty/points", "of-nobody")["http"] == 401
    assert call("brand/products", token) == {"blocked": "TypeError"}
    assert intruder("auth/token", body=credentials) == {"blocked": "TypeError"}
    assert intruder("customer/loyalty/points", token) == {"blocked": "TypeError"}
    assert intruder("customer/loyalty/points", "of-nobody") == {"blocked": "TypeError"}


def test_example_of_the_guide_works(brand: Brand, website: Callable[[], str], portal: Stack, browser: Browser) -> None:
    origin, customer = website(), factories.customer(brand, password=PASSWORD)
    Brand.objects.filter(pk=brand.pk).update(web_origins=[origin])
    guide = (ROOT / "docs/api/websites.md").read_text()
    example = guide.split("```js\n")[1].split("```")[0].replace("https://api.example.com", portal.url)
    example = example.replace("app_...", Api(brand).app().headers["api-key"])
    window = Window(browser, origin)
    window.page.goto("/")
    values = {"email": customer.email, "password": PASSWORD, "code": str(factories.code(brand))}

    answers = window.page.evaluate(
        f"async ({{ email, password, code }}) => {{ {example} return [scan, points]; }}", values
    )

    assert [answer["success"] for answer in answers] == [True, True]
    assert window.complaints == []
    window.close()


def test_page_with_a_hub_key_can_read_nothing(
    brand: Brand, website: Callable[[], str], page_at: Callable[..., Any]
) -> None:
    origin = website()
    Brand.objects.filter(pk=brand.pk).update(web_origins=[origin])
    hub = Api(brand).hub().headers["api-key"]
    assert ApiKey.objects.get(kind=ApiKey.Kind.HUB).brand == brand

    call = page_at(origin, hub)

    assert call("brand/products") == {"blocked": "TypeError"}
    assert call("auth-codes/scan", body={"code": str(factories.code(brand))}) == {"blocked": "TypeError"}


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_owner_registers_the_origins_of_a_shop(
    window: Callable[..., Window], brand: Brand, size: tuple[int, int]
) -> None:
    owner = window("owner", size)
    owner.goto(f"brands/brand/{brand.pk}/change/")
    field = owner.page.get_by_label("Web origins")

    field.fill("https://*.example.com")
    owner.button("Save").click()
    owner.wait_for_text("is not a valid web origin")
    assert owner.audit() == []
    field.fill("https://Shop.example.com/\nhttp://localhost:3000")
    owner.button("Save").click()
    owner.wait_for_text("was changed successfully")

    brand.refresh_from_db()
    assert brand.web_origins == ["https://shop.example.com", "http://localhost:3000"]
