"""A phone that opens the page behind a printed code."""

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser

from authcodes.printing.qr import images
from brands.models.tenants import Brand, BrandHostname
from brands.tenants import pictures
from tests.brands.tenants.test_pictures import drawing
from tests.browser.window import LOOPBACK, Window, load_axe
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.live_stack import Stack
from tests.support.print_jobs import SCHEME

AXE_VIOLATIONS = """
async (options) => (await axe.run({ resultTypes: ["violations"], ...options })).violations
  .filter((it) => ["serious", "critical"].includes(it.impact))
  .map((it) => `${it.id}: ${it.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`)
"""
LANGUAGES = {
    "en-GB": ("Genuine", "Log in", "E-mail address", "Password", "Points received:"),
    "de-DE": ("Echt", "Anmelden", "E-Mail-Adresse", "Passwort", "Punkte erhalten:"),
    "ar-EG": ("أصلي", "تسجيل الدخول", "البريد الإلكتروني", "كلمة المرور", "النقاط المستلمة:"),
}
# Chromium reports every error of the API and every lost connection, although the page explains them.
EXPECTED_ERRORS = re.compile(r"status of 4\d\d|ERR_INTERNET_DISCONNECTED")


@pytest.fixture
def brand(brand: Brand) -> Brand:
    """Northwind Coffee, with the hostname of the test server, a logo, a level and a campaign."""
    BrandHostname.objects.filter(brand=brand).update(hostname=LOOPBACK)
    brand.logo = pictures.store(brand=brand, encoded=pictures.logo(drawing()))
    brand.save()
    factories.level(brand, "Silver", 100)
    factories.campaign(brand, campaign_name="Five for a mug")
    return brand


@pytest.fixture
def phone(portal: Stack, browser: Browser) -> Iterator[Callable[..., Any]]:
    """Opens pages in a phone's browser; their errors fail the test."""
    windows: list[Window] = []

    def open_page(size: tuple[int, int] = (390, 844), **context: Any) -> Any:
        windows.append(Window(browser, portal.url, size, **context))
        return windows[-1].page

    yield open_page
    complaints = [
        complaint
        for opened_window in windows
        for complaint in opened_window.complaints
        if not EXPECTED_ERRORS.search(complaint)
    ]
    for opened_window in windows:
        opened_window.close()
    assert complaints == []


def product(brand: Brand) -> Any:
    return factories.product(
        brand, title="Coffee beans", picture=pictures.store(brand=brand, encoded=pictures.photograph(drawing()))
    )


def path_of(code: Any) -> str:
    """The path of the URL in the printed image of a code, as a camera reads it."""
    image = Image.open(io.BytesIO(images.png(text=images.payload(code=code, hostname=LOOPBACK))))
    [symbol] = zxingcpp.read_barcodes(image)
    address = re.fullmatch(rf"{SCHEME}://{re.escape(LOOPBACK)}(/s/.+)", symbol.text)
    assert address
    return address[1]


def check(page: Any, path: str) -> None:
    """Open a code's page and press its only button."""
    page.goto(path)
    page.locator("#check button").click()


def log_in(
    page: Any, customer: Any, button: str = "Log in", email: str = "E-mail address", password: str = "Password"
) -> None:
    form = page.locator("form[data-act=log_in]")
    entry = page.locator("[data-entry=log_in]")
    if entry.get_attribute("open") is None:  # closed on a phone on which no customer has logged in before
        entry.locator("summary").click()
    form.get_by_label(email).fill(customer.email)
    form.get_by_label(password).fill(PASSWORD)
    form.get_by_role("button", name=button).click()


OTHER_KEY = """(name) =>
  sessionStorage.setItem(name, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(name)), key: "another" }))
"""


def faults(page: Any, **options: Any) -> list[str]:
    """Accessibility problems of what the page shows now; `options` are axe's."""
    load_axe(page)
    violations: list[str] = page.evaluate(AXE_VIOLATIONS, options)
    excess_width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*violations, *([f"{excess_width} pixels wider than the screen"] if excess_width > 0 else [])]
