"""The portal's colours have enough contrast, its own and those of every brand, and pages have their brand's colours."""

from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from core import colours
from core.colours import READABLE, VISIBLE, contrast, mixed
from portal.shell import theme
from portal.shell.theme import BASE, FIELD, PRIMARY, WHITE
from tests.support import factories
from tests.support.portal import browser, staff, text

STEPS = range(0, 256, 51)
ACCENTS = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in product(STEPS, STEPS, STEPS)]
LIGHT = (WHITE, BASE["50"], BASE["100"])
DARK = (BASE["800"], BASE["900"])


def light_text_pairs(shades):
    """(text, background) as pages, buttons and badges combine them."""
    yield from ((shades["600"], background) for background in (*LIGHT, shades["50"]))
    yield shades["700"], shades["100"]
    yield from ((WHITE, shades[weight]) for weight in ("600", "700"))


def dark_text_pairs(shades):
    yield from product((shades["500"], shades["400"]), DARK)
    yield shades["400"], mixed(BASE["900"], shades["500"], 0.2)
    yield from ((WHITE, shades[weight]) for weight in ("600", "700"))


def part_pairs(light, dark):
    """(part, background) of buttons, lines of charts and focus rings."""
    yield from product((light["500"], light["600"]), (WHITE, BASE["50"]))
    yield from ((dark[weight], BASE["900"]) for weight in ("500", "600"))


def test_product_colours_have_enough_contrast():
    texts = [
        *light_text_pairs(PRIMARY),
        *dark_text_pairs(PRIMARY),
        *product((BASE["500"], BASE["600"], BASE["900"]), LIGHT),
        *product((BASE["400"], BASE["300"], BASE["100"]), DARK),
    ]
    parts = [
        *part_pairs(PRIMARY, PRIMARY),
        (FIELD["light"], WHITE),
        (FIELD["dark"], BASE["900"]),
    ]

    assert [pair for pair in texts if contrast(*pair) < READABLE] == []
    assert [pair for pair in parts if contrast(*pair) < VISIBLE] == []


@pytest.mark.parametrize("accent", ACCENTS)
def test_colours_of_every_accent_have_enough_contrast(accent):
    light, dark = theme.on_light(accent), theme.on_dark(accent)
    texts = [*light_text_pairs(light), *dark_text_pairs(dark)]

    assert [pair for pair in texts if contrast(*pair) < READABLE] == []
    assert [pair for pair in part_pairs(light, dark) if contrast(*pair) < VISIBLE] == []


def test_readable_accent_is_not_changed():
    assert theme.on_light("#7a1f3d")["600"] == "#7a1f3d"
    assert theme.on_dark("#4eb8da")["500"] == "#4eb8da"
    assert theme.on_light("#ffe14d")["600"] != "#ffe14d"


def test_colour_is_corrected_no_more_than_necessary():
    corrected = colours.corrected("#ffcc00", grounds=[WHITE], least=READABLE)

    assert READABLE <= contrast(corrected, WHITE) < READABLE + 0.4
    assert colours.corrected("#000000", grounds=["#101010"], least=VISIBLE) != "#000000"


def test_login_page_has_the_products_colours(db):
    colors = Client().get(reverse("admin:login")).context["colors"]
    red, green, blue = (int(PRIMARY["600"][at : at + 2], 16) for at in (1, 3, 5))

    assert colors["primary"]["600"] == f"rgb({red}, {green}, {blue})"
    assert set(colors["base"]) == set(BASE)


@pytest.fixture
def brands(db):
    return [
        factories.brand(name=name, colour_accent=accent) for name, accent in (("Ash", "#7a1f3d"), ("Birch", "#1f7a3d"))
    ]


def style_of(page):
    return text(page).partition('<link rel="stylesheet" href="/admin/brand/')[2].partition('"')[0]


def test_staff_pages_have_the_brands_accent(brands):
    client = browser(staff(brands[0]))

    stylesheet_url = "/admin/brand/" + style_of(client.get(reverse("admin:index")))
    stylesheet = client.get(stylesheet_url)

    assert stylesheet.status_code == 200
    assert "--color-primary-600:#7a1f3d" in text(stylesheet)
    assert stylesheet["Content-Type"] == "text/css; charset=utf-8"
    assert "private" in stylesheet["Cache-Control"]


def test_stylesheet_url_changes_with_the_accent(brands):
    client = browser(staff(brands[0]))
    before = style_of(client.get(reverse("admin:index")))
    type(brands[0]).objects.filter(pk=brands[0].pk).update(colour_accent="#224488")

    assert style_of(client.get(reverse("admin:index"))) not in {"", before}


def test_several_brands_have_the_products_colours_and_a_chosen_one_its_own(brands):
    client = browser(staff(*brands))
    before = style_of(client.get(reverse("admin:index")))
    client.post(reverse("admin:choose_brand"), {"viewed": brands[1].pk})

    assert before == ""
    assert style_of(client.get(reverse("admin:index"))).startswith(f"{brands[1].pk}/")


def test_brand_without_an_accent_has_the_products_colours(db):
    assert style_of(browser(staff(factories.brand())).get(reverse("admin:index"))) == ""


def test_stylesheet_of_another_or_missing_brand_is_not_found(brands):
    client = browser(staff(brands[0]))

    for brand_id in (brands[1].pk, 2**31):
        assert client.get(reverse("admin:brand_style", args=[brand_id, "abc"])).status_code == 404
    assert Client().get(reverse("admin:brand_style", args=[brands[0].pk, "abc"])).status_code == 302
