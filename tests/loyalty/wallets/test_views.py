"""What a customer is answered who asks for a card."""

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
def offered(brand):
    wallets.apple(brand)
    wallets.google(brand)


@pytest.mark.parametrize("path", PATHS)
def test_guests_are_told_to_log_in(api, offered, path):
    assert error(api.get(path)) == (401, "AUTHENTICATION_REQUIRED")


@pytest.mark.parametrize("path", PATHS)
def test_a_member_has_one_pass_however_often_asked_for(api, customer, offered, path):
    for _ in range(3):
        assert api.as_customer(customer).get(path).status_code == 200

    assert WalletPass.objects.count() == 1


@pytest.mark.parametrize("path", PATHS)
def test_who_asks_for_a_card_joins_where_everybody_may(api, brand, offered, path):
    newcomer = factories.customer(brand, enrolled=False)

    assert api.as_customer(newcomer).get(path).status_code == 200
    assert UserPoints.objects.filter(user=newcomer, brand=brand).count() == 1


@pytest.mark.parametrize("path", PATHS)
def test_who_is_not_enrolled_is_refused_where_the_brand_enrols_by_hand(api, brand, offered, path):
    brand.auto_enroll = False
    brand.save()
    newcomer = factories.customer(brand, enrolled=False)

    assert error(api.as_customer(newcomer).get(path)) == (422, "USER_NOT_ENROLLED")


@pytest.mark.parametrize("path", PATHS)
def test_blocked_members_get_no_card(api, customer, offered, path):
    UserPoints.objects.update(status="blocked")

    assert error(api.as_customer(customer).get(path)) == (403, "MEMBER_BLOCKED")


@pytest.mark.parametrize("path", PATHS)
def test_brand_without_keys_offers_no_passes(api, customer, path):
    answer = api.as_customer(customer).get(path)

    assert error(answer) == (409, "WALLET_UNAVAILABLE")
    assert answer.json()["details"] == {"reason": "not_configured"}
    assert WalletPass.objects.count() == 0


def test_keys_of_another_brand_are_not_used(api, customer):
    wallets.apple(factories.brand())

    assert error(api.as_customer(customer).get("customer/wallet/apple")) == (409, "WALLET_UNAVAILABLE")


def test_ended_certificate_is_said(api, brand, customer, offered):
    brand.wallet_issuers.filter(platform="apple").update(expires_at=timezone.now() - timedelta(seconds=1))

    answer = api.as_customer(customer).get("customer/wallet/apple")

    assert error(answer) == (409, "WALLET_UNAVAILABLE")
    assert answer.json()["details"] == {"reason": "expired"}


def test_phone_that_takes_passes_only_gets_one(api, customer, offered):
    customer_api = api.as_customer(customer).having(accept="application/vnd.apple.pkpass")

    assert customer_api.get("customer/wallet/apple").status_code == 200
