"""Corrections of names: by a brand's staff and hubs, for that brand, with a reason, and gone with the person."""

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
from tests.loyalty.members.account_mail.corrections.conftest import NEW, ask_for, page
from tests.support import factories
from tests.support.api import error
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def correct_name(member, person, first="Augusta", last="King", **more):
    form_data = {"first_name": first, "last_name": last, "reason": "As on her card", **more}
    return browser(person).post(page(member, "name"), form_data)


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_correct_a_name_and_say_why(brand, customer, member, role):
    User.objects.filter(pk=customer.pk).update(first_name="Adda")
    person = staff(brand, role=role)

    assert correct_name(member, person).status_code == 302

    entry = AuditLogEntry.objects.get(action="Name corrected")
    assert entry.changes == {"first_name": ["Adda", "Augusta"], "last_name": [None, "King"]}
    assert (entry.user, entry.reason, entry.brand) == (person, "As on her card", brand)
    assert "Augusta King" in text(browser(person).get(reverse("admin:loyalty_userpoints_change", args=[member.pk])))


def test_without_a_reason_nothing_is_corrected(brand, member):
    assert correct_name(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert ask_for(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert not AuditLogEntry.objects.filter(action="Name corrected").exists()
    assert not EmailConfirmation.objects.exists()


def test_printers_and_other_brands_correct_nobody(brand, member):
    for person in (staff(brand, role="printer"), staff(factories.brand())):
        assert correct_name(member, person).status_code in {403, 404, 302}
        assert ask_for(member, person).status_code in {403, 404, 302}
    member.refresh_from_db()
    assert member.first_name is None
    assert not EmailConfirmation.objects.exists()


def test_a_name_is_corrected_for_one_brand_alone(api, brand, customer, member, shared):
    User.objects.filter(pk=customer.pk).update(first_name="Ada")
    correct_name(member, staff(brand))

    customer.refresh_from_db()
    assert customer.first_name == "Ada"
    assert accounts.names_of(customer, brand.pk) == ("Augusta", "King")
    assert accounts.names_of(customer, shared.pk) == ("Ada", "")
    assert list(AuditLogEntry.objects.filter(action="Name corrected").values_list("brand", flat=True)) == [brand.pk]
    seen_there = text(
        browser(staff(shared)).get(
            reverse("admin:loyalty_userpoints_change", args=[customer.points_rows.get(brand=shared).pk])
        )
    )
    assert "Augusta" not in seen_there


def test_the_customers_own_name_counts_again_when_they_write_it(api, brand, customer, member, shared):
    correct_name(member, staff(brand))
    own = api.as_customer(customer)
    assert own.get("customer/profile").json()["data"]["first_name"] == "Augusta"

    own.call("PATCH", "customer/profile", data=b'{"first_name": "Ada"}')

    assert own.get("customer/profile").json()["data"]["first_name"] == "Ada"
    customer.refresh_from_db()
    assert accounts.names_of(customer, brand.pk) == ("Ada", "King")
    assert (customer.first_name, customer.last_name) == ("Ada", "")  # what only the brand wrote stays the brand's
    assert accounts.names_of(customer, shared.pk) == ("Ada", "")


def test_a_name_that_a_form_sends_back_as_shown_changes_no_other_brands(api, brand, customer, member, shared):
    User.objects.filter(pk=customer.pk).update(first_name="Ada", last_name="King")
    there = customer.points_rows.get(brand=shared)
    correct_name(there, staff(shared), first="Adelaide")
    correct_name(member, staff(brand), first="Buy at brand A")
    own = api.as_customer(customer)
    shown = own.get("customer/profile").json()["data"]

    sent_back = {"first_name": shown["first_name"], "last_name": shown["last_name"], "language": "de"}
    own.call("PATCH", "customer/profile", data=json.dumps(sent_back).encode())

    customer.refresh_from_db()
    assert (customer.first_name, customer.last_name) == ("Ada", "King")
    assert accounts.names_of(customer, brand.pk) == ("Buy at brand A", "King")
    assert accounts.names_of(customer, shared.pk) == ("Adelaide", "King")


def test_a_hub_corrects_its_own_members(api, brand, own, customer, member, mailed):
    payload = {"first_name": "Augusta", "email": NEW, "reason": "CRM"}
    answer = api.hub().call("PATCH", f"members/{customer.pk}", data=json.dumps(payload).encode())

    assert answer.status_code == 200, answer.json()
    assert answer.json()["data"]["first_name"] == "Augusta"
    assert answer.json()["data"]["unconfirmed_email"] == NEW
    stranger = factories.customer(factories.brand())
    body = b'{"first_name": "X", "reason": "y"}'
    assert error(api.hub().call("PATCH", f"members/{stranger.pk}", data=body)) == (404, "USER_NOT_FOUND")
    assert error(api.app().call("PATCH", f"members/{customer.pk}", data=body)) == (403, "FORBIDDEN")


def test_a_hub_changes_one_members_name_a_few_times_a_day(api, brand, customer, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "name_correction": "2/day"}
    hub, neighbour = api.hub(), factories.customer(brand)

    def name(person, first):
        body = json.dumps({"first_name": first, "reason": "CRM"}).encode()
        return hub.call("PATCH", f"members/{person.pk}", data=body)

    assert [name(customer, first).status_code for first in ("Augusta", "Augusta", " Augusta ", "Byron")] == [200] * 4
    assert error(name(customer, "Ada")) == (429, "RATE_LIMITED")
    assert name(customer, "Byron").status_code == 200
    accounts.enrol(user_id=neighbour.pk, brand_id=brand.pk, at=timezone.now())
    assert name(neighbour, "Ada").status_code == 200


def test_an_erasure_takes_corrections_along(brand, own, customer, member, shared):
    correct_name(member, staff(brand), reason="Augusta King called")
    ask_for(member, staff(brand))

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == (None, None)
    assert not EmailConfirmation.objects.exists()
    assert "Augusta" not in str(list(AuditLogEntry.objects.values_list("changes", "reason", "row_name")))


def test_who_was_erased_is_corrected_no_more(brand, customer, member):
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))
    with pytest.raises(errors.UserNotFound):
        corrections.correct_name(
            account=member, first_name="A", last_name="B", audit_context=AuditContext(None, timezone.now())
        )
