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
from tests.authcodes.api.conftest import INVALID_REASONS, invalid_code, recall, scan
from tests.support import factories
from tests.support.api import error
from tests.support.locks import locked_by_another_session, short_lock_timeout

LOCK_CODE = "SELECT 1 FROM authcodes_authcode WHERE id = %s FOR UPDATE"


@pytest.mark.django_db(transaction=True)
def test_scan_of_a_locked_code_is_rejected_with_retry_after(customer_api, brand):
    code = factories.code(brand)

    with locked_by_another_session(LOCK_CODE, [code.pk]), short_lock_timeout():
        response = scan(customer_api, code)

    assert error(response) == (503, "UNAVAILABLE")
    assert response["Retry-After"] == "5"
    assert not Scan.objects.exists()
    assert scan(customer_api, code).status_code == 200


# --- Success ---------------------------------------------------------------------------------------------------------


def test_genuine_product_is_confirmed_with_pending_points(customer_api, brand):
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


def test_guest_sees_the_points_available_after_login(api, brand):
    body = scan(api, factories.code(brand)).json()

    assert (body["status"], body["points_status"]) == ("success", "guest")
    assert (body["points_awarded"], body["points_available"]) == (0, 10)
    assert body["message"] == "Genuine product. Log in to earn points."


def test_second_scan_by_the_same_customer_counts_but_earns_no_points(customer_api, brand, customer, deliver_events):
    code = factories.code(brand, scan_limit=None)
    customer_api.verify(code)
    deliver_events()

    body = customer_api.verify(code).json()
    deliver_events()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "already_claimed", 0)
    assert (body["scan_count"], body["first_scan"]) == (2, False)
    assert factories.account(customer, brand).points == 10


def test_code_of_an_ended_campaign_earns_nothing_if_its_batch_says_so(customer_api, brand):
    ended = factories.campaign(brand, is_active=False)

    body = customer_api.verify(factories.code(brand, campaign=ended, after_campaign="nothing")).json()

    assert (body["status"], body["reason"], body["points_status"]) == ("success", "campaign_inactive", "not_eligible")
    assert Campaign.objects.get() == ended


@pytest.mark.parametrize("account_fields", [{"status": "blocked"}])
def test_blocked_member_gets_a_genuine_result_but_no_points(customer_api, brand, account_fields):
    UserPoints.objects.update(**account_fields)

    body = customer_api.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "not_eligible", 0)


def test_scans_are_still_evaluated_while_the_programme_is_switched_off(customer_api, brand):
    Brand.objects.update(loyalty_active=False)

    body = customer_api.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"]) == ("success", "not_eligible")


@pytest.mark.parametrize(
    "template", ["{}", " {} ", "https://brand.example.com/s/{}", "https://x/01/04012345123456/21/{}"]
)
def test_code_is_parsed_from_every_form_of_scanned_text(api, brand, template):
    code = factories.code(brand)

    assert scan(api, template.format(code)).json()["status"] == "success"


def test_verify_accepts_a_printed_address_in_its_path(customer_api, brand):
    code = factories.code(brand)

    assert customer_api.verify(f"https://brand.example.com/s/{code}").json()["status"] == "success"


def test_signed_code_needs_its_tag(api, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    code = factories.code(brand, signed=True)

    assert error(scan(api, code)) == (400, "AUTH_CODE_INVALID")
    assert scan(api, signed_text(code)).json()["status"] == "success"


def signed_text(code):
    return f"{code}.{signed_tags.tag(code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)}"


# --- Warnings --------------------------------------------------------------------------------------------------------


def test_code_at_its_scan_limit_gives_a_warning_with_its_first_scan(api, customer_api, brand):
    code = factories.code(brand)
    api.as_customer(factories.customer(brand)).verify(code)
    AuthCode.objects.update(first_scan_location="Bern, Canton of Bern")  # as the geocoding task does

    response = customer_api.verify(code)

    first = Scan.objects.order_by("scanned_at").first()
    body = response.json()
    assert response.status_code == 200
    assert (body["status"], body["reason"], body["points_status"]) == ("warning", "limit_reached", "not_eligible")
    assert body["message"] == "This code has already been scanned."
    assert body["first_scan_date"] == first.scanned_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert body["first_scan_location"] == "Bern, Canton of Bern"
    assert (body["points_awarded"], body["scan_count"], body["first_scan"]) == (0, 1, False)


def test_recall_takes_precedence_over_a_deactivated_code(api, brand):
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


def test_scan_of_a_recalled_code_is_recorded(api, brand):
    code = factories.code(brand)
    recall(code)

    scan(api, code)

    assert list(Scan.objects.values_list("auth_code", "outcome", "reason")) == [(code.pk, "warning", "recalled")]


# --- Errors ----------------------------------------------------------------------------------------------------------


def test_all_invalid_codes_get_the_same_answer(customer_api, brand):
    answers = [customer_api.verify(invalid_code(brand, reason)).json() for reason in INVALID_REASONS]

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


@pytest.mark.parametrize("reason", INVALID_REASONS)
def test_true_reason_of_an_invalid_code_is_recorded_for_staff(customer_api, brand, customer, reason):
    code = invalid_code(brand, reason)

    body = customer_api.verify(code).json()

    record = Scan.objects.get(pk=body["scan_id"])
    assert (record.outcome, record.reason, record.user) == ("error", reason, customer)
    assert record.code == str(code).partition(".")[0]  # without the tag


@pytest.mark.parametrize(
    ("scanned", "stored"), [("T-404.0000", "T-404.0000"), ("https://x/y", "https://x/y"), ("x" * 80, "x" * 64)]
)
def test_text_without_a_known_code_is_recorded_as_scanned(customer_api, brand, scanned, stored):
    scan(customer_api, scanned)

    record = Scan.objects.get()
    assert (record.reason, record.code, record.auth_code) == ("unknown", stored, None)


@pytest.mark.parametrize("reason", INVALID_REASONS)
def test_scan_of_an_invalid_code_is_not_counted(customer_api, brand, reason):
    customer_api.verify(invalid_code(brand, reason))

    assert not AuthCode.objects.filter(scan_count__gt=0).exists()


def test_guest_gets_the_support_address_of_the_installation(api, settings):
    settings.SUPPORT_EMAIL = "codes@example.com"

    assert scan(api, "T-404").json()["support_email"] == "codes@example.com"


def test_scan_records_location_and_device_sent_by_the_app(customer_api, brand, customer):
    fields = {"location": {"latitude": 46.9, "longitude": 7.4}, "device": "Pixel 9", "app_version": "3.1"}

    scan(customer_api, factories.code(brand), **fields)

    record = Scan.objects.get()
    assert (record.user, record.brand) == (customer, brand)
    assert (record.latitude, record.longitude) == (46.9, 7.4)
    assert (record.device, record.app_version) == ("Pixel 9", "3.1")


def test_long_location_from_the_hub_is_truncated(api, brand):
    response = scan(api.hub(), factories.code(brand), location={"city": "x" * 100, "region": "y" * 100})

    assert response.status_code == 200
    assert Scan.objects.get().location == f"{'x' * 100}, {'y' * 98}"


@pytest.mark.parametrize("place_name", ["FAKE! Call +1-900-555-0100", "<b>Bern</b>"])
def test_location_name_from_callers_without_a_secret_key_is_ignored(api, customer_api, brand, place_name):
    location, code = {"city": place_name, "region": place_name}, factories.code(brand, scan_limit=None)
    scan(api, code, location=location)
    scan(api.app(), code, location=location)
    customer_api.verify(code, **location)
    customer_api.app().post(
        "auth-codes/scan", {"code": code.code, "location": {**location, "latitude": 1, "longitude": 2}}
    )

    body = customer_api.verify(code).json()

    assert set(Scan.objects.values_list("location", flat=True)) == {""}
    assert body["first_scan_location"] is None
    assert place_name not in str(list(Event.objects.values_list("detail", flat=True)))


def test_location_name_comes_from_the_geocoder_if_there_are_coordinates(api, brand):
    scan(api, factories.code(brand), location={"latitude": 48.8566, "longitude": 2.3522, "city": "FAKE!"})

    assert Scan.objects.get().location.startswith("Paris, ")
    assert locate.locate_pending(limit=10) == 0
