"""A member whose data staff correct, and the mails with the confirmation link."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from loyalty.models.accounts import UserPoints
from loyalty.points import accounts
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.portal import browser

LINK = re.compile(r"http://(\S+)/email/change/(\S+)")
NEW_EMAIL = "ada.lovelace@example.com"


@pytest.fixture(autouse=True)
def any_host(settings):
    settings.ALLOWED_HOSTS = ["*"]


@pytest.fixture
def customer(customer):
    customer.set_password(PASSWORD)
    customer.save()
    return customer


@pytest.fixture
def member(customer, brand):
    return UserPoints.objects.get(user=customer, brand=brand)


@pytest.fixture
def other_brand(customer):
    """Another brand of which the customer is a member too."""
    other_brand = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=other_brand.pk, at=timezone.now())
    return other_brand


@pytest.fixture
def read_mails(box, work):
    """Reads the recipient, text and link's token of each mail."""

    def read():
        work()
        texts = [(mail["To"], next(mail.iter_parts()).get_content()) for mail in box.mails]
        return [(to, text, (LINK.search(text) or [None, None, None])[2]) for to, text in texts]

    return read


def page(member, field):
    return reverse(
        f"admin:loyalty_userpoints_{ {'name': 'correct_name', 'address': 'change_address'}[field] }", args=[member.pk]
    )


def request_address_change(member, user, email=NEW_EMAIL, **more):
    return browser(user).post(page(member, "address"), {"email": email, "reason": "Ticket 12", **more})
