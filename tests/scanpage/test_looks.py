"""A brand's looks: colours that can be read, icons, and what makes the page an app."""

import io
import re

import pytest
from PIL import Image

from brands.tenants import pictures
from core import colours
from scanpage import theme
from tests.brands.tenants.test_pictures import drawing
from tests.scanpage.conftest import Browser
from tests.support import factories

pytestmark = pytest.mark.django_db
BRANDS = [("#ffffff", "#1f2328", "#0b57d0"), ("#000000", "#ffffff", "#ffff00"), ("#ffffff", "#000000", "#949494")]


@pytest.mark.parametrize(("background", "text", "accent"), BRANDS)
def test_everything_on_the_page_can_be_read(background, text, accent):
    brand = factories.brand(colour_background=background, colour_text=text, colour_accent=accent)
    named = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", theme.style(brand)))

    for one, other in [("text", "background"), ("text", "card"), ("link", "background"), ("on-accent", "accent")]:
        assert colours.contrast(named[one], named[other]) >= colours.READABLE, (one, other)
    assert colours.contrast(named["line"], named["background"]) >= colours.VISIBLE


def test_the_style_sheet_is_kept_for_as_long_as_the_brand_looks_like_that(brand, browser):
    address = re.search(r'href="(/page/brand\.css\?v=\w+)"', browser.get("/s/").content.decode())[1]

    before = browser.get(address)
    brand.colour_accent = "#b3151f"
    brand.save()
    after = browser.get(address)

    assert ("immutable" in before["Cache-Control"], after["Cache-Control"]) == (True, "no-cache")
    assert "--accent:#b3151f" in after.content.decode()


@pytest.mark.parametrize("with_logo", [True, False])
def test_the_icons_are_squares_of_the_size_they_say(brand, browser, with_logo):
    if with_logo:
        brand.logo = pictures.store(brand=brand, drawn=pictures.logo(drawing((300, 90))))
        brand.save()

    for entry in browser.get("/page/manifest.webmanifest").json()["icons"]:
        icon = Image.open(io.BytesIO(browser.get(entry["src"]).content))
        assert (icon.format, f"{icon.width}x{icon.height}") == ("PNG", entry["sizes"])


def test_the_manifest_has_what_a_phone_needs_to_install_the_page(brand, browser):
    answer = browser.get("/page/manifest.webmanifest")

    found = answer.json()
    assert answer["Content-Type"] == "application/manifest+json"
    assert (found["name"], found["start_url"], found["display"]) == (brand.name, "/s/", "standalone")
    assert {entry["sizes"] for entry in found["icons"]} == {"192x192", "512x512"}


def test_a_logo_is_shown_with_the_brands_name_for_words(brand, browser):
    brand.logo = pictures.store(brand=brand, drawn=pictures.logo(drawing()))
    brand.save()

    assert f'<img src="/pictures/{brand.logo_id}/small" alt="{brand.name}"' in browser.get("/s/").content.decode()


def test_the_worker_changes_with_the_looks_and_only_reaches_this_service(brand, browser):
    before = browser.get("/sw.js")
    brand.colour_accent = "#b3151f"
    brand.save()

    assert before.content != browser.get("/sw.js").content
    assert before["Content-Security-Policy"] == "default-src 'none'; connect-src 'self'"


def test_the_portals_host_has_colours_of_no_brand_and_nothing_to_install(client, brand):
    brand.colour_accent = "#b3151f"
    brand.save()
    page = client.get("/page/brand.css", headers={"host": "portal.example.com"})
    assert (page.status_code, "#b3151f" in page.content.decode()) == (200, False)
    for address in ("/page/manifest.webmanifest", "/sw.js", "/page/icon-192.png"):
        assert client.get(address, headers={"host": "portal.example.com"}).status_code == 404
    assert Browser(brand).get("/page/icon-193.png").status_code == 404
