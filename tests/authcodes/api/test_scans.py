"""Scanning over HTTP, in every outcome: verify (spec 4.2) and scan (4.7)."""

import pytest
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import locate
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from events.models import Event
from loyalty.models.accounts import UserPoints
from tests.authcodes.api.conftest import WRONG, recall, scan, wrong_code
from tests.support import factories
from tests.support.api import error
from tests.support.locks import holding, impatient

LOCK_CODE = "SELECT 1 FROM authcodes_authcode WHERE id = %s FOR UPDATE"


@pytest.mark.django_db(transaction=True)
def test_scan_of_a_code_that_a_large_change_holds_may_be_sent_again(customer_api, brand):
    code = factories.code(brand)

    with holding(LOCK_CODE, [code.pk]), impatient():
        refused = scan(customer_api, code)

    assert error(refused) == (503, "UNAVAILABLE")
    assert refused["Retry-After"] == "5"
    assert not Scan.objects.exists()
    assert scan(customer_api, code).status_code == 200


# --- Success ---------------------------------------------------------------------------------------------------------


def test_genuine_product_is_told_at_once(customer_api, brand):
    code = factories.code(brand)

    response = customer_api.verify(code)

    record = Scan.objects.get()
    assert response.status_code == 200
    assert response.json() == {
        "success": True,
        "status": "success",
        "scan_id": str(record.pk),
        "reason": "accepted",
        "points_status": "pending",
        "product": {"id": str(code.product_id), "name": code.product.title, "sku": code.product.sku},
        "points_awarded": 10,
        "message": "Genuine product. Your points are on their way.",
        "scan_count": 1,
        "first_scan": True,
    }


def test_guest_is_told_what_there_would_be_to_earn(api, brand):
    body = scan(api, factories.code(brand)).json()

    assert (body["status"], body["points_status"]) == ("success", "guest")
    assert (body["points_awarded"], body["points_available"]) == (0, 10)
    assert body["message"] == "Genuine product. Log in to earn points."


def test_own_second_scan_counts_and_earns_nothing(customer_api, brand, customer, deliver):
    code = factories.code(brand, scan_limit=None)
    customer_api.verify(code)
    deliver()

    body = customer_api.verify(code).json()
    deliver()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "already_claimed", 0)
    assert (body["scan_count"], body["first_scan"]) == (2, False)
    assert factories.account(customer, brand).points == 10


def test_code_of_a_campaign_that_is_over_earns_nothing_where_its_batch_says_so(customer_api, brand):
    ended = factories.campaign(brand, is_active=False)

    body = customer_api.verify(factories.code(brand, campaign=ended, after_campaign="nothing")).json()

    assert (body["status"], body["reason"], body["points_status"]) == ("success", "campaign_inactive", "not_eligible")
    assert Campaign.objects.get() == ended


@pytest.mark.parametrize("unwelcome", [{"status": "blocked"}])
def test_blocked_member_is_told_the_product_and_no_points(customer_api, brand, unwelcome):
    UserPoints.objects.update(**unwelcome)

    body = customer_api.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "not_eligible", 0)


def test_programme_that_is_switched_off_still_tells_genuine_from_false(customer_api, brand):
    Brand.objects.update(loyalty_active=False)

    body = customer_api.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"]) == ("success", "not_eligible")


@pytest.mark.parametrize("shape", ["{}", " {} ", "https://brand.example.com/s/{}", "https://x/01/04012345123456/21/{}"])
def test_code_is_found_in_whatever_a_scanner_reads(api, brand, shape):
    code = factories.code(brand)

    assert scan(api, shape.format(code)).json()["status"] == "success"


def test_address_may_stand_in_the_path(customer_api, brand):
    code = factories.code(brand)

    assert customer_api.verify(f"https://brand.example.com/s/{code}").json()["status"] == "success"


def test_signed_code_needs_its_tag(api, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    code = factories.code(brand, signed=True)

    assert error(scan(api, code)) == (400, "AUTH_CODE_INVALID")
    assert scan(api, scanning_text(code)).json()["status"] == "success"


def scanning_text(code):
    return f"{code}.{signed_tags.tag(code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)}"


# --- Warnings --------------------------------------------------------------------------------------------------------


def test_code_at_its_limit_is_a_warning_with_its_first_scan(api, customer_api, brand):
    code = factories.code(brand)
    api.as_customer(factories.customer(brand)).verify(code)
    AuthCode.objects.update(first_scan_location="Bern, Canton of Bern")  # what the locating task does

    response = customer_api.verify(code)

    first = Scan.objects.order_by("scanned_at").first()
    body = response.json()
    assert response.status_code == 200
    assert (body["status"], body["reason"], body["points_status"]) == ("warning", "limit_reached", "not_eligible")
    assert body["message"] == "This code has already been scanned."
    assert body["first_scan_date"] == first.scanned_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert body["first_scan_location"] == "Bern, Canton of Bern"
    assert (body["points_awarded"], body["scan_count"], body["first_scan"]) == (0, 1, False)


def test_recall_beats_everything(api, brand):
    code = factories.code(brand)
    factories.deactivate(codes=[code], at=timezone.now())
    recall(code)

    response = scan(api, code)

    body = response.json()
    assert response.status_code == 200
    assert (body["status"], body["reason"], body["points_awarded"]) == ("warning", "recalled", 0)
    assert body["recall"] == {"id": "R-7", "contact": "0800 123", "message": "Bring it back."}
    assert body["message"] == "Bring it back."
    assert "mould" not in response.content.decode()


def test_scan_of_a_recalled_product_is_recorded(api, brand):
    code = factories.code(brand)
    recall(code)

    scan(api, code)

    assert list(Scan.objects.values_list("auth_code", "outcome", "reason")) == [(code.pk, "warning", "recalled")]


# --- Errors ----------------------------------------------------------------------------------------------------------


def test_codes_that_are_not_valid_get_one_answer(customer_api, brand):
    answers = [customer_api.verify(wrong_code(brand, reason)).json() for reason in WRONG]

    distinct_answers = {
        tuple(sorted((name, str(value)) for name, value in answer.items() if "_id" not in name)) for answer in answers
    }
    assert len(distinct_answers) == 1
    assert answers[0] == {
        "success": False,
        "error": "AUTH_CODE_INVALID",
        "status": "error",
        "message": "This code is not valid. Check it and try again, or ask the brand's support.",
        "support_email": brand.support_email,
        "scan_id": answers[0]["scan_id"],
        "request_id": answers[0]["request_id"],
        "details": {},
    }


@pytest.mark.parametrize("reason", WRONG)
def test_true_reason_is_kept_for_staff(customer_api, brand, customer, reason):
    code = wrong_code(brand, reason)

    body = customer_api.verify(code).json()

    record = Scan.objects.get(pk=body["scan_id"])
    assert (record.outcome, record.reason, record.user) == ("error", reason, customer)
    assert record.code == str(code).partition(".")[0] or record.code == str(code)


@pytest.mark.parametrize("reason", WRONG)
def test_code_that_is_not_valid_is_not_counted(customer_api, brand, reason):
    customer_api.verify(wrong_code(brand, reason))

    assert not AuthCode.objects.filter(scan_count__gt=0).exists()


def test_guest_is_sent_to_the_installations_support(api, settings):
    settings.SUPPORT_EMAIL = "codes@example.com"

    assert scan(api, "T-404").json()["support_email"] == "codes@example.com"


def test_scan_keeps_what_the_app_tells(customer_api, brand, customer):
    fields = {"location": {"latitude": 46.9, "longitude": 7.4}, "device": "Pixel 9", "app_version": "3.1"}

    scan(customer_api, factories.code(brand), **fields)

    record = Scan.objects.get()
    assert (record.user, record.brand) == (customer, brand)
    assert (record.latitude, record.longitude) == (46.9, 7.4)
    assert (record.device, record.app_version) == ("Pixel 9", "3.1")


def test_long_names_of_a_place_are_cut_to_what_the_record_holds(api, brand):
    response = scan(api.hub(), factories.code(brand), location={"city": "x" * 100, "region": "y" * 100})

    assert response.status_code == 200
    assert Scan.objects.get().location == f"{'x' * 100}, {'y' * 98}"


@pytest.mark.parametrize("place_name", ["FAKE! Call +1-900-555-0100", "<b>Bern</b>"])
def test_a_place_that_anybody_states_is_neither_kept_nor_shown(api, customer_api, brand, place_name):
    stated, code = {"city": place_name, "region": place_name}, factories.code(brand, scan_limit=None)
    scan(api, code, location=stated)
    scan(api.app(), code, location=stated)
    customer_api.verify(code, **stated)
    customer_api.app().post(
        "auth-codes/scan", {"code": code.code, "location": {**stated, "latitude": 1, "longitude": 2}}
    )

    shown = customer_api.verify(code).json()

    assert set(Scan.objects.values_list("location", flat=True)) == {""}
    assert shown["first_scan_location"] is None
    assert place_name not in str(list(Event.objects.values_list("detail", flat=True)))


def test_coordinates_are_named_by_the_geocoder_whatever_city_was_stated(api, brand):
    scan(api, factories.code(brand), location={"latitude": 48.8566, "longitude": 2.3522, "city": "FAKE!"})

    assert Scan.objects.get().location.startswith("Paris, ")
    assert locate.locate_pending(limit=10) == 0
