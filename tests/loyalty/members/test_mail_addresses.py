"""E-mail addresses of customers: those that look valid but cannot receive mail are rejected on input."""

import json

import pytest
from django.urls import reverse

from brands.models.people import User
from loyalty.admin.members.resource import faults
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from tests.support.portal import browser, errors, staff

pytestmark = pytest.mark.django_db
UNSENDABLE = "=?utf-8?q?=0abcc?=@example.com"
ENCODED_WORD = "=?utf-8?q?ada?=@example.com"  # mail clients read it as ada@example.com
ERROR_MESSAGE = "No e-mail can be sent to this address. Check its spelling."


def is_rejected(answer):
    body = answer.json()
    assert body.get("error") == "VALIDATION_ERROR", (answer.status_code, body)
    return body["details"]["fields"] == {"email": [ERROR_MESSAGE]}


@pytest.mark.parametrize("email", [UNSENDABLE, ENCODED_WORD])
def test_registration_rejects_an_unsendable_address(api, brand, email):
    answer = api.post("auth/register", {"email": email, "password": "a long pass phrase", "brand_id": brand.pk})

    assert is_rejected(answer)
    assert not User.objects.filter(email=email).exists()


def test_customer_cannot_change_to_an_unsendable_address(api, customer):
    assert is_rejected(api.as_customer(customer).post("auth/email/change", {"email": UNSENDABLE}))
    assert not EmailConfirmation.objects.exists()


@pytest.mark.parametrize("path", ["members", "brand/members"])
def test_hub_cannot_change_a_member_to_an_unsendable_address(api, customer, path):
    payload = {"email": UNSENDABLE, "reason": "CRM"}

    assert is_rejected(api.hub().call("PATCH", f"{path}/{customer.pk}", data=json.dumps(payload).encode()))
    assert not EmailConfirmation.objects.exists()


def test_staff_cannot_change_a_member_to_an_unsendable_address(brand, customer):
    member = UserPoints.objects.get(user=customer, brand=brand)
    page = reverse("admin:loyalty_userpoints_change_address", args=[member.pk])

    answer = browser(staff(brand)).post(page, {"email": UNSENDABLE, "reason": "Ticket 12"})

    assert errors(answer) == {"email": [ERROR_MESSAGE]}
    assert not EmailConfirmation.objects.exists()


@pytest.mark.parametrize("email", [UNSENDABLE, ENCODED_WORD])
def test_import_rejects_an_unsendable_address(email):
    assert list(faults({"email": email})) == [("email", "Enter a valid e-mail address.")]
    assert list(faults({"email": "ada@example.com"})) == []
