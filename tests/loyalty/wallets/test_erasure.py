"""A person is erased: devices are turned away, and Google's object is over and names nobody."""

import json

from django.utils import timezone

from brands.audit_log import AuditContext
from events import publishing
from loyalty.members import erasure
from loyalty.models.wallets import Platform, WalletDevice, WalletPass
from loyalty.wallets import passes
from tests.support.fakes import wallets


def erase(account):
    return erasure.erase(
        user_id=account.user_id, brand_id=account.brand_id, audit_context=AuditContext(None, timezone.now())
    )


def test_google_hears_that_the_object_is_over(brand, customer, account, google, deliver_wallets):
    customer.first_name = "Wilhelmina"
    customer.save()
    wallets.google(brand)
    held, _new = passes.issue(account=account, platform=Platform.GOOGLE, at=timezone.now())
    changed = passes.bump_versions(passes=[held.pk], brand_id=brand.pk, at=timezone.now())
    publishing.publish(messages=changed, brand_id=brand.pk, at=timezone.now())
    deliver_wallets()
    assert "Wilhelmina" in json.dumps(google.objects())

    erase(account)
    deliver_wallets()

    assert [each["state"] for each in google.objects()] == ["EXPIRED"]
    assert "Wilhelmina" not in json.dumps(google.objects())


def test_apples_device_is_turned_away(api, held, account):
    address = f"/wallets/apple/v1/passes/{wallets.PASS_TYPE}/{held.serial}"
    pass_api = api.having(authorization=f"ApplePass {held.token}")
    assert pass_api.get(address).status_code == 200

    erase(account)

    assert pass_api.get(address).status_code == 401
    assert not WalletDevice.objects.exists()
    assert WalletPass.objects.get().state == WalletPass.State.REMOVED
