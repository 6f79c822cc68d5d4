"""Corrections of names by a brand's staff and hub: for that brand only, with a reason, until the erasure."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from brands import errors
from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from loyalty.members import corrections, erasure
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from tests.loyalty.members.account_mail.corrections.conftest import NEW_EMAIL, page, request_address_change
from tests.support import factories
from tests.support.api import error
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def correct_name(member, user, first="Augusta", last="King", **more):
    form_data = {"first_name": first, "last_name": last, "reason": "As on her card", **more}
    return browser(user).post(page(member, "name"), form_data)


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_correct_a_name_with_a_reason(brand, customer, member, role):
    User.objects.filter(pk=customer.pk).update(first_name="Adda")
    user = staff(brand, role=role)

    assert correct_name(member, user).status_code == 302

    entry = AuditLogEntry.objects.get(action="Name corrected")
    assert entry.changes == {"first_name": ["Adda", "Augusta"], "last_name": [None, "King"]}
    assert (entry.user, entry.reason, entry.brand) == (user, "As on her card", brand)
    assert "Augusta King" in text(browser(user).get(reverse("admin:loyalty_userpoints_change", args=[member.pk])))


def test_correction_requires_a_reason(brand, member):
    assert correct_name(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert request_address_change(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert not AuditLogEntry.objects.filter(action="Name corrected").exists()
    assert not EmailConfirmation.objects.exists()


def test_printers_and_staff_of_other_brands_cannot_correct_members(brand, member):
    for user in (staff(brand, role="printer"), staff(factories.brand())):
        assert correct_name(member, user).status_code == 404
        assert request_address_change(member, user).status_code == 404
    member.refresh_from_db()
    assert member.first_name is None
    assert not EmailConfirmation.objects.exists()


def test_name_is_corrected_for_one_brand_only(api, brand, customer, member, other_brand):
    User.objects.filter(pk=customer.pk).update(first_name="Ada")
    correct_name(member, staff(brand))

    customer.refresh_from_db()
    assert customer.first_name == "Ada"
    assert accounts.names_of(customer, brand.pk) == ("Augusta", "King")
    assert accounts.names_of(customer, other_brand.pk) == ("Ada", "")
    assert list(AuditLogEntry.objects.filter(action="Name corrected").values_list("brand", flat=True)) == [brand.pk]
    other_page = text(
        browser(staff(other_brand)).get(
            reverse("admin:loyalty_userpoints_change", args=[customer.points_rows.get(brand=other_brand).pk])
        )
    )
    assert "Augusta" not in other_page


def test_change_by_the_customer_replaces_the_correction(api, brand, customer, member, other_brand):
    correct_name(member, staff(brand))
    customer_api = api.as_customer(customer)
    assert customer_api.get("customer/profile").json()["data"]["first_name"] == "Augusta"

    customer_api.call("PATCH", "customer/profile", data=b'{"first_name": "Ada"}')

    assert customer_api.get("customer/profile").json()["data"]["first_name"] == "Ada"
    customer.refresh_from_db()
    assert accounts.names_of(customer, brand.pk) == ("Ada", "King")
    assert (customer.first_name, customer.last_name) == ("Ada", "")  # the brand's last name stays at the brand
    assert accounts.names_of(customer, other_brand.pk) == ("Ada", "")


def test_resubmitting_the_displayed_name_changes_no_names(api, brand, customer, member, other_brand):
    User.objects.filter(pk=customer.pk).update(first_name="Ada", last_name="King")
    other_member = customer.points_rows.get(brand=other_brand)
    correct_name(other_member, staff(other_brand), first="Adelaide")
    correct_name(member, staff(brand), first="Buy at brand A")
    customer_api = api.as_customer(customer)
    current_profile = customer_api.get("customer/profile").json()["data"]

    sent_back = {
        "first_name": current_profile["first_name"],
        "last_name": current_profile["last_name"],
        "language": "de",
    }
    customer_api.call("PATCH", "customer/profile", data=json.dumps(sent_back).encode())

    customer.refresh_from_db()
    assert (customer.first_name, customer.last_name) == ("Ada", "King")
    assert accounts.names_of(customer, brand.pk) == ("Buy at brand A", "King")
    assert accounts.names_of(customer, other_brand.pk) == ("Adelaide", "King")


def test_hub_corrects_only_members_of_its_brand(api, brand, own, customer, member, read_mails):
    payload = {"first_name": "Augusta", "email": NEW_EMAIL, "reason": "CRM"}
    answer = api.hub().call("PATCH", f"members/{customer.pk}", data=json.dumps(payload).encode())

    assert answer.status_code == 200, answer.json()
    assert answer.json()["data"]["first_name"] == "Augusta"
    assert answer.json()["data"]["unconfirmed_email"] == NEW_EMAIL
    foreign_customer = factories.customer(factories.brand())
    body = b'{"first_name": "X", "reason": "y"}'
    assert error(api.hub().call("PATCH", f"members/{foreign_customer.pk}", data=body)) == (404, "USER_NOT_FOUND")
    assert error(api.app().call("PATCH", f"members/{customer.pk}", data=body)) == (403, "FORBIDDEN")


def test_name_corrections_by_the_hub_are_rate_limited_per_member(api, brand, customer, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "name_correction": "2/day"}
    hub, other_customer = api.hub(), factories.customer(brand)

    def change_name(user, first):
        body = json.dumps({"first_name": first, "reason": "CRM"}).encode()
        return hub.call("PATCH", f"members/{user.pk}", data=body)

    assert [change_name(customer, first).status_code for first in ("Augusta", "Augusta", " Augusta ", "Byron")] == [
        200
    ] * 4
    assert error(change_name(customer, "Ada")) == (429, "RATE_LIMITED")
    assert change_name(customer, "Byron").status_code == 200
    accounts.enrol(user_id=other_customer.pk, brand_id=brand.pk, at=timezone.now())
    assert change_name(other_customer, "Ada").status_code == 200


def test_erasure_deletes_corrections(brand, own, customer, member, other_brand):
    correct_name(member, staff(brand), reason="Augusta King called")
    request_address_change(member, staff(brand))

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == (None, None)
    assert not EmailConfirmation.objects.exists()
    assert "Augusta" not in str(list(AuditLogEntry.objects.values_list("changes", "reason", "row_name")))


def test_erased_member_cannot_be_corrected(brand, customer, member):
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))
    with pytest.raises(errors.UserNotFound):
        corrections.correct_name(
            account=member, first_name="A", last_name="B", audit_context=AuditContext(None, timezone.now())
        )
