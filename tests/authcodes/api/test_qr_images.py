"""QR images of a brand's codes over HTTP (spec 4.5)."""

import io
from datetime import datetime
from random import randrange
from urllib.parse import urlsplit

import pytest
import time_machine
import zxingcpp
from django.test import Client
from django.utils import timezone
from PIL import Image

from authcodes.api.qr_images import ADDRESS_LASTS, DAY, image_address
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol
from tests.authcodes.api.conftest import addresses
from tests.support import factories
from tests.support.api import error
from tests.support.print_jobs import SCHEME


def fetch(address):
    parts = urlsplit(address)
    return Client().get(f"{parts.path}?{parts.query}", headers={"Accept": "image/*"})


def picture(response):
    return Image.open(io.BytesIO(response.content))


def test_addresses_come_in_the_order_of_the_codes(hub, brand):
    batch = factories.batch(brand, quantity=3)

    found = addresses(hub, batch).json()

    expected = [f"http://testserver/api/v1/qr-codes/{code}.png" for code in batch.codes.order_by("id")]
    assert [address.partition("?")[0] for address in found] == expected


def test_images_keep_their_addresses_all_day_so_that_browsers_keep_the_images(hub, brand):
    batch = factories.batch(brand, quantity=2)
    listings = []
    for moment in ("2030-06-01T00:00:00Z", "2030-06-01T23:59:59Z", "2030-06-02T00:00:00Z"):
        with time_machine.travel(datetime.fromisoformat(moment)):
            listings.append(addresses(hub, batch, size_mm="30", level="H").json())

    first, later, next_day = listings
    assert later == first
    assert not set(next_day) & set(first)


def test_every_address_can_be_fetched_and_reads_as_printed(hub, brand):
    batch = factories.batch(brand, quantity=3)

    read = [zxingcpp.read_barcode(picture(fetch(address))).text for address in addresses(hub, batch).json()]

    assert read == [f"{SCHEME}://{brand.hostnames.get()}/s/{code}" for code in batch.codes.order_by("id")]


def test_image_of_a_signed_code_carries_its_tag(hub, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    batch = factories.batch(brand, signed=True)

    read = zxingcpp.read_barcode(picture(fetch(addresses(hub, batch).json()[0]))).text

    assert read == f"{SCHEME}://{brand.hostnames.get()}/s/{images.printed(batch.codes.get())}"
    assert hub.post("auth-codes/validate", {"code": read}).json()["valid"] is True


def test_image_is_good_for_print(hub, brand):
    response = fetch(addresses(hub, factories.batch(brand)).json()[0])

    image = picture(response)
    assert response["Content-Type"] == "image/png"
    assert [round(dpi) for dpi in image.info["dpi"]] == [300, 300]
    assert image.width == image.height >= 600  # 2 inches


@pytest.mark.parametrize("image", ["png", "svg"])
def test_image_that_would_say_another_code_is_not_given_away(hub, brand, image, monkeypatch):
    [address] = addresses(hub, factories.batch(brand), image=image).json()
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    answer = Client(raise_request_exception=False).get(address)

    assert error(answer) == (500, "INTERNAL_ERROR")


def test_images_come_in_the_size_and_level_that_were_asked_for(hub, brand):
    batch = factories.batch(brand)
    wide, small = (
        picture(fetch(addresses(hub, batch, **options).json()[0])) for options in ({}, {"size_mm": "20", "level": "H"})
    )

    assert small.width / 300 * 25.4 >= 20
    assert small.width < wide.width / 2
    assert zxingcpp.read_barcode(small).text == zxingcpp.read_barcode(wide).text
    assert zxingcpp.read_barcode(small).ec_level == "H"


@pytest.mark.parametrize(
    "options", [{"size_mm": ""}, {"size_mm": "19.9"}, {"size_mm": "501"}, {"size_mm": "NaN"}, {"level": "X"}]
)
def test_sizes_that_cannot_be_are_refused(hub, brand, options):
    batch = factories.batch(brand)
    query = "&".join(f"{name}={value}" for name, value in options.items())

    assert error(addresses(hub, batch, **options)) == (400, "VALIDATION_ERROR")
    assert error(hub.get(f"{image_address(batch.codes.get())}&{query}")) == (400, "VALIDATION_ERROR")


def test_long_batches_come_in_pages_by_link(hub, brand):
    batch = factories.batch(brand, quantity=5)
    first = addresses(hub, batch, limit=3)
    following = first["Link"].partition(">")[0].removeprefix("<http://testserver")

    second = hub.get(following)

    assert [len(first.json()), len(second.json())] == [3, 2]
    assert len(set(first.json() + second.json())) == 5
    assert "Link" not in second.headers


@pytest.mark.parametrize(
    "permission", ["", "?permission=", "?permission=x", "?permission=1w1K0v:c2ln", "?permission=%FF"]
)
def test_image_without_its_permission_is_not_found(api, brand, permission):
    assert error(api.get(f"qr-codes/{factories.code(brand)}.png{permission}")) == (404, "NOT_FOUND")


def test_permission_of_another_code_opens_nothing(api, brand):
    one, other = factories.batch(brand, quantity=2).codes.order_by("id")

    assert error(api.get(image_address(one).replace(one.code, other.code))) == (404, "NOT_FOUND")


def test_permission_lapses(api, brand):
    address = image_address(factories.code(brand))

    with time_machine.travel(timezone.now().timestamp() + ADDRESS_LASTS - 5):
        assert api.get(address).status_code == 200
    with time_machine.travel(timezone.now().timestamp() + ADDRESS_LASTS + DAY + 5):
        assert error(api.get(address)) == (404, "NOT_FOUND")


def test_image_can_only_be_fetched(api, brand):
    assert error(api.call("DELETE", image_address(factories.code(brand)))) == (405, "METHOD_NOT_ALLOWED")


@pytest.mark.usefixtures("api")
def test_images_are_limited_for_each_network_address(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": "2/minute"}
    code, (one, other) = factories.code(brand), (f"10.{brand.pk % 250}.{randrange(250)}.{last}" for last in (1, 2))
    drawn = [image_address(code, kind=kind) for kind in ("png", "svg", "png")]

    assert [Client().get(each, REMOTE_ADDR=one).status_code for each in drawn] == [200, 200, 429]
    assert Client().get(drawn[0], REMOTE_ADDR=other).status_code == 200
