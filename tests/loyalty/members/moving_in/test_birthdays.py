"""A customer's birthday, without its year: in the profile, the brand's API, imports, exports and erasures."""

import json

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from core import personal_data
from events.models import Event
from loyalty.members import erasure
from loyalty.models.members.birthdays import Birthday
from loyalty.models.programme.referrals import Referral, ReferralCode
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.points import birthdays
from tests.support import factories, referrals
from tests.support.imports import import_file, preview
from tests.support.portal import text

pytestmark = pytest.mark.django_db


def patch(caller, path, body):
    return caller.call("PATCH", path, data=json.dumps(body).encode())


def profile_of(api, customer):
    return api.as_customer(customer).get("customer/profile").json()["data"]


def test_customer_sets_and_clears_their_birthday(api, brand, customer):
    customer_api = api.as_customer(customer)
    assert profile_of(api, customer)["birthday"] == ""

    assert patch(customer_api, "customer/profile", {"birthday": "1990-12-31"}).json()["data"]["birthday"] == "12-31"
    assert profile_of(api, customer)["birthday"] == "12-31"
    assert patch(customer_api, "customer/profile", {"first_name": "Ada"}).json()["data"]["birthday"] == "12-31"
    assert patch(customer_api, "customer/profile", {"birthday": ""}).json()["data"]["birthday"] == ""
    assert not Birthday.objects.exists()


def test_invalid_birthday_is_rejected_and_changes_nothing(api, brand, customer):
    answer = patch(api.as_customer(customer), "customer/profile", {"birthday": "02-30", "first_name": "Ada"})

    assert answer.status_code == 400
    assert list(answer.json()["details"]["fields"]) == ["birthday"]
    assert profile_of(api, customer)["first_name"] != "Ada"


def test_setting_a_birthday_completes_a_profile_field(api, brand, customer):
    patch(api.as_customer(customer), "customer/profile", {"birthday": "12-31"})

    event = Event.objects.get(detail_type="log-user-profile-update")
    assert event.detail["payload"]["completedFields"] == ["birthday"]


def test_birthday_is_unknown_to_other_brands(api, brand, customer):
    other_brand = factories.brand()
    patch(api.as_customer(customer), "customer/profile", {"birthday": "12-31"})

    assert birthdays.read(customer.pk, other_brand.pk) == ""


def test_hub_reads_and_changes_a_birthday(api, brand, customer):
    WebhookEndpoint.objects.create(brand=brand, url="https://hooks.example.com", types=["member.changed"])
    hub = api.hub()
    changed = patch(hub, f"brand/members/{customer.pk}", {"birthday": "1990-05-01", "reason": "From our shop"})

    assert changed.json()["data"]["birthday"] == "05-01"
    assert hub.get(f"brand/members/{customer.pk}").json()["data"]["birthday"] == "05-01"
    [row] = [each for each in hub.get("brand/members").json()["data"] if each["user_id"] == customer.pk]
    assert row["birthday"] == "05-01"
    entry = AuditLogEntry.objects.get(action="Birthday changed")
    assert entry.reason == "From our shop"
    assert "05-01" not in str(entry.changes)
    [data] = [event.detail["payload"]["data"] for event in Event.objects.filter(detail_type="announce")]
    assert data["changed"] == ["birthday"]


def test_hub_enrols_a_member_with_a_birthday(api, brand):
    newcomer = factories.customer(brand, enrolled=False)
    answer = api.hub().post("brand/members", {"user_id": newcomer.pk, "birthday": "05-01"})

    assert (answer.status_code, answer.json()["data"]["birthday"]) == (201, "05-01")


def test_import_sets_birthdays_of_new_members_only(brand, owner, customer):
    content = f"email,birthday\nnew@example.org,1990-05-01\n{customer.email},06-01\n"
    assert import_file(owner, "loyalty.userpoints", brand, content).status_code == 302

    assert str(Birthday.objects.get(user__email="new@example.org")) == "05-01"
    assert not Birthday.objects.filter(user=customer).exists()


def test_import_with_an_invalid_birthday_is_rejected(brand, owner):
    page = preview(owner, "loyalty.userpoints", brand, "email,birthday\nnew@example.org,31.12.\n")

    assert "Enter a day of the year" in text(page)


def test_birthday_and_referral_code_are_exported_and_erased(brand, customer):
    referrals.programme(brand)
    friend, _referral = referrals.referred_friend(customer, brand)
    birthdays.change(customer.pk, brand.pk, text="12-31", at=timezone.now())
    data = "".join(personal_data.parts(user_id=customer.pk, brand_id=brand.pk))

    assert '"month":12' in data.replace(" ", "")
    assert ReferralCode.objects.get().code in data
    assert friend.email not in data
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), ""))
    assert not Birthday.objects.exists()
    assert not ReferralCode.objects.exists()
    assert not User.objects.filter(email=customer.email).exists()
    assert Referral.objects.get().state == "waiting"  # the referral stays, without personal data


def test_referral_is_rejected_after_erasure_of_the_referrer(brand, customer):
    referrals.programme(brand)
    friend, referral = referrals.referred_friend(customer, brand)
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), ""))
    referrals.scan(friend, brand)
    referrals.settle()

    referral.refresh_from_db()
    assert (referral.state, referral.why) == ("rejected", "blocked")
