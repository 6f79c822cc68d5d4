"""A brand's design on the page: readable colours, icons, and the manifest of the web app."""

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
def test_all_colours_of_the_page_have_enough_contrast(background, text, accent):
    brand = factories.brand(colour_background=background, colour_text=text, colour_accent=accent)
    colour_values = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", theme.style(brand)))

    for foreground_name, background_name in [
        ("text", "background"),
        ("text", "card"),
        ("link", "background"),
        ("on-accent", "accent"),
    ]:
        assert colours.contrast(colour_values[foreground_name], colour_values[background_name]) >= colours.READABLE, (
            foreground_name,
            background_name,
        )
    assert colours.contrast(colour_values["line"], colour_values["background"]) >= colours.VISIBLE


def test_stylesheet_is_immutable_until_the_design_changes(brand, browser):
    path = re.search(r'href="(/page/brand\.css\?v=\w+)"', browser.get("/s/").content.decode())[1]

    first_response = browser.get(path)
    brand.colour_accent = "#b3151f"
    brand.save()
    second_response = browser.get(path)

    assert ("immutable" in first_response["Cache-Control"], second_response["Cache-Control"]) == (True, "no-cache")
    assert "--accent:#b3151f" in second_response.content.decode()


@pytest.mark.parametrize("with_logo", [True, False])
def test_icons_have_the_sizes_of_the_manifest(brand, browser, with_logo):
    if with_logo:
        brand.logo = pictures.store(brand=brand, encoded=pictures.logo(drawing((300, 90))))
        brand.save()

    for entry in browser.get("/page/manifest.webmanifest").json()["icons"]:
        icon = Image.open(io.BytesIO(browser.get(entry["src"]).content))
        assert (icon.format, f"{icon.width}x{icon.height}") == ("PNG", entry["sizes"])


def test_manifest_has_the_fields_for_an_installation(brand, browser):
    response = browser.get("/page/manifest.webmanifest")

    manifest = response.json()
    assert response["Content-Type"] == "application/manifest+json"
    assert (manifest["name"], manifest["start_url"], manifest["display"]) == (brand.name, "/s/", "standalone")
    assert {entry["sizes"] for entry in manifest["icons"]} == {"192x192", "512x512"}


def test_logo_has_the_brands_name_as_alternative_text(brand, browser):
    brand.logo = pictures.store(brand=brand, encoded=pictures.logo(drawing()))
    brand.save()

    assert f'<img src="/pictures/{brand.logo_id}/small" alt="{brand.name}"' in browser.get("/s/").content.decode()


def test_service_worker_changes_with_the_design_and_connects_only_to_its_origin(brand, browser):
    first_response = browser.get("/sw.js")
    brand.colour_accent = "#b3151f"
    brand.save()

    assert first_response.content != browser.get("/sw.js").content
    assert first_response["Content-Security-Policy"] == "default-src 'none'; connect-src 'self'"


def test_host_of_the_portal_has_no_brand_colours_and_no_web_app(client, brand):
    brand.colour_accent = "#b3151f"
    brand.save()
    page = client.get("/page/brand.css", headers={"host": "portal.example.com"})
    assert (page.status_code, "#b3151f" in page.content.decode()) == (200, False)
    for path in ("/page/manifest.webmanifest", "/sw.js", "/page/icon-192.png"):
        assert client.get(path, headers={"host": "portal.example.com"}).status_code == 404
    assert Browser(brand).get("/page/icon-193.png").status_code == 404
