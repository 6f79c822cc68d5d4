"""Erasure of a customer: devices lose access, and the object at Google expires without personal data."""

import json

from django.utils import timezone

from brands.audit_log import AuditContext
from events import publishing
from loyalty.members import erasure
from loyalty.models.wallets import Platform, WalletDevice, WalletPass
from loyalty.wallets import passes
from loyalty.wallets.google import api as google_api
from tests.support.fakes import wallets


def erase(account):
    return erasure.erase(
        user_id=account.user_id, brand_id=account.brand_id, audit_context=AuditContext(None, timezone.now())
    )


def test_object_at_google_expires_without_the_customers_name(brand, customer, account, google, deliver_wallets):
    customer.first_name = "Wilhelmina"
    customer.save()
    wallets.google(brand)
    google_pass, _new = passes.issue(account=account, platform=Platform.GOOGLE, at=timezone.now())
    events = passes.bump_versions(passes=[google_pass.pk], brand_id=brand.pk, at=timezone.now())
    publishing.publish(messages=events, brand_id=brand.pk, at=timezone.now())
    deliver_wallets()
    assert "Wilhelmina" in json.dumps(google.objects())

    erase(account)
    deliver_wallets()

    assert [card["state"] for card in google.objects()] == ["EXPIRED"]
    assert "Wilhelmina" not in json.dumps(google.objects())


def test_pass_remains_removed_if_its_member_is_erased_during_an_update(
    brand, account, google, deliver_wallets, monkeypatch
):
    """The erasure drops the update's event, so the update's result is rolled back."""
    wallets.google(brand)
    google.saved = True
    passes.issue(account=account, platform=Platform.GOOGLE, at=timezone.now())
    passes.refresh_all(brand_id=brand.pk, at=timezone.now())
    call = google_api.call

    def erase_during_call(method, path, content, keys):
        answer = call(method, path, content, keys)
        if path == "loyaltyObject":
            erase(account)
        return answer

    monkeypatch.setattr(google_api, "call", erase_during_call)
    deliver_wallets()
    WalletPass.objects.update(busy_until=timezone.now())  # the lease of the dropped update has ended
    deliver_wallets()

    assert WalletPass.objects.get().state == WalletPass.State.REMOVED
    assert passes.refresh_all(brand_id=brand.pk, at=timezone.now()) == 0
    assert [card["state"] for card in google.objects()] == ["EXPIRED"]


def test_unexpected_error_while_an_object_expires_is_stored_by_its_type(
    brand, account, google, deliver_wallets, monkeypatch
):
    wallets.google(brand)
    passes.issue(account=account, platform=Platform.GOOGLE, at=timezone.now())

    def fail(*_arguments):
        raise ValueError("Wilhelmina")

    monkeypatch.setattr(google_api, "call", fail)
    erase(account)
    deliver_wallets()

    assert WalletPass.objects.get().last_error == "ValueError"


def test_rejected_expiry_is_stored_with_googles_answer(brand, account, google, deliver_wallets):
    wallets.google(brand)
    passes.issue(account=account, platform=Platform.GOOGLE, at=timezone.now())
    google.answer("loyaltyObject", 403, "no permission")

    erase(account)
    deliver_wallets()

    assert "no permission" in WalletPass.objects.get().last_error


def test_apple_device_loses_access_to_the_pass(api, apple_pass, account):
    address = f"/wallets/apple/v1/passes/{wallets.PASS_TYPE}/{apple_pass.serial}"
    pass_api = api.with_headers(authorization=f"ApplePass {apple_pass.token}")
    assert pass_api.get(address).status_code == 200

    erase(account)

    assert pass_api.get(address).status_code == 401
    assert not WalletDevice.objects.exists()
    assert WalletPass.objects.get().state == WalletPass.State.REMOVED
