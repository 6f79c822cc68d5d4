"""Addresses of customers: what has the form of one and no mail can be sent to is refused where it is typed."""

import json

import pytest
from django.urls import reverse

from brands.models.people import User
from loyalty.admin.members.resource import faults
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from tests.support.portal import browser, errors, staff

pytestmark = pytest.mark.django_db
BROKEN = "=?utf-8?q?=0abcc?=@example.com"
OTHERS = "=?utf-8?q?ada?=@example.com"  # mail programmes take it for ada@example.com
REFUSAL = "No e-mail can be sent to this address. Check its spelling."


def refused(answer):
    body = answer.json()
    assert body.get("error") == "VALIDATION_ERROR", (answer.status_code, body)
    return body["details"]["fields"] == {"email": [REFUSAL]}


@pytest.mark.parametrize("email", [BROKEN, OTHERS])
def test_nobody_registers_with_one(api, brand, email):
    answer = api.post("auth/register", {"email": email, "password": "a long pass phrase", "brand_id": brand.pk})

    assert refused(answer)
    assert not User.objects.filter(email=email).exists()


def test_no_customer_changes_to_one(api, customer):
    assert refused(api.as_customer(customer).post("auth/email/change", {"email": BROKEN}))
    assert not EmailConfirmation.objects.exists()


@pytest.mark.parametrize("path", ["members", "brand/members"])
def test_no_program_of_the_brand_changes_a_member_to_one(api, customer, path):
    payload = {"email": BROKEN, "reason": "CRM"}

    assert refused(api.hub().call("PATCH", f"{path}/{customer.pk}", data=json.dumps(payload).encode()))
    assert not EmailConfirmation.objects.exists()


def test_no_colleague_changes_a_member_to_one(brand, customer):
    member = UserPoints.objects.get(user=customer, brand=brand)
    page = reverse("admin:loyalty_userpoints_change_address", args=[member.pk])

    answer = browser(staff(brand)).post(page, {"email": BROKEN, "reason": "Ticket 12"})

    assert errors(answer) == {"email": [REFUSAL]}
    assert not EmailConfirmation.objects.exists()


@pytest.mark.parametrize("email", [BROKEN, OTHERS])
def test_no_file_brings_one_along(email):
    assert list(faults({"email": email})) == [("email", "Enter a valid e-mail address.")]
    assert list(faults({"email": "ada@example.com"})) == []
