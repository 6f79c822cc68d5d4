"""Google Wallet: the save link, class and object by REST, and how often a customer is notified."""

from dataclasses import replace
from datetime import timedelta

import jwt
import pytest
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from core.http import google_service_accounts
from events.models import Event
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.wallets import WalletIssuer, WalletPass
from loyalty.wallets import issuers, passes
from loyalty.wallets.google import issuer_keys
from loyalty.wallets.google.api import SCOPE
from tests.loyalty.wallets.test_refreshing import adjust, event_statuses, points_of
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.fakes.wallets import pem, rsa_key, service_account


@pytest.fixture
def google_pass(brand, account, google, deliver_wallets):
    """A pass whose object exists at Google."""
    wallets.google(brand)
    issued, _new = passes.issue(account=account, platform="google", at=timezone.now())
    passes.refresh_all(brand_id=brand.pk, at=timezone.now())
    deliver_wallets()
    issued.refresh_from_db()
    return issued


@pytest.fixture
def link_of(api, customer):
    def request_link():
        response = api.as_customer(customer).get("customer/wallet/google")
        assert response.status_code == 200
        return response.json()["data"]["save_url"]

    return request_link


def read(link):
    token = link.rpartition("/")[2]
    key = wallets.rsa_key("google").public_key()
    return jwt.decode(token, key, algorithms=["RS256"], audience="google", issuer=wallets.ACCOUNT)


def test_save_link_is_signed_and_contains_class_and_object(brand, customer, account, link_of):
    factories.level(brand, "Silver", 100)
    wallets.google(brand)
    UserPoints.objects.filter(pk=account.pk).update(points=25, points_earned=25)

    link = link_of()

    claims = read(link)
    [object_data], [class_data] = claims["payload"]["loyaltyObjects"], claims["payload"]["loyaltyClasses"]
    assert link.startswith("https://pay.google.com/gp/v/save/")
    assert len(link) < 2500
    assert claims["typ"] == "savetowallet"
    assert object_data["id"] == f"{wallets.ISSUER_ID}.{WalletPass.objects.get().serial.hex}"
    assert (object_data["classId"], class_data["programName"]) == (class_data["id"], brand.name)
    assert object_data["loyaltyPoints"]["balance"] == {"int": 25}
    assert [module["body"] for module in object_data["textModulesData"]] == ["Bronze", "75 points to Silver"]
    assert numbers.read(object_data["barcode"]["value"]) == account.pk


def test_requesting_the_link_creates_class_and_object_at_google(brand, google, link_of, deliver_wallets):
    wallets.google(brand)

    link_of()
    deliver_wallets()

    assert [(method, status) for method, _path, status in google.calls] == [
        ("PATCH", 404),
        ("POST", 200),
        ("PATCH", 404),
        ("POST", 200),
    ]
    assert google.objects()[0]["state"] == "ACTIVE"
    assert "loyaltyClasses" not in read(link_of())["payload"]
    assert Event.objects.filter(detail_type="refresh-pass").count() == 1


def test_logo_of_the_class_can_be_downloaded(api, brand, google, google_pass):
    address = google.resources[f"loyaltyClass/{wallets.ISSUER_ID}.brand-{brand.pk}"]["programLogo"]["sourceUri"]["uri"]

    response = api.get("/" + address.split("/", 3)[3])

    assert (response.status_code, response["Content-Type"], response.content[:4]) == (200, "image/png", b"\x89PNG")
    assert api.get(f"/wallets/logos/{brand.pk}/{'0' * 16}.png").status_code == 404
    assert api.get("/wallets/logos/999999/x.png").status_code == 404


def test_burst_of_changes_is_patched_once(google_pass, account, google, deliver_wallets):
    google.saved = True
    before = len(google.calls)
    for _ in range(5):
        adjust(account)
    deliver_wallets()

    google_pass.refresh_from_db()
    assert len(google.calls) == before + 1
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 50}
    assert (google_pass.current_version, google_pass.pushed_version, google_pass.state) == (
        google_pass.version,
        google_pass.version,
        "held",
    )
    assert google.grants == 1


def test_customer_is_notified_at_most_three_times_a_day(google_pass, account, google, deliver_wallets):
    for _ in range(5):
        adjust(account)
        deliver_wallets()

    notify_preferences = [body.get("notifyPreference") for body in google.sent("loyaltyObject")]
    assert notify_preferences == [None, *["NOTIFY_ON_UPDATE"] * 3, None, None]
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 50}
    yesterday = (timezone.now() - timedelta(hours=25)).isoformat()
    WalletPass.objects.update(notified_at=[yesterday] * 3)
    adjust(account)
    deliver_wallets()
    assert google.sent("loyaltyObject")[-1]["notifyPreference"] == "NOTIFY_ON_UPDATE"


def test_failed_call_does_not_count_as_a_notification(google_pass, account, google, deliver_wallets):
    google.answer("loyaltyObject", 503, times=4)
    adjust(account)
    for _ in range(5):
        deliver_wallets()

    google_pass.refresh_from_db()
    assert len(google_pass.notified_at) == 1
    assert google.sent("loyaltyObject")[-1]["notifyPreference"] == "NOTIFY_ON_UPDATE"


def test_update_is_repeated_silently_when_googles_quota_is_exceeded(google_pass, account, google, deliver_wallets):
    google.answer("loyaltyObject", 403, "QuotaExceededException")
    adjust(account)
    deliver_wallets()

    assert "notifyPreference" not in google.sent("loyaltyObject")[-1]
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 10}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_temporary_error_of_google_is_retried_without_affecting_the_points(
    google_pass, brand, customer, account, google, deliver_events, deliver_wallets, status
):
    google.answer("loyaltyObject", status)
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()
    deliver_wallets()

    google_pass.refresh_from_db()
    assert str(status) in google_pass.last_error
    assert event_statuses()[-3:] == [("scan-auth", "done"), ("balance-changed", "done"), ("refresh-pass", "pending")]
    deliver_events()
    deliver_wallets()
    google_pass.refresh_from_db()
    assert (google_pass.last_error, google_pass.pushed_version) == ("", google_pass.version)
    assert (points_of(account), LoyaltyTransaction.objects.count()) == (10, 1)
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 10}


def test_token_that_expired_early_is_replaced(google_pass, account, google, deliver_wallets):
    google.tokens = {"another"}
    adjust(account)
    deliver_wallets()

    assert (google.grants, google.objects()[0]["loyaltyPoints"]["balance"]) == (2, {"int": 10})


def test_forged_key_with_the_same_address_and_key_id_gets_no_token(google):
    own = issuer_keys.read(service_account(), wallets.ISSUER_ID).account
    forged = replace(own, private_key=pem(rsa_key("somebody else")).decode())
    google_service_accounts.access_token(own, scope=SCOPE)

    with pytest.raises(google_service_accounts.NotGranted):
        google_service_accounts.access_token(forged, scope=SCOPE)

    assert google.grants == 1


def test_service_account_unknown_to_google_is_an_error_of_the_issuer(brand, account, google, deliver_wallets):
    wallets.google(brand)
    google.answer("token", 400, "invalid_grant")
    passes.issue(account=account, platform="google", at=timezone.now())
    passes.refresh_all(brand_id=brand.pk, at=timezone.now())
    deliver_wallets()

    assert "no token" in WalletIssuer.objects.get().last_error
    assert ("refresh-pass", "pending") in event_statuses()
    deliver_wallets()
    assert (WalletIssuer.objects.get().last_error, len(google.objects())) == ("", 1)


def test_changed_design_is_sent_to_the_class_once(google_pass, brand, google, deliver_wallets):
    brand.colour_background = "#0a0b0c"
    brand.save()
    issuers.change_design(brand_id=brand.pk)
    for _ in range(2):
        passes.refresh_all(brand_id=brand.pk, at=timezone.now())
        deliver_wallets()

    assert [body["hexBackgroundColor"] for body in google.sent("loyaltyClass")] == ["#ffffff", "#0a0b0c"]
