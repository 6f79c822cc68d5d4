"""An owner who invites Nora."""

import pytest

from tests.brands.staff_login.signing_in import links_sent
from tests.support.portal import browser, staff

ADD = "/admin/staff_login/invitation/add/"
EMAIL = "nora@example.com"
NEW = "an0ther-pass-phrase"
PASSWORDS = {"password1": NEW, "password2": NEW}


@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


def invite(owner, brand, *, email=EMAIL, role="printer"):
    return browser(owner).post(ADD, {"brand": brand.pk, "email": email, "role": role})


def page_of(invitation, what):
    return f"/admin/staff_login/invitation/{invitation.pk}/{what}/"


def invited(owner, brand, **fields):
    """The link that the mail of a new invitation holds."""
    invite(owner, brand, **fields)
    return links_sent()[-1]
