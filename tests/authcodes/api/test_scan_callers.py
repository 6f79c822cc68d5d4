"""Who may scan over HTTP, for which customer, and how often."""

from dataclasses import replace

import pytest

from authcodes.models.scans import Scan
from tests.authcodes.api.conftest import scan, validate
from tests.support import factories
from tests.support.api import error, random_address

# --- Callers ---------------------------------------------------------------------------------------------------------


def test_verify_needs_a_customers_token(api, brand):
    assert error(api.verify(factories.code(brand))) == (401, "AUTHENTICATION_REQUIRED")
    assert not Scan.objects.exists()


def test_hub_scans_for_its_customers(api, brand, customer, deliver_events):
    body = scan(api.hub(), factories.code(brand), customer_id=str(customer.pk)).json()
    deliver_events()

    assert body["points_status"] == "pending"
    assert factories.account(customer, brand).points == 10


@pytest.mark.parametrize("customer_id", ["-1", "x", "1.0", "٣", "1 2", "9" * 19])
def test_malformed_customer_id_is_rejected(api, brand, customer_id):
    assert error(scan(api.hub(), factories.code(brand), customer_id=customer_id)) == (400, "VALIDATION_ERROR")
    assert not Scan.objects.exists()


def test_hub_cannot_scan_for_customers_of_another_brand(api, brand):
    response = scan(api.hub(), factories.code(brand), customer_id=str(factories.customer(factories.brand()).pk))

    assert error(response) == (404, "USER_NOT_FOUND")


def test_customer_cannot_scan_for_another_customer(customer_api, brand):
    assert error(scan(customer_api, factories.code(brand), customer_id=str(factories.customer(brand).pk))) == (
        403,
        "FORBIDDEN",
    )


@pytest.mark.parametrize("caller", ["app", "guest"])
def test_customer_id_sent_by_a_guest_is_ignored(api, brand, customer, caller):
    body = scan(getattr(api, caller)(), factories.code(brand), customer_id=str(customer.pk)).json()

    assert body["points_status"] == "guest"
    assert Scan.objects.get().user is None


def test_token_and_key_must_be_of_the_same_brand(customer_api, brand):
    response = customer_api.hub(brand=factories.brand()).verify(factories.code(brand))

    assert error(response) == (403, "BRAND_MISMATCH")


# --- Rate limits -----------------------------------------------------------------------------------------------------


def test_sixty_first_validation_in_a_minute_is_rejected(api, settings):
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


def test_limit_of_unknown_codes_holds_for_all_accounts_of_an_address(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code_address": "3/hour"}
    customers = [api.as_customer(factories.customer(brand)) for _ in range(4)]

    answers = [scan(caller, "T-404") for caller in customers]

    assert [answer.status_code for answer in answers] == [400, 400, 400, 429]
    assert error(customers[3].verify(factories.code(brand))) == (429, "RATE_LIMITED")
    assert replace(customers[3], address=random_address()).verify(factories.code(brand)).status_code == 200
    assert scan(api.hub(), factories.code(brand)).status_code == 200


def test_every_invalid_code_counts_towards_the_lockout(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}
    expired = factories.expired_code(brand)

    assert [scan(api, expired).status_code for _ in range(5)] == [400, 400, 400, 429, 429]
