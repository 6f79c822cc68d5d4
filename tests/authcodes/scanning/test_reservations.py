"""A guest's scan keeps a used-up code for the guest alone, for some minutes, and from no customer."""

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
from tests.support.concurrency import at_once
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


def scan(caller, code):
    return caller.post("auth-codes/scan", {"code": str(code)})


def statuses_of(response):
    body = response.json()
    return body["status"], body["reason"], body["points_status"]


def adopt(caller, answer):
    return caller.post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"]})


def test_buyers_claim_thirty_codes_that_a_guest_has_burnt(api, brand, customer, deliver):
    codes = list(factories.batch(brand, quantity=30).codes.all())
    for code in codes:
        assert statuses_of(scan(api.app(), code)) == ("success", "accepted", "guest")

    answers = [statuses_of(api.as_customer(customer).verify(code)) for code in codes]
    deliver()

    assert answers == [("success", "accepted", "pending")] * 30
    assert factories.account(customer, brand).points == 300
    assert list(consistency.differences()) == []


def test_the_buyer_learns_that_the_code_was_checked_before(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)

    body = api.as_customer(customer).verify(code).json()

    assert (body["first_scan"], body["scan_count"]) == (False, 2)
    assert body["first_scan_date"]


def test_another_guest_is_told_that_it_is_reserved_and_until_when(api, brand, settings):
    code = factories.code(brand)
    scan(api, code)

    response = scan(api.guest(), code)

    first = Scan.objects.get(reason="accepted")
    until = first.scanned_at + timedelta(minutes=settings.GUEST_SCAN_MINUTES)
    assert statuses_of(response) == ("warning", "reserved", "not_eligible")
    assert response.json()["message"].startswith("Someone who is not logged in has just scanned this code.")
    assert response.json()["reserved_until"] == json_values.iso(until)


def test_another_guest_gets_it_when_it_has_lapsed_and_may_adopt_it(api, brand, customer, deliver, time_machine):
    code = factories.code(brand)
    first = scan(api, code).json()
    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    second = scan(api, code)
    adopted = adopt(api.as_customer(customer), second.json())
    deliver()

    assert statuses_of(second) == ("success", "accepted", "guest")
    assert adopted.status_code == 200
    assert factories.account(customer, brand).points == 10
    assert api.get(f"scans/{first['scan_id']}").json()["points_status"] == "lapsed"
    assert list(consistency.differences()) == []


def test_the_guest_comes_too_late_when_a_customer_was_faster(api, brand, customer):
    code = factories.code(brand)
    answer = scan(api, code).json()
    api.as_customer(customer).verify(code)

    assert error(adopt(api.as_customer(factories.customer(brand)), answer)) == (409, "SCAN_NOT_ADOPTABLE")


def test_a_claimed_code_is_used_up_for_everybody(api, brand, customer, time_machine):
    code = factories.code(brand)
    adopt(api.as_customer(customer), scan(api, code).json())

    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    for caller in (api, api.as_customer(factories.customer(brand))):
        assert statuses_of(scan(caller, code))[:2] == ("warning", "limit_reached")


def test_validate_and_the_campaign_event_take_a_reserved_code_for_free(api, brand, customer):
    code = factories.code(brand)
    scan(api, code)
    app = api.as_customer(customer).app()

    assert app.post("auth-codes/validate", {"code": code.code}).json()["valid"] is True
    assert api.guest().post("auth-codes/validate", {"code": code.code}).json()["valid"] is False
    assert app.credit(customer, code).json()["data"]["points_earned"] == 10
    assert list(consistency.differences()) == []


def test_of_a_code_for_two_one_slot_is_taken_over(api, brand, customer):
    code = factories.code(brand, scan_limit=2)
    for _guest in range(2):
        scan(api, code)

    buyers = [factories.customer(brand) for _ in range(3)]
    answers = [statuses_of(api.as_customer(buyer).verify(code))[1] for buyer in buyers]

    assert answers == ["accepted", "accepted", "limit_reached"]
    code.refresh_from_db()
    assert (code.scan_count, code.slots_returned) == (4, 2)
    assert list(consistency.differences()) == []


def test_what_is_recalled_or_switched_off_is_not_taken_over(api, brand, customer):
    off, recalled = factories.code(brand), factories.code(brand)
    for code in (off, recalled):
        scan(api, code)
    AuthCode.objects.filter(pk=off.pk).update(deactivated_at=timezone.now())
    recall_fields = {"recall_id": "R-1", "contact": "help", "message": "Stop.", "reason": "Found."}
    recalls.recall_batch(batch=recalled.batch, at=timezone.now(), **recall_fields)
    customer_api = api.as_customer(customer)

    assert error(customer_api.verify(off)) == (400, "AUTH_CODE_INVALID")
    assert statuses_of(customer_api.verify(recalled))[1] == "recalled"
    assert not Scan.objects.filter(points_status="lapsed").exists()


def test_a_guest_scan_three_days_old_is_not_adopted_by_replaying_its_key(api, brand, customer, time_machine):
    code, body = factories.code(brand), {"idempotency_key": "one-key"}
    answer = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    time_machine.move_to(timezone.now() + timedelta(days=3))

    replayed = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    adopted = adopt(api.as_customer(customer), replayed)

    assert replayed["scan_id"] == answer["scan_id"]
    assert error(adopted) == (409, "SCAN_NOT_ADOPTABLE")
    assert Scan.objects.get().user is None


def test_a_replay_in_time_hands_out_a_token_that_ends_with_the_first(api, brand, customer, time_machine):
    code, body = factories.code(brand), {"idempotency_key": "one-key"}
    start = timezone.now()
    api.post("auth-codes/scan", {"code": code.code}, **body)
    time_machine.move_to(start + timedelta(minutes=29))
    late = api.post("auth-codes/scan", {"code": code.code}, **body).json()
    time_machine.move_to(start + timedelta(minutes=31))

    assert error(adopt(api.as_customer(customer), late)) == (409, "SCAN_NOT_ADOPTABLE")


def test_a_scan_that_is_too_old_is_not_adopted_whatever_proves_it(brand, customer):
    code, then = factories.code(brand), timezone.now() - timedelta(days=3)
    made = scanning.scan(scanned=code.code, context=ScanContext(at=then, brand_id=brand.pk))

    with pytest.raises(ScanNotAdoptable):
        guest_scans.adopt(scan=Scan.objects.get(pk=made.scan_id), user_id=customer.pk, at=timezone.now())


# --- Many at once ----------------------------------------------------------------------------------------------------


@pytest.fixture
def racing_brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    return made


def burnt_code(brand):
    code = factories.code(brand)
    made = scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), brand_id=brand.pk))
    return code, Scan.objects.get(pk=made.scan_id)


def claimed_at_once(brand):
    """Of a guest's scan, how many of twelve have the code afterwards: six adopt it, six scan over it."""
    code, scan = burnt_code(brand)
    customers = [factories.customer(brand) for _ in range(12)]

    def claim(numbered):
        number, customer = numbered
        if number % 2:
            return guest_scans.adopt(scan=scan, user_id=customer.pk, at=timezone.now())
        return scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    at_once(claim, list(enumerate(customers)))
    return User.objects.filter(scans__auth_code=code, scans__outcome="success").distinct().count()


def test_of_many_who_adopt_and_scan_at_once_one_has_the_code(racing_brand):
    assert [claimed_at_once(racing_brand) for _ in range(5)] == [1] * 5

    worker.drain()

    assert list(consistency.differences()) == []


def test_control_without_the_lock_on_the_guests_scan_several_have_it(racing_brand, monkeypatch):
    unlocked = altered(record.TAKE_OVER_SCAN, ("FOR UPDATE", ""), ("<= b.scan_limit", "<= 99 + b.scan_limit"))
    monkeypatch.setattr(record, "TAKE_OVER_SCAN", unlocked)

    assert any(claimed_at_once(racing_brand) > 1 for _ in range(20))
