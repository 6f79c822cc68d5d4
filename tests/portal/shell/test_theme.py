"""The portal's colours can be read and seen, its own and those of every brand; and each page has its brand's."""

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


def readable_in_light(shades):
    """(text, its ground) as pages, buttons and badges have it."""
    yield from ((shades["600"], ground) for ground in (*LIGHT, shades["50"]))
    yield shades["700"], shades["100"]
    yield from ((WHITE, shades[weight]) for weight in ("600", "700"))


def readable_in_the_dark(shades):
    yield from product((shades["500"], shades["400"]), DARK)
    yield shades["400"], mixed(BASE["900"], shades["500"], 0.2)
    yield from ((WHITE, shades[weight]) for weight in ("600", "700"))


def visible(light, dark):
    """(part, its ground): buttons, lines of charts, rings of focus."""
    yield from product((light["500"], light["600"]), (WHITE, BASE["50"]))
    yield from ((dark[weight], BASE["900"]) for weight in ("500", "600"))


def test_the_products_colours_can_be_read_and_seen():
    texts = [
        *readable_in_light(PRIMARY),
        *readable_in_the_dark(PRIMARY),
        *product((BASE["500"], BASE["600"], BASE["900"]), LIGHT),
        *product((BASE["400"], BASE["300"], BASE["100"]), DARK),
    ]
    parts = [
        *visible(PRIMARY, PRIMARY),
        (FIELD["light"], WHITE),
        (FIELD["dark"], BASE["900"]),
    ]

    assert [pair for pair in texts if contrast(*pair) < READABLE] == []
    assert [pair for pair in parts if contrast(*pair) < VISIBLE] == []


@pytest.mark.parametrize("accent", ACCENTS)
def test_the_colours_of_every_brand_can_be_read_and_seen(accent):
    light, dark = theme.on_light(accent), theme.on_dark(accent)
    texts = [*readable_in_light(light), *readable_in_the_dark(dark)]

    assert [pair for pair in texts if contrast(*pair) < READABLE] == []
    assert [pair for pair in visible(light, dark) if contrast(*pair) < VISIBLE] == []


def test_an_accent_that_can_be_read_stays_as_it_is():
    assert theme.on_light("#7a1f3d")["600"] == "#7a1f3d"
    assert theme.on_dark("#4eb8da")["500"] == "#4eb8da"
    assert theme.on_light("#ffe14d")["600"] != "#ffe14d"


def test_a_colour_is_corrected_only_as_far_as_it_takes():
    corrected = colours.corrected("#ffcc00", grounds=[WHITE], least=READABLE)

    assert READABLE <= contrast(corrected, WHITE) < READABLE + 0.4
    assert colours.corrected("#000000", grounds=["#101010"], least=VISIBLE) != "#000000"


def test_pages_have_these_colours(db):
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


def test_a_brands_staff_see_its_accent(brands):
    client = browser(staff(brands[0]))

    address = "/admin/brand/" + style_of(client.get(reverse("admin:index")))
    sheet = client.get(address)

    assert sheet.status_code == 200
    assert "--color-primary-600:#7a1f3d" in text(sheet)
    assert sheet["Content-Type"] == "text/css; charset=utf-8"
    assert "private" in sheet["Cache-Control"]


def test_the_address_changes_with_the_accent(brands):
    client = browser(staff(brands[0]))
    before = style_of(client.get(reverse("admin:index")))
    type(brands[0]).objects.filter(pk=brands[0].pk).update(colour_accent="#224488")

    assert style_of(client.get(reverse("admin:index"))) not in {"", before}


def test_who_looks_at_several_brands_sees_the_products_colours_and_at_one_that_ones(brands):
    client = browser(staff(*brands))
    before = style_of(client.get(reverse("admin:index")))
    client.post(reverse("admin:choose_brand"), {"viewed": brands[1].pk})

    assert before == ""
    assert style_of(client.get(reverse("admin:index"))).startswith(f"{brands[1].pk}/")


def test_a_brand_without_an_accent_of_its_own_has_the_products_colours(db):
    assert style_of(browser(staff(factories.brand())).get(reverse("admin:index"))) == ""


def test_another_brands_style_and_one_of_none_are_not_found(brands):
    client = browser(staff(brands[0]))

    for brand_id in (brands[1].pk, 2**31):
        assert client.get(reverse("admin:brand_style", args=[brand_id, "abc"])).status_code == 404
    assert Client().get(reverse("admin:brand_style", args=[brands[0].pk, "abc"])).status_code == 302
