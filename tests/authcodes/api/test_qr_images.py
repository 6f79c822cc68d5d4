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
from authcodes.codes import printed_batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol
from tests.authcodes.api.conftest import list_qr_images
from tests.support import factories
from tests.support.api import error
from tests.support.print_jobs import SCHEME


def download(address):
    parts = urlsplit(address)
    return Client().get(f"{parts.path}?{parts.query}", headers={"Accept": "image/*"})


def image_of(response):
    return Image.open(io.BytesIO(response.content))


def test_image_addresses_are_in_the_order_of_the_codes(hub, brand):
    batch = factories.batch(brand, quantity=3)

    listed = list_qr_images(hub, batch).json()

    expected = [f"http://testserver/api/v1/qr-codes/{code}.png" for code in batch.codes.order_by("id")]
    assert [address.partition("?")[0] for address in listed] == expected


def test_image_addresses_stay_the_same_all_day_for_browser_caches(hub, brand):
    batch = factories.batch(brand, quantity=2)
    listings = []
    for moment in ("2030-06-01T00:00:00Z", "2030-06-01T23:59:59Z", "2030-06-02T00:00:00Z"):
        with time_machine.travel(datetime.fromisoformat(moment)):
            listings.append(list_qr_images(hub, batch, size_mm="30", level="H").json())

    first, later, next_day = listings
    assert later == first
    assert not set(next_day) & set(first)


def test_every_image_reads_as_the_printed_symbol(hub, brand):
    batch = factories.batch(brand, quantity=3)

    texts = [zxingcpp.read_barcode(image_of(download(address))).text for address in list_qr_images(hub, batch).json()]

    assert texts == [f"{SCHEME}://{brand.hostnames.get()}/s/{code}" for code in batch.codes.order_by("id")]


def test_image_of_a_signed_code_carries_its_tag(hub, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    batch = factories.batch(brand, signed=True)

    scanned_text = zxingcpp.read_barcode(image_of(download(list_qr_images(hub, batch).json()[0]))).text

    assert scanned_text == f"{SCHEME}://{brand.hostnames.get()}/s/{images.printed(batch.codes.get())}"
    assert hub.post("auth-codes/validate", {"code": scanned_text}).json()["valid"] is True


def test_image_has_print_resolution(hub, brand):
    response = download(list_qr_images(hub, factories.batch(brand)).json()[0])

    image = image_of(response)
    assert response["Content-Type"] == "image/png"
    assert [round(dpi) for dpi in image.info["dpi"]] == [300, 300]
    assert image.width == image.height >= 600  # 2 inches


@pytest.mark.parametrize("image", ["png", "svg"])
def test_image_that_reads_as_another_code_is_a_server_error(hub, brand, image, monkeypatch):
    [address] = list_qr_images(hub, factories.batch(brand), image=image).json()
    monkeypatch.setattr(images, "symbol", lambda text, level: symbol(f"{text[:-1]}X", level))

    answer = Client(raise_request_exception=False).get(address)

    assert error(answer) == (500, "INTERNAL_ERROR")


def test_images_have_the_requested_size_and_error_correction_level(hub, brand):
    batch = factories.batch(brand)
    large, small = (
        image_of(download(list_qr_images(hub, batch, **options).json()[0]))
        for options in ({}, {"size_mm": "20", "level": "H"})
    )

    assert small.width / 300 * 25.4 >= 20
    assert small.width < large.width / 2
    assert zxingcpp.read_barcode(small).text == zxingcpp.read_barcode(large).text
    assert zxingcpp.read_barcode(small).ec_level == "H"


@pytest.mark.parametrize(
    "options", [{"size_mm": ""}, {"size_mm": "19.9"}, {"size_mm": "501"}, {"size_mm": "NaN"}, {"level": "X"}]
)
def test_invalid_sizes_and_levels_are_rejected(hub, brand, options):
    batch = factories.batch(brand)
    query = "&".join(f"{name}={value}" for name, value in options.items())

    assert error(list_qr_images(hub, batch, **options)) == (400, "VALIDATION_ERROR")
    assert error(hub.get(f"{image_address(batch.codes.get())}&{query}")) == (400, "VALIDATION_ERROR")


def test_long_batches_are_paged_by_link_header(hub, brand):
    batch = factories.batch(brand, quantity=5)
    first = list_qr_images(hub, batch, limit=3)
    next_page = first["Link"].partition(">")[0].removeprefix("<http://testserver")

    second = hub.get(next_page)

    assert [len(first.json()), len(second.json())] == [3, 2]
    assert len(set(first.json() + second.json())) == 5
    assert "Link" not in second.headers


@pytest.mark.parametrize(
    "permission", ["", "?permission=", "?permission=x", "?permission=1w1K0v:c2ln", "?permission=%FF"]
)
def test_image_without_a_valid_permission_is_not_found(api, brand, permission):
    assert error(api.get(f"qr-codes/{factories.code(brand)}.png{permission}")) == (404, "NOT_FOUND")


def test_permission_of_another_code_is_not_accepted(api, brand):
    one, other = factories.batch(brand, quantity=2).codes.order_by("id")

    assert error(api.get(image_address(one).replace(one.code, other.code))) == (404, "NOT_FOUND")


def test_permission_expires(api, brand):
    address = image_address(factories.code(brand))

    with time_machine.travel(timezone.now().timestamp() + ADDRESS_LASTS - 5):
        assert api.get(address).status_code == 200
    with time_machine.travel(timezone.now().timestamp() + ADDRESS_LASTS + DAY + 5):
        assert error(api.get(address)) == (404, "NOT_FOUND")


def test_image_address_allows_only_get(api, brand):
    assert error(api.call("DELETE", image_address(factories.code(brand)))) == (405, "METHOD_NOT_ALLOWED")


@pytest.mark.usefixtures("api")
def test_image_requests_are_limited_per_network_address(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": "2/minute"}
    code, (one, other) = factories.code(brand), (f"10.{brand.pk % 250}.{randrange(250)}.{last}" for last in (1, 2))
    image_addresses = [image_address(code, kind=kind) for kind in ("png", "svg", "png")]

    assert [Client().get(each, REMOTE_ADDR=one).status_code for each in image_addresses] == [200, 200, 429]
    assert Client().get(image_addresses[0], REMOTE_ADDR=other).status_code == 200


def printed_elsewhere(brand, *, code="K7F3", payload):
    """A code whose label another company printed."""
    batch = printed_batches.create(
        brand=brand,
        batch_settings=BatchSettings("Old labels", 1, signed=False, product=factories.product(brand)),
        first_code=code,
        last_code=code,
        at=timezone.now(),
        by=None,
    )
    return AuthCode.objects.create(brand=brand, batch=batch, product=batch.product, code=code, payload=payload)


@pytest.mark.parametrize("has_hostname", [True, False])
def test_image_of_a_code_printed_elsewhere_is_as_it_was_printed(api, brand, has_hostname):
    code = printed_elsewhere(brand, payload="https://old.example/p/K7F3")
    if not has_hostname:
        brand.hostnames.all().delete()

    assert zxingcpp.read_barcode(image_of(api.get(image_address(code)))).text == code.payload


def test_payload_too_long_for_the_level_is_a_validation_error(api, brand):
    code = printed_elsewhere(brand, payload="\u6f22" * 450)

    assert error(api.get(image_address(code, {"level": "H"}))) == (400, "VALIDATION_ERROR")
    assert api.get(image_address(code, {"level": "L"})).status_code == 200
