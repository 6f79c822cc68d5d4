"""Pushes while the issuer's keys cannot be used: rejected by Apple, expired, or no longer readable."""

from datetime import timedelta

import pytest
from django.utils import timezone

from events.models import Event
from loyalty.models.wallets import WalletDevice, WalletIssuer, WalletPass
from loyalty.wallets import errors, issuers, passes
from tests.loyalty.wallets.test_refreshing import adjust, event_statuses
from tests.support.fakes import wallets


def test_rejected_key_is_an_error_of_the_issuer_and_is_retried(apple_pass, account, apns, deliver_wallets):
    WalletIssuer.objects.update(push_key_id="OTHERKEY12", push_key=wallets.pem(wallets.ec_key("other")).decode())

    adjust(account)
    deliver_wallets()

    assert "InvalidProviderToken" in WalletIssuer.objects.get().last_error
    assert ("refresh-pass", "pending") in event_statuses()
    assert WalletDevice.objects.count() == 1
    WalletIssuer.objects.update(push_key="", push_key_id="")
    deliver_wallets()
    assert (WalletIssuer.objects.get().last_error, apns.tokens) == ("", ["aaaaaaaaaaaa"])


def test_expired_certificate_is_not_retried_until_it_is_renewed(apple_pass, account, apns, deliver_wallets, brand):
    WalletIssuer.objects.update(expires_at=timezone.now() - timedelta(hours=1))

    adjust(account)
    deliver_wallets()

    event = Event.objects.get(detail_type="refresh-pass")
    assert (event.status, event.outcome["error"], event.outcome["details"]) == (
        "refused",
        "WALLET_UNAVAILABLE",
        {"reason": "expired"},
    )
    apple_pass.refresh_from_db()
    assert "expired" in apple_pass.last_error
    wallets.apple(brand)
    assert passes.refresh_all(brand_id=brand.pk, behind=True, at=timezone.now()) == 1
    deliver_wallets()
    assert apns.tokens == ["aaaaaaaaaaaa"]


def test_lost_storage_secret_delays_the_push_until_it_is_back(apple_pass, account, apns, deliver_wallets, settings):
    secrets = settings.STORAGE_SECRETS
    adjust(account)
    settings.STORAGE_SECRETS = {2: "t" * 32}
    deliver_wallets()

    assert Event.objects.get(detail_type="refresh-pass").status == "pending"
    with pytest.raises(errors.WalletUnavailable) as raised:
        issuers.usable(brand_id=account.brand_id, platform="apple", at=timezone.now())
    assert raised.value.details == {"reason": "unreadable"}
    failed = WalletPass.objects.defer("token").get()
    assert "STORAGE_SECRETS" in failed.last_error
    assert failed.failed_at is not None
    settings.STORAGE_SECRETS = secrets
    deliver_wallets()
    assert apns.tokens == ["aaaaaaaaaaaa"]
    assert WalletPass.objects.get().last_error == ""
