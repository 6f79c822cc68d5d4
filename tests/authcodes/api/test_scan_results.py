"""A scan's result over HTTP, for its customer, the hub and staff, and a scan that is repeated with its key."""

import uuid

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from brands.models.people import StaffRole
from tests.authcodes.api.conftest import recall, scan
from tests.support import factories
from tests.support.api import error
from tests.support.portal import staff

# --- Repeated scans --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["accepted", "limit_reached", "recalled"])
def test_scan_repeated_with_its_key_gets_an_identical_answer(api, customer_api, brand, reason):
    code = factories.code(brand)
    if reason == "limit_reached":
        api.as_customer(factories.customer(brand)).verify(code)
    if reason == "recalled":
        recall(code)
    first = customer_api.with_headers(idempotency_key="k1").verify(code)

    again = customer_api.with_headers(idempotency_key="k1").verify(code)

    assert first.json()["reason"] == reason
    assert again.content == first.content
    assert Scan.objects.filter(reason=reason).count() == 1


@pytest.mark.parametrize("is_customer", [True, False], ids=["customer", "guest"])
def test_repeated_scan_reports_a_recall_that_began_since(api, customer_api, brand, is_customer):
    app, code = (customer_api if is_customer else api).with_headers(idempotency_key="k1"), factories.code(brand)
    assert scan(app, code).json()["reason"] == "accepted"
    recall_ = recall(code)

    again = scan(app, code).json()

    assert (again["status"], again["reason"], again["message"]) == ("warning", "recalled", "Bring it back.")
    assert again["recall"]["contact"] == "0800 123"
    recalls.withdraw_recall(recall=recall_, reason="Safe", at=timezone.now(), by=staff(brand))
    assert scan(app, code).json()["reason"] == "accepted"
    assert Scan.objects.get().reason == "accepted", "the recorded scan does not change"


def test_repeated_scan_is_evaluated_again_once_its_recall_is_withdrawn(customer_api, brand):
    app, code = customer_api.with_headers(idempotency_key="k1"), factories.code(brand)
    recall_ = recall(code)
    assert scan(app, code).json()["reason"] == "recalled"
    recalls.withdraw_recall(recall=recall_, reason="Safe", at=timezone.now(), by=staff(brand))

    again = scan(app, code)

    assert (again.status_code, again.json()["reason"]) == (200, "accepted")
    assert again.json()["points_status"] == "not_eligible", "a scan that earned nothing earns nothing later"


def test_key_of_one_scan_is_rejected_for_another(customer_api, brand):
    scan(customer_api.with_headers(idempotency_key="k1"), factories.code(brand))

    assert error(scan(customer_api.with_headers(idempotency_key="k1"), factories.code(brand))) == (
        422,
        "IDEMPOTENCY_KEY_REUSED",
    )
    assert Scan.objects.count() == 1


def test_scan_with_a_location_added_later_can_be_repeated_with_its_key(customer_api, brand):
    code, keyed = factories.code(brand), customer_api.with_headers(idempotency_key="k1")
    first = scan(keyed, code)
    customer_api.post(f"scans/{first.json()['scan_id']}/place", {"latitude": 48.8566, "longitude": 2.3522})

    assert scan(keyed, code).content == first.content
    assert error(scan(keyed, code, location={"latitude": 1, "longitude": 1})) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Scan.objects.count() == 1


def test_equal_keys_of_two_guests_are_independent(api, brand):
    code = factories.code(brand, scan_limit=None)
    other_guest = type(api)(brand)

    answers = [scan(guest.with_headers(idempotency_key="k1"), code).json() for guest in (api, other_guest)]

    assert [answer["scan_count"] for answer in answers] == [1, 2]


# --- The result of a scan --------------------------------------------------------------------------------------------


def test_scan_is_pending_and_then_awarded(customer_api, brand, deliver_events):
    place = {"city": "Bern", "region": "Canton of Bern"}
    scan_id = customer_api.hub().verify(factories.code(brand), **place).json()["scan_id"]
    before = customer_api.get(f"scans/{scan_id}").json()
    deliver_events()

    after = customer_api.get(f"scans/{scan_id}").json()

    assert (before["points_status"], before["points_awarded"]) == ("pending", 0)
    assert after == {
        "success": True,
        "scan_id": scan_id,
        "status": "success",
        "points_status": "awarded",
        "points_awarded": 10,
        "timestamp": before["timestamp"],
        "location": "Bern, Canton of Bern",
    }


@pytest.mark.parametrize(
    ("reason", "has_recall"),
    [("expired", True), ("deactivated", True), ("unassigned", True), ("bad_tag", False), ("other_brand", False)],
)
def test_earlier_scan_of_a_genuine_code_shows_a_recall_that_began_since(customer_api, brand, reason, has_recall):
    if reason == "expired":
        code = factories.expired_code(brand)
    else:
        owner = factories.brand() if reason == "other_brand" else brand
        code = factories.code(owner, assigned=reason != "unassigned", signed=reason == "bad_tag")
    if reason == "deactivated":
        factories.deactivate(codes=[code], at=timezone.now())
    customer_api.verify(code.code)
    record = Scan.objects.get()
    assert (record.reason, record.outcome) == (reason, "error")
    recall(code)

    answer = Scan.objects.get().current_recall

    assert (answer is not None) == has_recall
    assert has_recall == (customer_api.get(f"scans/{record.pk}").json().get("recall", {}).get("contact") == "0800 123")


def test_scan_is_visible_to_its_customer_hub_and_staff(api, customer_api, brand, customer):
    scan_id = customer_api.verify(factories.code(brand)).json()["scan_id"]
    support = factories.user(is_staff=True)
    StaffRole.objects.create(user=support, brand=brand, role="support")

    readers = [customer_api, api.hub(), api.as_customer(support)]

    assert [reader.get(f"scans/{scan_id}").status_code for reader in readers] == [200, 200, 200]


def test_scan_is_not_found_for_other_callers(api, customer_api, brand, customer):
    scan_id = customer_api.verify(factories.code(brand)).json()["scan_id"]
    other = factories.brand()
    other_staff = factories.user(is_staff=True)
    StaffRole.objects.create(user=other_staff, brand=other, role="owner")

    readers = [
        api,
        api.app(),
        api.as_customer(factories.customer(brand)),
        api.hub(brand=other),
        api.as_customer(other_staff, brand=other),
    ]

    assert [error(reader.get(f"scans/{scan_id}")) for reader in readers] == [(404, "NOT_FOUND")] * 5


def test_guest_scan_is_visible_to_callers_who_know_its_id(api, brand):
    scan_id = scan(api, factories.code(brand)).json()["scan_id"]

    assert type(api)(brand).get(f"scans/{scan_id}").json()["points_status"] == "guest"


def test_unknown_scan_is_not_found(api):
    assert error(api.get(f"scans/{uuid.uuid4()}")) == (404, "NOT_FOUND")
