"""Google Wallet: the save link, class and object by REST, and how often a customer is notified."""

from dataclasses import replace
from datetime import timedelta

import jwt
import pytest
from django.utils import timezone

from core.http import google_service_accounts
from events.models import Event
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletIssuer, WalletPass
from loyalty.wallets import issuers, passes
from loyalty.wallets.google import accounts
from tests.loyalty.wallets.test_refreshing import adjust, kinds, points_of
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.fakes.wallets import pem, rsa_key, service_account


@pytest.fixture
def kept(brand, account, google, deliver_wallets):
    """A pass that Google keeps."""
    wallets.google(brand)
    made, _new = passes.issue(account=account, platform="google", at=timezone.now())
    passes.refresh_all(brand_id=brand.pk, at=timezone.now())
    deliver_wallets()
    made.refresh_from_db()
    return made


@pytest.fixture
def link_of(api, customer):
    def get():
        answer = api.as_customer(customer).get("customer/wallet/google")
        assert answer.status_code == 200
        return answer.json()["data"]["save_url"]

    return get


def read(link):
    token = link.rpartition("/")[2]
    key = wallets.rsa_key("google").public_key()
    return jwt.decode(token, key, algorithms=["RS256"], audience="google", issuer=wallets.ACCOUNT)


def test_save_link_is_signed_and_brings_all_that_google_needs(brand, customer, account, link_of):
    factories.level(brand, "Silver", 100)
    wallets.google(brand)
    UserPoints.objects.filter(pk=account.pk).update(points=25, points_earned=25)

    link = link_of()

    claims = read(link)
    [card], [kind] = claims["payload"]["loyaltyObjects"], claims["payload"]["loyaltyClasses"]
    assert link.startswith("https://pay.google.com/gp/v/save/")
    assert len(link) < 2500
    assert claims["typ"] == "savetowallet"
    assert card["id"] == f"{wallets.ISSUER_ID}.{WalletPass.objects.get().serial.hex}"
    assert (card["classId"], kind["programName"]) == (kind["id"], brand.name)
    assert card["loyaltyPoints"]["balance"] == {"int": 25}
    assert [module["body"] for module in card["textModulesData"]] == ["Bronze", "75 points to Silver"]
    assert numbers.read(card["barcode"]["value"]) == account.pk


def test_asking_for_the_link_makes_class_and_object_at_google(brand, google, link_of, deliver_wallets):
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


def test_logo_of_the_class_can_be_fetched(api, brand, google, kept):
    address = google.kept[f"loyaltyClass/{wallets.ISSUER_ID}.brand-{brand.pk}"]["programLogo"]["sourceUri"]["uri"]

    answer = api.get("/" + address.split("/", 3)[3])

    assert (answer.status_code, answer["Content-Type"], answer.content[:4]) == (200, "image/png", b"\x89PNG")
    assert api.get(f"/wallets/logos/{brand.pk}/{'0' * 16}.png").status_code == 404
    assert api.get("/wallets/logos/999999/x.png").status_code == 404


def test_a_change_is_patched_once_per_burst(kept, account, google, deliver_wallets):
    google.saved = True
    before = len(google.calls)
    for _ in range(5):
        adjust(account)
    deliver_wallets()

    kept.refresh_from_db()
    assert len(google.calls) == before + 1
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 50}
    assert (kept.current_version, kept.pushed_version, kept.state) == (kept.version, kept.version, "held")
    assert google.grants == 1


def test_customer_is_notified_three_times_a_day_and_silently_updated_after(kept, account, google, deliver_wallets):
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


def test_refused_call_has_notified_nobody_and_counts_not(kept, account, google, deliver_wallets):
    google.answer("loyaltyObject", 503, times=4)
    adjust(account)
    for _ in range(5):
        deliver_wallets()

    kept.refresh_from_db()
    assert len(kept.notified_at) == 1
    assert google.sent("loyaltyObject")[-1]["notifyPreference"] == "NOTIFY_ON_UPDATE"


def test_googles_own_quota_makes_the_update_silent(kept, account, google, deliver_wallets):
    google.answer("loyaltyObject", 403, "QuotaExceededException")
    adjust(account)
    deliver_wallets()

    assert "notifyPreference" not in google.sent("loyaltyObject")[-1]
    assert google.objects()[0]["loyaltyPoints"]["balance"] == {"int": 10}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_google_cannot_take_now_is_tried_again_alone(kept, account, google, deliver_wallets, status):
    google.answer("loyaltyObject", status)
    adjust(account, 25)
    deliver_wallets()

    kept.refresh_from_db()
    assert str(status) in kept.last_error
    assert ("refresh-pass", "pending") in kinds()
    assert points_of(account) == 25
    deliver_wallets()
    kept.refresh_from_db()
    assert (kept.last_error, kept.pushed_version) == ("", kept.version)


def test_a_token_that_ended_early_is_replaced(kept, account, google, deliver_wallets):
    google.tokens = {"another"}
    adjust(account)
    deliver_wallets()

    assert (google.grants, google.objects()[0]["loyaltyPoints"]["balance"]) == (2, {"int": 10})


def test_who_knows_a_brands_address_and_key_id_gets_no_token_of_theirs(google):
    own = accounts.read(service_account(), wallets.ISSUER_ID).account
    forged = replace(own, private_key=pem(rsa_key("somebody else")).decode())
    google_service_accounts.access_token(own, scope=accounts.SCOPE)

    with pytest.raises(google_service_accounts.NotGranted):
        google_service_accounts.access_token(forged, scope=accounts.SCOPE)

    assert google.grants == 1


def test_account_that_google_does_not_know_is_told_to_staff(brand, account, google, deliver_wallets):
    wallets.google(brand)
    google.answer("token", 400, "invalid_grant")
    passes.issue(account=account, platform="google", at=timezone.now())
    passes.refresh_all(brand_id=brand.pk, at=timezone.now())
    deliver_wallets()

    assert "no token" in WalletIssuer.objects.get().last_error
    assert ("refresh-pass", "pending") in kinds()
    deliver_wallets()
    assert (WalletIssuer.objects.get().last_error, len(google.objects())) == ("", 1)


def test_new_look_reaches_the_class_once(kept, brand, google, deliver_wallets):
    brand.colour_background = "#0a0b0c"
    brand.save()
    issuers.change_design(brand_id=brand.pk)
    for _ in range(2):
        passes.refresh_all(brand_id=brand.pk, at=timezone.now())
        deliver_wallets()

    assert [body["hexBackgroundColor"] for body in google.sent("loyaltyClass")] == ["#ffffff", "#0a0b0c"]
