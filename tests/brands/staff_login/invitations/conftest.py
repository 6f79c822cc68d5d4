"""An owner, and invitations that they send to Nora."""

import pytest

from tests.brands.staff_login.signing_in import links_sent
from tests.support.portal import browser, staff

ADD = "/admin/staff_login/invitation/add/"
EMAIL = "nora@example.com"
NEW_PASSWORD = "an0ther-pass-phrase"
PASSWORDS = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


def invite(owner, brand, *, email=EMAIL, role="printer"):
    return browser(owner).post(ADD, {"brand": brand.pk, "email": email, "role": role})


def page_of(invitation, action):
    return f"/admin/staff_login/invitation/{invitation.pk}/{action}/"


def invitation_link(owner, brand, **fields):
    """Send an invitation, and return the link in its mail."""
    invite(owner, brand, **fields)
    return links_sent()[-1]
