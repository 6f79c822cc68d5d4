"""A guest's scan reserves a used-up code against other guests for some minutes, but not against customers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.errors import ScanNotAdoptable
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import consistency, guest_scans, record
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.people import User
from core import json_values
from events import worker
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import run_concurrently
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


def scan(caller, code):
    return caller.post("auth-codes/scan", {"code": str(code)})


def statuses_of(response):
    body = response.json()
    return body["status"], body["reason"], body["points_status"]


def adopt(caller, answer):
    return caller.post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"]})


def test_customer_claims_thirty_codes_scanned_by_a_guest(api, brand, customer, deliver_events):
    codes = list(factories.batch(brand, quantity=30).codes.all())
    for code in codes:
        assert statuses_of(scan(api.app(), code)) == ("success", "accepted", "guest")

    answers = [statuses_of(api.as_customer(customer).verify(code)) for code in codes]
    deliver_events()

    assert answers == [("success", "accepted", "pending")] * 30
    assert factories.account(customer, brand).points == 300
    assert list(consistency.differences()) == []


def test_customer_sees_that_the_code_was_scanned_before(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)

    body = api.as_customer(customer).verify(code).json()

    assert (body["first_scan"], body["scan_count"]) == (False, 2)
    assert body["first_scan_date"]


def test_another_guest_sees_until_when_the_code_is_reserved(api, brand, settings):
    code = factories.code(brand)
    scan(api, code)

    response = scan(api.guest(), code)

    first = Scan.objects.get(reason="accepted")
    until = first.scanned_at + timedelta(minutes=settings.GUEST_SCAN_MINUTES)
    assert statuses_of(response) == ("warning", "reserved", "not_eligible")
    assert response.json()["message"].startswith("Someone who is not logged in has just scanned this code.")
    assert response.json()["reserved_until"] == json_values.iso(until)


def test_another_guest_gets_the_code_when_the_reservation_has_lapsed(
    api, brand, customer, deliver_events, time_machine
):
    code = factories.code(brand)
    first = scan(api, code).json()
    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    second = scan(api, code)
    adopted = adopt(api.as_customer(customer), second.json())
    deliver_events()

    assert statuses_of(second) == ("success", "accepted", "guest")
    assert adopted.status_code == 200
    assert factories.account(customer, brand).points == 10
    assert api.get(f"scans/{first['scan_id']}").json()["points_status"] == "lapsed"
    assert list(consistency.differences()) == []


def test_guest_scan_taken_over_by_a_customer_cannot_be_adopted(api, brand, customer):
    code = factories.code(brand)
    answer = scan(api, code).json()
    api.as_customer(customer).verify(code)

    assert error(adopt(api.as_customer(factories.customer(brand)), answer)) == (409, "SCAN_NOT_ADOPTABLE")


def test_adopted_code_is_used_up_for_guests_and_other_customers(api, brand, customer, time_machine):
    code = factories.code(brand)
    adopt(api.as_customer(customer), scan(api, code).json())

    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    for caller in (api, api.as_customer(factories.customer(brand))):
        assert statuses_of(scan(caller, code))[:2] == ("warning", "limit_reached")


def test_validate_and_campaign_events_accept_a_reserved_code_for_customers(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)
    app = api.as_customer(customer).app()

    assert app.post("auth-codes/validate", {"code": code.code}).json()["valid"] is True
    assert api.guest().post("auth-codes/validate", {"code": code.code}).json()["valid"] is False
    assert app.credit(customer, code).json()["data"]["points_earned"] == 10
    assert list(consistency.differences()) == []


def test_each_guest_scan_of_a_code_with_limit_two_is_taken_over_once(api, brand, customer):
    code = factories.code(brand, scan_limit=2)
    for _guest in range(2):
        scan(api, code)

    buyers = [factories.customer(brand) for _ in range(3)]
    answers = [statuses_of(api.as_customer(buyer).verify(code))[1] for buyer in buyers]

    assert answers == ["accepted", "accepted", "limit_reached"]
    code.refresh_from_db()
    assert (code.scan_count, code.slots_returned) == (4, 2)
    assert list(consistency.differences()) == []


def test_recalled_and_deactivated_codes_are_not_taken_over(api, brand, customer):
    deactivated, recalled = factories.code(brand), factories.code(brand)
    for code in (deactivated, recalled):
        scan(api, code)
    AuthCode.objects.filter(pk=deactivated.pk).update(deactivated_at=timezone.now())
    recall_fields = {"recall_id": "R-1", "contact": "help", "message": "Stop.", "reason": "Found."}
    recalls.recall_batch(batch=recalled.batch, at=timezone.now(), **recall_fields)
    customer_api = api.as_customer(customer)

    assert error(customer_api.verify(deactivated)) == (400, "AUTH_CODE_INVALID")
    assert statuses_of(customer_api.verify(recalled))[1] == "recalled"
    assert not Scan.objects.filter(points_status="lapsed").exists()


def test_old_guest_scan_cannot_be_adopted_by_repeating_its_idempotency_key(api, brand, customer, time_machine):
    code, body = factories.code(brand), {"idempotency_key": "one-key"}
    answer = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    time_machine.move_to(timezone.now() + timedelta(days=3))

    replayed = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    adopted = adopt(api.as_customer(customer), replayed)

    assert replayed["scan_id"] == answer["scan_id"]
    assert error(adopted) == (409, "SCAN_NOT_ADOPTABLE")
    assert Scan.objects.get().user is None


def test_repeated_request_returns_a_token_that_expires_with_the_first(api, brand, customer, time_machine):
    code, body = factories.code(brand), {"idempotency_key": "one-key"}
    start = timezone.now()
    api.post("auth-codes/scan", {"code": code.code}, **body)
    time_machine.move_to(start + timedelta(minutes=29))
    repeated = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    time_machine.move_to(start + timedelta(minutes=31))

    assert error(adopt(api.as_customer(customer), repeated)) == (409, "SCAN_NOT_ADOPTABLE")


def test_adopting_a_scan_that_is_too_old_is_rejected(brand, customer):
    code, scanned_at = factories.code(brand), timezone.now() - timedelta(days=3)
    result = scanning.scan(scanned=code.code, context=ScanContext(at=scanned_at, brand_id=brand.pk))

    with pytest.raises(ScanNotAdoptable):
        guest_scans.adopt(scan=Scan.objects.get(pk=result.scan_id), user_id=customer.pk, at=timezone.now())


# --- Concurrency -----------------------------------------------------------------------------------------------------


@pytest.fixture
def racing_brand(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    return brand


def code_scanned_by_guest(brand):
    code = factories.code(brand)
    result = scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), brand_id=brand.pk))
    return code, Scan.objects.get(pk=result.scan_id)


def count_customers_with_the_code(brand):
    """How many of twelve customers get a code that a guest scanned, when six adopt the scan and six scan the code."""
    code, scan = code_scanned_by_guest(brand)
    customers = [factories.customer(brand) for _ in range(12)]

    def adopt_or_scan(numbered_customer):
        number, customer = numbered_customer
        if number % 2:
            return guest_scans.adopt(scan=scan, user_id=customer.pk, at=timezone.now())
        return scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    run_concurrently(adopt_or_scan, list(enumerate(customers)))
    return User.objects.filter(scans__auth_code=code, scans__outcome="success").distinct().count()


def test_concurrent_adoptions_and_scans_give_the_code_to_one_customer(racing_brand):
    assert [count_customers_with_the_code(racing_brand) for _ in range(5)] == [1] * 5

    worker.drain()

    assert list(consistency.differences()) == []


def test_control_without_the_lock_on_the_guest_scan_several_get_the_code(racing_brand, monkeypatch):
    unlocked = with_replacements(record.TAKE_OVER_SCAN, ("FOR UPDATE", ""), ("<= b.scan_limit", "<= 99 + b.scan_limit"))
    monkeypatch.setattr(record, "TAKE_OVER_SCAN", unlocked)

    assert any(count_customers_with_the_code(racing_brand) > 1 for _ in range(20))
