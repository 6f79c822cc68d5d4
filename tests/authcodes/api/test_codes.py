"""The scans of a brand's code over HTTP (spec 4.8), and who may read them."""

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext, ScanLocation
from brands.models.people import StaffRole
from tests.authcodes.api.conftest import list_qr_images
from tests.support import factories
from tests.support.api import error


@pytest.fixture
def staff(api, brand):
    """A member of the brand's support team, with a token."""
    member = factories.user(is_staff=True)
    StaffRole.objects.create(user=member, brand=brand, role="support")
    return api.as_customer(member)


def scan_as(customer, code, **fields):
    context = ScanContext(at=timezone.now(), user_id=customer and customer.pk, **fields)
    return scan.scan(scanned=str(code), context=context)


def test_scans_of_a_code_are_listed(hub, brand, customer, deliver_events):
    code = factories.code(brand, scan_limit=None)
    scan_as(customer, code, place=ScanLocation(46.9, 7.4, "Bern, Canton of Bern"))
    deliver_events()

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


def test_guest_scan_has_no_email_and_no_location(hub, brand):
    code = factories.code(brand)
    scan_as(None, code)

    (record,) = hub.get(f"auth-codes/{code}/scans").json()["scans"]

    assert (record["customer_email"], record["location"], record["points_awarded"]) == (None, None, 0)


def outcomes(body):
    return [(record["outcome"], record["reason"]) for record in body["scans"]]


def test_rejected_scans_are_listed_but_not_counted_as_accepted(hub, brand, customer):
    code = factories.code(brand)
    for _ in range(3):
        scan_as(customer, code)

    body = hub.get(f"auth-codes/{code}/scans").json()

    assert (body["total_scans"], body["accepted_scans"]) == (3, 1)
    assert outcomes(body) == [("warning", "limit_reached"), ("warning", "limit_reached"), ("success", "accepted")]


def test_scans_of_a_recalled_code_are_listed_as_warnings(hub, brand, customer):
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
def test_unknown_outcome_is_rejected(hub, brand, outcome):
    response = hub.get(f"auth-codes/{factories.code(brand)}/scans", outcome=outcome)

    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert response.json()["details"] == {"field": "outcome"}
    assert response.json()["message"].startswith("outcome ")


def test_customer_of_another_brand_who_tried_the_code_is_not_named(hub, brand):
    code, other = factories.code(brand), factories.brand()
    context = ScanContext(at=timezone.now(), user_id=factories.customer(other).pk, brand_id=other.pk)
    scan.scan(scanned=code.code, context=context)

    body = hub.get(f"auth-codes/{code}/scans").json()

    assert outcomes(body) == [("error", "other_brand")]
    assert body["scans"][0]["customer_email"] is None


def test_120_scans_are_paged_newest_first_without_gaps_or_duplicates(hub, brand):
    code = factories.code(brand, scan_limit=None)
    made = [str(scan_as(None, code).scan_id) for _ in range(120)]

    listed, cursor = [], {}
    for _ in range(3):
        body = hub.get(f"auth-codes/{code}/scans", **cursor).json()
        listed += [record["scan_id"] for record in body["scans"]]
        cursor = {"cursor": body["pagination"]["next"]}

    assert listed == made[::-1]
    assert cursor == {"cursor": None}


def test_scans_of_one_moment_are_paged_without_gaps_or_duplicates(hub, brand):
    code = factories.code(brand, scan_limit=None)
    with time_machine.travel(timezone.now(), tick=False):
        made = {str(scan_as(None, code).scan_id) for _ in range(7)}

    first = hub.get(f"auth-codes/{code}/scans", limit=4).json()
    second = hub.get(f"auth-codes/{code}/scans", limit=4, cursor=first["pagination"]["next"]).json()

    assert {record["scan_id"] for record in first["scans"] + second["scans"]} == made
    assert second["pagination"]["has_more"] is False


@pytest.mark.parametrize("role", StaffRole.Role.values)
def test_staff_read_scans_and_images_according_to_their_role(api, brand, role):
    member = factories.user(is_staff=True)
    StaffRole.objects.create(user=member, brand=brand, role=role)
    code = factories.code(brand)

    sees_customers = role != StaffRole.Role.PRINTER
    assert api.as_customer(member).get(f"auth-codes/{code}/scans").status_code == (200 if sees_customers else 404)
    prints = role != StaffRole.Role.SUPPORT
    assert list_qr_images(api.as_customer(member), code.batch).status_code == (200 if prints else 403)


def test_staff_token_of_one_brand_does_not_read_the_users_other_brand(api, brand):
    member, other = factories.user(is_staff=True), factories.brand()
    for owned in (brand, other):
        StaffRole.objects.create(user=member, brand=owned, role="owner")

    response = api.as_customer(member, brand=other).get(f"auth-codes/{factories.code(brand)}/scans")

    assert response.status_code == 404


def test_staff_logged_in_to_the_portal_need_no_token(staff, brand):
    StaffRole.objects.update(role="manager")
    code = factories.code(brand)
    browser = Client(REMOTE_ADDR=staff.address)
    browser.force_login(StaffRole.objects.get().user)

    assert browser.get(f"/api/v1/auth-codes/{code}/scans").status_code == 200
    assert browser.get(f"/api/v1/batch-ranges/{code.batch_id}/qr-codes").status_code == 200


@pytest.mark.parametrize("resource", ["scans", "images"])
def test_only_hub_and_staff_read_scans_and_images(api, brand, customer, resource):
    code = factories.code(brand)
    path = f"auth-codes/{code}/scans" if resource == "scans" else f"batch-ranges/{code.batch_id}/qr-codes"

    errors = [error(reader.get(path)) for reader in (api, api.app(), api.as_customer(customer))]

    assert errors == [(401, "AUTHENTICATION_REQUIRED"), (403, "FORBIDDEN"), (403, "FORBIDDEN")]


@pytest.mark.parametrize("resource", ["scans", "images"])
def test_other_brands_codes_are_not_found(api, hub, staff, resource):
    code = factories.code(factories.brand())
    path = f"auth-codes/{code}/scans" if resource == "scans" else f"batch-ranges/{code.batch_id}/qr-codes"

    assert [error(reader.get(path)) for reader in (hub, staff)] == [(404, "NOT_FOUND")] * 2


def test_superuser_reads_every_brands_codes(api):
    code = factories.code(factories.brand())
    operator = factories.user(is_staff=True, is_superuser=True)

    assert api.as_customer(operator).get(f"auth-codes/{code}/scans").status_code == 200


def test_list_needs_the_same_query_count_for_1_and_30_scans(hub, brand, customer, django_assert_num_queries):
    code = factories.code(brand, scan_limit=None)
    scan_as(customer, code)
    hub.get(f"auth-codes/{code}/scans")  # records that the key is in use, once a minute
    with django_assert_num_queries(4):  # the key, the code, the count, the page
        hub.get(f"auth-codes/{code}/scans")
    for _ in range(29):
        scan_as(customer, code)

    with django_assert_num_queries(4):
        hub.get(f"auth-codes/{code}/scans")
