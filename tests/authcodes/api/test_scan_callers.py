"""Who scans over HTTP, for whom, and how often."""

from dataclasses import replace

import pytest

from authcodes.models.scans import Scan
from tests.authcodes.api.conftest import scan, validate
from tests.support import factories
from tests.support.api import error, somewhere

# --- Who scans -------------------------------------------------------------------------------------------------------


def test_verify_is_for_customers(api, brand):
    assert error(api.verify(factories.code(brand))) == (401, "AUTHENTICATION_REQUIRED")
    assert not Scan.objects.exists()


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


def test_customer_scans_for_nobody_else(customer_api, brand):
    assert error(scan(customer_api, factories.code(brand), customer_id=str(factories.customer(brand).pk))) == (
        403,
        "FORBIDDEN",
    )


@pytest.mark.parametrize("keyed", ["app", "guest"])
def test_guests_word_for_who_they_are_is_not_believed(api, brand, customer, keyed):
    body = scan(getattr(api, keyed)(), factories.code(brand), customer_id=str(customer.pk)).json()

    assert body["points_status"] == "guest"
    assert Scan.objects.get().user is None


def test_token_and_key_must_be_of_one_brand(customer_api, brand):
    response = customer_api.hub(of=factories.brand()).verify(factories.code(brand))

    assert error(response) == (403, "BRAND_MISMATCH")


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
