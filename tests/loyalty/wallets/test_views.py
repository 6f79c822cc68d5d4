"""The customer API for wallet passes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from tests.support import factories
from tests.support.api import error
from tests.support.fakes import wallets

PATHS = ["customer/wallet/apple", "customer/wallet/google"]


@pytest.fixture
def issuers(brand):
    wallets.apple(brand)
    wallets.google(brand)


@pytest.mark.parametrize("path", PATHS)
def test_guests_must_log_in(api, issuers, path):
    assert error(api.get(path)) == (401, "AUTHENTICATION_REQUIRED")


@pytest.mark.parametrize("path", PATHS)
def test_repeated_requests_of_a_member_create_one_pass(api, customer, issuers, path):
    for _ in range(3):
        assert api.as_customer(customer).get(path).status_code == 200

    assert WalletPass.objects.count() == 1


@pytest.mark.parametrize("path", PATHS)
def test_request_enrols_a_new_customer_if_the_brand_allows_it(api, brand, issuers, path):
    newcomer = factories.customer(brand, enrolled=False)

    assert api.as_customer(newcomer).get(path).status_code == 200
    assert UserPoints.objects.filter(user=newcomer, brand=brand).count() == 1


@pytest.mark.parametrize("path", PATHS)
def test_customer_who_is_not_enrolled_is_rejected_without_auto_enrolment(api, brand, issuers, path):
    brand.auto_enroll = False
    brand.save()
    newcomer = factories.customer(brand, enrolled=False)

    assert error(api.as_customer(newcomer).get(path)) == (422, "USER_NOT_ENROLLED")


@pytest.mark.parametrize("path", PATHS)
def test_blocked_member_gets_no_pass(api, customer, issuers, path):
    UserPoints.objects.update(status="blocked")

    assert error(api.as_customer(customer).get(path)) == (403, "MEMBER_BLOCKED")


@pytest.mark.parametrize("path", PATHS)
def test_wallet_is_unavailable_without_keys(api, customer, path):
    response = api.as_customer(customer).get(path)

    assert error(response) == (409, "WALLET_UNAVAILABLE")
    assert response.json()["details"] == {"reason": "not_configured"}
    assert WalletPass.objects.count() == 0


def test_keys_of_another_brand_are_not_used(api, customer):
    wallets.apple(factories.brand())

    assert error(api.as_customer(customer).get("customer/wallet/apple")) == (409, "WALLET_UNAVAILABLE")


def test_wallet_is_unavailable_with_an_expired_certificate(api, brand, customer, issuers):
    brand.wallet_issuers.filter(platform="apple").update(expires_at=timezone.now() - timedelta(seconds=1))

    response = api.as_customer(customer).get("customer/wallet/apple")

    assert error(response) == (409, "WALLET_UNAVAILABLE")
    assert response.json()["details"] == {"reason": "expired"}


def test_client_that_accepts_only_passes_gets_one(api, customer, issuers):
    customer_api = api.as_customer(customer).with_headers(accept="application/vnd.apple.pkpass")

    assert customer_api.get("customer/wallet/apple").status_code == 200
