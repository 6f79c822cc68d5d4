"""Scanning over HTTP, in every outcome: verify (spec 4.2), scan (4.7), validate (4.6), and what became of a scan."""

import uuid
from dataclasses import replace

import pytest
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import locate
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from events.models import Event
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.api import error, somewhere
from tests.support.locks import holding, impatient
from tests.support.portal import staff

WRONG = ["unknown", "expired", "deactivated", "unassigned", "other_brand", "bad_tag"]


@pytest.fixture
def mine(api, customer):
    """The customer's own calls."""
    return api.as_customer(customer)


def scan(caller, code, **fields):
    return caller.post("auth-codes/scan", {"code": str(code), **fields})


def validate(caller, code, **fields):
    return caller.post("auth-codes/validate", {"code": str(code), **fields})


def wrong_code(brand, reason):
    """A code that is refused for `reason`, as the scan record will say."""
    if reason == "unknown":
        return "T-404"
    if reason == "expired":
        return factories.expired_code(brand)
    if reason == "unassigned":
        return factories.code(brand, assigned=False)
    if reason == "other_brand":
        return factories.code(factories.brand())
    code = factories.code(brand)
    if reason == "bad_tag":
        return f"{code}.0000"
    factories.deactivate(codes=[code], at=timezone.now())
    return code


def recall(code, **told):
    about = {"recall_id": "R-7", "contact": "0800 123", "message": "Bring it back.", "reason": "mould", **told}
    return recalls.recall_batch(batch=code.batch, at=timezone.now(), **about)


LOCK_CODE = "SELECT 1 FROM authcodes_authcode WHERE id = %s FOR UPDATE"


@pytest.mark.django_db(transaction=True)
def test_scan_of_a_code_that_a_large_change_holds_may_be_sent_again(mine, brand):
    code = factories.code(brand)

    with holding(LOCK_CODE, [code.pk]), impatient():
        refused = scan(mine, code)

    assert error(refused) == (503, "UNAVAILABLE")
    assert refused["Retry-After"] == "5"
    assert not Scan.objects.exists()
    assert scan(mine, code).status_code == 200


# --- Success ---------------------------------------------------------------------------------------------------------


def test_genuine_product_is_told_at_once(mine, brand):
    code = factories.code(brand)

    response = mine.verify(code)

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


def test_own_second_scan_counts_and_earns_nothing(mine, brand, customer, deliver):
    code = factories.code(brand, scan_limit=None)
    mine.verify(code)
    deliver()

    body = mine.verify(code).json()
    deliver()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "already_claimed", 0)
    assert (body["scan_count"], body["first_scan"]) == (2, False)
    assert factories.account(customer, brand).points == 10


def test_code_of_a_campaign_that_is_over_earns_nothing_where_its_batch_says_so(mine, brand):
    ended = factories.campaign(brand, is_active=False)

    body = mine.verify(factories.code(brand, campaign=ended, after_campaign="nothing")).json()

    assert (body["status"], body["reason"], body["points_status"]) == ("success", "campaign_inactive", "not_eligible")
    assert Campaign.objects.get() == ended


@pytest.mark.parametrize("unwelcome", [{"status": "blocked"}])
def test_blocked_member_is_told_the_product_and_no_points(mine, brand, unwelcome):
    UserPoints.objects.update(**unwelcome)

    body = mine.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"], body["points_awarded"]) == ("success", "not_eligible", 0)


def test_programme_that_is_switched_off_still_tells_genuine_from_false(mine, brand):
    Brand.objects.update(loyalty_active=False)

    body = mine.verify(factories.code(brand)).json()

    assert (body["status"], body["points_status"]) == ("success", "not_eligible")


@pytest.mark.parametrize("shape", ["{}", " {} ", "https://brand.example.com/s/{}", "https://x/01/04012345123456/21/{}"])
def test_code_is_found_in_whatever_a_scanner_reads(api, brand, shape):
    code = factories.code(brand)

    assert scan(api, shape.format(code)).json()["status"] == "success"


def test_address_may_stand_in_the_path(mine, brand):
    code = factories.code(brand)

    assert mine.verify(f"https://brand.example.com/s/{code}").json()["status"] == "success"


def test_signed_code_needs_its_tag(api, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    code = factories.code(brand, signed=True)

    assert error(scan(api, code)) == (400, "AUTH_CODE_INVALID")
    assert scan(api, scanning_text(code)).json()["status"] == "success"


def scanning_text(code):
    return f"{code}.{signed_tags.tag(code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)}"


# --- Warnings --------------------------------------------------------------------------------------------------------


def test_code_at_its_limit_is_a_warning_with_its_first_scan(api, mine, brand):
    code = factories.code(brand)
    api.as_customer(factories.customer(brand)).verify(code)
    AuthCode.objects.update(first_scan_location="Bern, Canton of Bern")  # what the locating task does

    response = mine.verify(code)

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


def test_codes_that_are_not_valid_get_one_answer(mine, brand):
    answers = [mine.verify(wrong_code(brand, reason)).json() for reason in WRONG]

    said = {
        tuple(sorted((name, str(value)) for name, value in answer.items() if "_id" not in name)) for answer in answers
    }
    assert len(said) == 1
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
def test_true_reason_is_kept_for_staff(mine, brand, customer, reason):
    code = wrong_code(brand, reason)

    body = mine.verify(code).json()

    record = Scan.objects.get(pk=body["scan_id"])
    assert (record.outcome, record.reason, record.user) == ("error", reason, customer)
    assert record.code == str(code).partition(".")[0] or record.code == str(code)


@pytest.mark.parametrize("reason", WRONG)
def test_code_that_is_not_valid_is_not_counted(mine, brand, reason):
    mine.verify(wrong_code(brand, reason))

    assert not AuthCode.objects.filter(scan_count__gt=0).exists()


def test_guest_is_sent_to_the_installations_support(api, settings):
    settings.SUPPORT_EMAIL = "codes@example.com"

    assert scan(api, "T-404").json()["support_email"] == "codes@example.com"


# --- Who scans -------------------------------------------------------------------------------------------------------


def test_verify_is_for_customers(api, brand):
    assert error(api.verify(factories.code(brand))) == (401, "AUTHENTICATION_REQUIRED")
    assert not Scan.objects.exists()


def test_scan_keeps_what_the_app_tells(mine, brand, customer):
    about = {"location": {"latitude": 46.9, "longitude": 7.4}, "device": "Pixel 9", "app_version": "3.1"}

    scan(mine, factories.code(brand), **about)

    record = Scan.objects.get()
    assert (record.user, record.brand) == (customer, brand)
    assert (record.latitude, record.longitude) == (46.9, 7.4)
    assert (record.device, record.app_version) == ("Pixel 9", "3.1")


def test_long_names_of_a_place_are_cut_to_what_the_record_holds(api, brand):
    response = scan(api.hub(), factories.code(brand), location={"city": "x" * 100, "region": "y" * 100})

    assert response.status_code == 200
    assert Scan.objects.get().location == f"{'x' * 100}, {'y' * 98}"


@pytest.mark.parametrize("words", ["FAKE! Call +1-900-555-0100", "<b>Bern</b>"])
def test_a_place_that_anybody_states_is_neither_kept_nor_shown(api, mine, brand, words):
    stated, code = {"city": words, "region": words}, factories.code(brand, scan_limit=None)
    scan(api, code, location=stated)
    scan(api.app(), code, location=stated)
    mine.verify(code, **stated)
    mine.app().post("auth-codes/scan", {"code": code.code, "location": {**stated, "latitude": 1, "longitude": 2}})

    shown = mine.verify(code).json()

    assert set(Scan.objects.values_list("location", flat=True)) == {""}
    assert shown["first_scan_location"] is None
    assert words not in str(list(Event.objects.values_list("detail", flat=True)))


def test_coordinates_are_named_by_the_geocoder_whatever_city_was_stated(api, brand):
    scan(api, factories.code(brand), location={"latitude": 48.8566, "longitude": 2.3522, "city": "FAKE!"})

    assert Scan.objects.get().location.startswith("Paris, ")
    assert locate.locate_pending(limit=10) == 0


def test_hub_scans_for_its_customers(api, brand, customer, deliver):
    body = scan(api.hub(), factories.code(brand), customer_id=str(customer.pk)).json()
    deliver()

    assert body["points_status"] == "pending"
    assert factories.account(customer, brand).points == 10


@pytest.mark.parametrize("stated", ["-1", "x", "1.0", "٣", "1 2", "9" * 19])
def test_customer_id_that_is_no_number_of_a_row_is_refused(api, brand, stated):
    assert error(scan(api.hub(), factories.code(brand), customer_id=stated)) == (400, "VALIDATION_ERROR")
    assert not Scan.objects.exists()


def test_hub_scans_for_no_other_brands_customers(api, brand):
    response = scan(api.hub(), factories.code(brand), customer_id=str(factories.customer(factories.brand()).pk))

    assert error(response) == (404, "USER_NOT_FOUND")


def test_customer_scans_for_nobody_else(mine, brand):
    assert error(scan(mine, factories.code(brand), customer_id=str(factories.customer(brand).pk))) == (403, "FORBIDDEN")


@pytest.mark.parametrize("keyed", ["app", "guest"])
def test_guests_word_for_who_they_are_is_not_believed(api, brand, customer, keyed):
    body = scan(getattr(api, keyed)(), factories.code(brand), customer_id=str(customer.pk)).json()

    assert body["points_status"] == "guest"
    assert Scan.objects.get().user is None


def test_token_and_key_must_be_of_one_brand(mine, brand):
    response = mine.hub(of=factories.brand()).verify(factories.code(brand))

    assert error(response) == (403, "BRAND_MISMATCH")


# --- Again -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["accepted", "limit_reached", "recalled"])
def test_same_key_and_scan_get_the_same_bytes(api, mine, brand, reason):
    code = factories.code(brand)
    if reason == "limit_reached":
        api.as_customer(factories.customer(brand)).verify(code)
    if reason == "recalled":
        recall(code)
    first = mine.having(idempotency_key="k1").verify(code)

    again = mine.having(idempotency_key="k1").verify(code)

    assert first.json()["reason"] == reason
    assert again.content == first.content
    assert Scan.objects.filter(reason=reason).count() == 1


@pytest.mark.parametrize("is_customer", [True, False], ids=["customer", "guest"])
def test_a_scan_that_is_asked_for_again_says_that_its_code_was_recalled_since(api, mine, brand, is_customer):
    app, code = (mine if is_customer else api).having(idempotency_key="k1"), factories.code(brand)
    assert scan(app, code).json()["reason"] == "accepted"
    made = recall(code)

    again = scan(app, code).json()

    assert (again["status"], again["reason"], again["message"]) == ("warning", "recalled", "Bring it back.")
    assert again["recall"]["contact"] == "0800 123"
    recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=staff(brand))
    assert scan(app, code).json()["reason"] == "accepted"
    assert Scan.objects.get().reason == "accepted", "what was recorded stays"


def test_a_recalled_scan_that_is_asked_for_again_after_the_withdrawal_is_judged_anew(mine, brand):
    app, code = mine.having(idempotency_key="k1"), factories.code(brand)
    made = recall(code)
    assert scan(app, code).json()["reason"] == "recalled"
    recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=staff(brand))

    again = scan(app, code)

    assert (again.status_code, again.json()["reason"]) == (200, "accepted")
    assert again.json()["points_status"] == "not_eligible", "a scan that earned nothing earns nothing later"


def test_key_belongs_to_its_scan(mine, brand):
    scan(mine.having(idempotency_key="k1"), factories.code(brand))

    assert error(scan(mine.having(idempotency_key="k1"), factories.code(brand))) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Scan.objects.count() == 1


def test_a_place_that_is_told_later_leaves_the_key_its_scan(mine, brand):
    code, keyed = factories.code(brand), mine.having(idempotency_key="k1")
    first = scan(keyed, code)
    mine.post(f"scans/{first.json()['scan_id']}/place", {"latitude": 48.8566, "longitude": 2.3522})

    assert scan(keyed, code).content == first.content
    assert error(scan(keyed, code, location={"latitude": 1, "longitude": 1})) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Scan.objects.count() == 1


def test_keys_of_two_guests_are_two_keys(api, brand):
    code = factories.code(brand, scan_limit=None)
    elsewhere = type(api)(brand)

    answers = [scan(guest.having(idempotency_key="k1"), code).json() for guest in (api, elsewhere)]

    assert [answer["scan_count"] for answer in answers] == [1, 2]


# --- Validate --------------------------------------------------------------------------------------------------------


def test_validate_tells_what_a_scan_would_say(mine, brand):
    code = factories.code(brand)

    response = validate(mine, code)

    assert response.json() == {
        "valid": True,
        "product": {"id": str(code.product_id), "name": code.product.title, "sku": code.product.sku},
        "points_awarded": 10,
        "scan_count": 0,
        "first_scan": True,
        "status": "success",
        "reason": "accepted",
        "points_status": "pending",
    }


def test_validate_promises_a_guest_no_points_and_says_what_logging_in_would_earn(api, brand):
    body = validate(api, factories.code(brand)).json()

    assert (body["valid"], body["points_awarded"], body["points_available"]) == (True, 0, 10)
    assert body["points_status"] == "guest"


def test_validate_tells_of_a_recall(api, brand):
    code = factories.code(brand)
    recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["status"], body["reason"]) == (False, "warning", "recalled")
    assert body["recall"]["id"] == code.batch.recall.recall_id


def test_product_no_longer_sold_is_genuine_and_says_that_it_earns_nothing(mine, brand):
    code = factories.code(brand)
    type(code.product).objects.update(is_active=False)

    looked_up, scanned = validate(mine, code).json(), mine.verify(code).json()

    assert (looked_up["valid"], looked_up["reason"], looked_up["points_awarded"]) == (True, "product_inactive", 0)
    assert (scanned["status"], scanned["reason"], scanned["points_awarded"]) == ("success", "product_inactive", 0)
    assert scanned["message"] == "Genuine product. It is no longer sold and earns no points."


def test_validate_records_and_counts_nothing(mine, brand):
    code = factories.code(brand)

    validate(mine, code)

    assert not Scan.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_codes_that_are_not_valid_validate_alike(mine, brand):
    answers = [validate(mine, wrong_code(brand, reason)).content for reason in WRONG]

    told = (
        b'{"valid":false,"product":null,"points_awarded":0,"scan_count":0,"first_scan":false,'
        b'"status":"error","reason":null,"points_status":"not_eligible"}'
    )
    assert set(answers) == {told}


@pytest.mark.parametrize("why", ["limit reached", "recalled"])
def test_real_code_without_a_scan_left_is_named_but_not_valid(api, brand, why):
    code = factories.code(brand)
    scan(api, code)
    if why == "recalled":
        recall(code)

    body = validate(api, code).json()

    assert (body["valid"], body["product"]["sku"], body["points_awarded"]) == (False, code.product.sku, 0)
    assert (body["scan_count"], body["first_scan"]) == (1, False)


def test_validate_of_a_claimed_code_promises_nothing_more(mine, brand, deliver):
    code = factories.code(brand, scan_limit=None)
    mine.verify(code)
    deliver()

    assert validate(mine, code).json()["points_awarded"] == 0


# --- What became of it -----------------------------------------------------------------------------------------------


def test_scan_is_pending_and_then_awarded(mine, brand, deliver):
    place = {"city": "Bern", "region": "Canton of Bern"}
    scan_id = mine.hub().verify(factories.code(brand), **place).json()["scan_id"]
    before = mine.get(f"scans/{scan_id}").json()
    deliver()

    after = mine.get(f"scans/{scan_id}").json()

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
    ("reason", "is_said"),
    [("expired", True), ("deactivated", True), ("unassigned", True), ("bad_tag", False), ("other_brand", False)],
)
def test_an_earlier_scan_says_a_recall_that_began_since_of_any_genuine_code(mine, brand, reason, is_said):
    if reason == "expired":
        code = factories.expired_code(brand)
    else:
        owner = factories.brand() if reason == "other_brand" else brand
        code = factories.code(owner, assigned=reason != "unassigned", signed=reason == "bad_tag")
    if reason == "deactivated":
        factories.deactivate(codes=[code], at=timezone.now())
    mine.verify(code.code)
    made = Scan.objects.get()
    assert (made.reason, made.outcome) == (reason, "error")
    recall(code)

    answer = Scan.objects.get().current_recall

    assert (answer is not None) == is_said
    assert is_said == (mine.get(f"scans/{made.pk}").json().get("recall", {}).get("contact") == "0800 123")


def test_scan_is_told_to_its_customer_hub_and_staff(api, mine, brand, customer):
    scan_id = mine.verify(factories.code(brand)).json()["scan_id"]
    support = factories.user(is_staff=True)
    StaffRole.objects.create(user=support, brand=brand, role="support")

    readers = [mine, api.hub(), api.as_customer(support)]

    assert [reader.get(f"scans/{scan_id}").status_code for reader in readers] == [200, 200, 200]


def test_scan_is_told_to_nobody_else(api, mine, brand, customer):
    scan_id = mine.verify(factories.code(brand)).json()["scan_id"]
    other = factories.brand()
    others = factories.user(is_staff=True)
    StaffRole.objects.create(user=others, brand=other, role="owner")

    readers = [
        api,
        api.app(),
        api.as_customer(factories.customer(brand)),
        api.hub(of=other),
        api.as_customer(others, of=other),
    ]

    assert [error(reader.get(f"scans/{scan_id}")) for reader in readers] == [(404, "NOT_FOUND")] * 5


def test_guests_scan_is_told_to_whoever_has_its_id(api, brand):
    scan_id = scan(api, factories.code(brand)).json()["scan_id"]

    assert type(api)(brand).get(f"scans/{scan_id}").json()["points_status"] == "guest"


def test_scan_that_is_none_is_not_found(api):
    assert error(api.get(f"scans/{uuid.uuid4()}")) == (404, "NOT_FOUND")


# --- How often -------------------------------------------------------------------------------------------------------


def test_sixty_first_scan_in_a_minute_is_refused(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "60/minute"}

    statuses = [validate(api, "T-404").status_code for _ in range(61)]

    assert statuses == [200] * 60 + [429]


def test_twentieth_unknown_code_in_an_hour_locks_the_caller_out(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "20/hour"}
    for number in range(20):
        assert scan(api, f"T-{number}").status_code == 400

    response = scan(api, factories.code(brand))

    assert error(response) == (429, "RATE_LIMITED")
    assert 0 < int(response["Retry-After"]) <= settings.UNKNOWN_CODE_LOCK_SECONDS
    assert scan(type(api)(brand), factories.code(brand)).status_code == 200


def test_more_accounts_give_one_address_no_more_guesses(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code_address": "3/hour"}
    customers = [api.as_customer(factories.customer(brand)) for _ in range(4)]

    answers = [scan(caller, "T-404") for caller in customers]

    assert [answer.status_code for answer in answers] == [400, 400, 400, 429]
    assert error(customers[3].verify(factories.code(brand))) == (429, "RATE_LIMITED")
    assert replace(customers[3], address=somewhere()).verify(factories.code(brand)).status_code == 200
    assert scan(api.hub(), factories.code(brand)).status_code == 200


def test_every_code_that_is_not_valid_counts_so_that_the_lock_tells_nothing(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}
    expired = factories.expired_code(brand)

    assert [scan(api, expired).status_code for _ in range(5)] == [400, 400, 400, 429, 429]
