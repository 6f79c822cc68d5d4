"""A member whom staff correct, and the link that they are mailed."""

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
NEW = "ada.lovelace@example.com"


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
def shared(customer):
    """Another brand of which the customer is a member too."""
    other = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=timezone.now())
    return other


@pytest.fixture
def mailed(box, work):
    """Recipient, text and link's token of each mail."""

    def read_mails():
        work()
        texts = [(mail["To"], next(mail.iter_parts()).get_content()) for mail in box.mails]
        return [(to, text, (LINK.search(text) or [None, None, None])[2]) for to, text in texts]

    return read_mails


def page(member, what):
    return reverse(
        f"admin:loyalty_userpoints_{ {'name': 'correct_name', 'address': 'change_address'}[what] }", args=[member.pk]
    )


def ask_for(member, person, email=NEW, **more):
    return browser(person).post(page(member, "address"), {"email": email, "reason": "Ticket 12", **more})
