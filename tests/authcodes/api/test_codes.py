"""A brand's codes over HTTP: who scanned them (spec 4.8), and their QR images (4.5)."""

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
from authcodes.models.scans import Scan
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import symbol
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext, ScanLocation
from brands.models.people import StaffRole
from tests.support import factories
from tests.support.api import error
from tests.support.print_jobs import SCHEME


@pytest.fixture
def hub(api):
    return api.hub()


@pytest.fixture
def staff(api, brand):
    """A member of the brand's support team, with a token."""
    member = factories.user(is_staff=True)
    StaffRole.objects.create(user=member, brand=brand, role="support")
    return api.as_customer(member)


def scan_as(customer, code, **about):
    circumstances = ScanContext(at=timezone.now(), user_id=customer and customer.pk, **about)
    return scan.scan(scanned=str(code), about=circumstances)


def addresses(api, batch, **query):
    return api.get(f"batch-ranges/{batch.pk}/qr-codes", **query)


# --- Scans of a code -------------------------------------------------------------------------------------------------


def test_scans_of_a_code_are_listed(hub, brand, customer, deliver):
    code = factories.code(brand, scan_limit=None)
    scan_as(customer, code, place=ScanLocation(46.9, 7.4, "Bern, Canton of Bern"))
    deliver()

    response = hub.get(f"auth-codes/{code}/scans")

    record = Scan.objects.get()
    assert response.json() == {
        "code": code.code,
        "product": code.product.title,
        "total_scans": 1,
        "accepted_scans": 1,
        "scans": [
            {
                "scan_id": str(record.pk),
                "customer_email": customer.email,
                "timestamp": record.scanned_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "location": "Bern, Canton of Bern",
                "points_awarded": 10,
                "outcome": "success",
                "reason": "accepted",
            }
        ],
        "pagination": {"limit": 50, "next": None, "has_more": False},
    }


def test_guests_scan_has_no_address_and_no_place(hub, brand):
    code = factories.code(brand)
    scan_as(None, code)

    (record,) = hub.get(f"auth-codes/{code}/scans").json()["scans"]

    assert (record["customer_email"], record["location"], record["points_awarded"]) == (None, None, 0)


def outcomes(body):
    return [(record["outcome"], record["reason"]) for record in body["scans"]]


def test_refused_scans_are_listed_and_accepted_ones_counted_apart(hub, brand, customer):
    code = factories.code(brand)
    for _ in range(3):
        scan_as(customer, code)

    body = hub.get(f"auth-codes/{code}/scans").json()

    assert (body["total_scans"], body["accepted_scans"]) == (3, 1)
    assert outcomes(body) == [("warning", "limit_reached"), ("warning", "limit_reached"), ("success", "accepted")]


def test_scans_of_a_recalled_code_are_listed(hub, brand, customer):
    code = factories.code(brand)
    recalls.recall_batch(batch=code.batch, recall_id="R", contact="c", message="m", reason="r", at=timezone.now())
    scan_as(customer, code)

    body = hub.get(f"auth-codes/{code}/scans").json()

    assert (body["total_scans"], body["accepted_scans"]) == (1, 0)
    assert outcomes(body) == [("warning", "recalled")]


def test_scans_are_filtered_by_outcome(hub, brand, customer):
    code = factories.code(brand)
    for _ in range(2):
        scan_as(customer, code)

    accepted = hub.get(f"auth-codes/{code}/scans", outcome="success").json()

    assert outcomes(accepted) == [("success", "accepted")]
    assert (accepted["total_scans"], accepted["accepted_scans"]) == (2, 1)


@pytest.mark.parametrize("outcome", ["", "all", "SUCCESS"])
def test_outcomes_that_are_none_are_refused(hub, brand, outcome):
    response = hub.get(f"auth-codes/{factories.code(brand)}/scans", outcome=outcome)

    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert response.json()["details"] == {"field": "outcome"}
    assert response.json()["message"].startswith("outcome ")


def test_another_brands_customer_who_tried_the_code_stays_unknown(hub, brand):
    code, other = factories.code(brand), factories.brand()
    about = ScanContext(at=timezone.now(), user_id=factories.customer(other).pk, brand_id=other.pk)
    scan.scan(scanned=code.code, about=about)

    body = hub.get(f"auth-codes/{code}/scans").json()

    assert outcomes(body) == [("error", "other_brand")]
    assert body["scans"][0]["customer_email"] is None


def test_120_scans_are_walked_without_gap_or_double_newest_first(hub, brand):
    code = factories.code(brand, scan_limit=None)
    made = [str(scan_as(None, code).scan_id) for _ in range(120)]

    found, cursor = [], {}
    for _page in range(3):
        body = hub.get(f"auth-codes/{code}/scans", **cursor).json()
        found += [record["scan_id"] for record in body["scans"]]
        cursor = {"cursor": body["pagination"]["next"]}

    assert found == made[::-1]
    assert cursor == {"cursor": None}


def test_scans_of_one_moment_are_walked_too(hub, brand):
    code = factories.code(brand, scan_limit=None)
    with time_machine.travel(timezone.now(), tick=False):
        made = {str(scan_as(None, code).scan_id) for _ in range(7)}

    first = hub.get(f"auth-codes/{code}/scans", limit=4).json()
    second = hub.get(f"auth-codes/{code}/scans", limit=4, cursor=first["pagination"]["next"]).json()

    assert {record["scan_id"] for record in first["scans"] + second["scans"]} == made
    assert second["pagination"]["has_more"] is False


@pytest.mark.parametrize("role", StaffRole.Role.values)
def test_staff_read_what_their_role_sees_and_those_who_print_the_images(api, brand, role):
    member = factories.user(is_staff=True)
    StaffRole.objects.create(user=member, brand=brand, role=role)
    code = factories.code(brand)

    sees_customers = role != StaffRole.Role.PRINTER
    assert api.as_customer(member).get(f"auth-codes/{code}/scans").status_code == (200 if sees_customers else 404)
    prints = role != StaffRole.Role.SUPPORT
    assert addresses(api.as_customer(member), code.batch).status_code == (200 if prints else 403)


def test_a_token_of_one_brand_does_not_open_another_of_the_same_person(api, brand):
    member, other = factories.user(is_staff=True), factories.brand()
    for each in (brand, other):
        StaffRole.objects.create(user=member, brand=each, role="owner")

    response = api.as_customer(member, of=other).get(f"auth-codes/{factories.code(brand)}/scans")

    assert response.status_code == 404


def test_staff_in_the_portal_needs_no_token(staff, brand):
    StaffRole.objects.update(role="manager")
    code = factories.code(brand)
    browser = Client(REMOTE_ADDR=staff.address)
    browser.force_login(StaffRole.objects.get().user)

    assert browser.get(f"/api/v1/auth-codes/{code}/scans").status_code == 200
    assert browser.get(f"/api/v1/batch-ranges/{code.batch_id}/qr-codes").status_code == 200


@pytest.mark.parametrize("list_of", ["scans", "images"])
def test_only_hub_and_staff_read_codes(api, brand, customer, list_of):
    code = factories.code(brand)
    path = f"auth-codes/{code}/scans" if list_of == "scans" else f"batch-ranges/{code.batch_id}/qr-codes"

    refusals = [error(reader.get(path)) for reader in (api, api.app(), api.as_customer(customer))]

    assert refusals == [(401, "AUTHENTICATION_REQUIRED"), (403, "FORBIDDEN"), (403, "FORBIDDEN")]


@pytest.mark.parametrize("list_of", ["scans", "images"])
def test_other_brands_codes_are_not_found(api, hub, staff, list_of):
    code = factories.code(factories.brand())
    path = f"auth-codes/{code}/scans" if list_of == "scans" else f"batch-ranges/{code.batch_id}/qr-codes"

    assert [error(reader.get(path)) for reader in (hub, staff)] == [(404, "NOT_FOUND")] * 2


def test_superuser_reads_every_brands_codes(api):
    code = factories.code(factories.brand())
    operator = factories.user(is_staff=True, is_superuser=True)

    assert api.as_customer(operator).get(f"auth-codes/{code}/scans").status_code == 200


def test_list_costs_the_same_for_1_and_30_scans(hub, brand, customer, django_assert_num_queries):
    code = factories.code(brand, scan_limit=None)
    scan_as(customer, code)
    hub.get(f"auth-codes/{code}/scans")  # notes that the key is in use, once a minute
    with django_assert_num_queries(4):  # the key, the code, the count, the page
        hub.get(f"auth-codes/{code}/scans")
    for _ in range(29):
        scan_as(customer, code)

    with django_assert_num_queries(4):
        hub.get(f"auth-codes/{code}/scans")


# --- QR images -------------------------------------------------------------------------------------------------------


def fetch(address):
    parts = urlsplit(address)
    return Client().get(f"{parts.path}?{parts.query}", headers={"Accept": "image/*"})


def picture(response):
    return Image.open(io.BytesIO(response.content))


def test_addresses_come_in_the_order_of_the_codes(hub, brand):
    batch = factories.batch(brand, quantity=3)

    found = addresses(hub, batch).json()

    wanted = [f"http://testserver/api/v1/qr-codes/{code}.png" for code in batch.codes.order_by("id")]
    assert [address.partition("?")[0] for address in found] == wanted


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
        picture(fetch(addresses(hub, batch, **asked).json()[0])) for asked in ({}, {"size_mm": "20", "level": "H"})
    )

    assert small.width / 300 * 25.4 >= 20
    assert small.width < wide.width / 2
    assert zxingcpp.read_barcode(small).text == zxingcpp.read_barcode(wide).text
    assert zxingcpp.read_barcode(small).ec_level == "H"


@pytest.mark.parametrize(
    "asked", [{"size_mm": ""}, {"size_mm": "19.9"}, {"size_mm": "501"}, {"size_mm": "NaN"}, {"level": "X"}]
)
def test_sizes_that_cannot_be_are_refused(hub, brand, asked):
    batch = factories.batch(brand)
    query = "&".join(f"{name}={value}" for name, value in asked.items())

    assert error(addresses(hub, batch, **asked)) == (400, "VALIDATION_ERROR")
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
