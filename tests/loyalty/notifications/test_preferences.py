"""Notification preferences of a customer: defaults, changes, and what cannot be switched off."""

import pytest
from django.utils import timezone

from core.errors import Invalid
from loyalty.notifications import preferences
from tests.support import factories

pytestmark = pytest.mark.django_db


def change(customer, brand, **changes):
    return preferences.change(customer.pk, brand.pk, at=timezone.now(), **changes)


def test_all_notifications_are_on_by_default(customer, brand):
    stored = preferences.read(customer.pk, brand.pk)

    assert (stored.language, stored.phone) == ("", "")
    assert stored.switches() == {
        topic: {"email": True, "sms": True, "push": True} for topic in ("points", "offers", "safety")
    }


def test_change_keeps_preferences_that_it_does_not_name(customer, brand):
    change(customer, brand, language="ar", phone="+49 (30) 123-456", switches={"points": {"sms": False}})
    change(customer, brand, switches={"points": {"push": False}, "offers": {"email": False}})
    change(customer, brand, switches={"points": {"push": True}})

    stored = preferences.read(customer.pk, brand.pk)

    assert (stored.language, stored.phone) == ("ar", "+4930123456")
    assert stored.opted_out == {"points/sms", "offers/email"}


def test_language_and_phone_can_be_cleared(customer, brand):
    change(customer, brand, language="de", phone="+4930123456")

    stored = change(customer, brand, language="", phone="")

    assert (stored.language, stored.phone) == ("", "")


def test_preferences_are_separate_for_each_brand(customer, brand):
    other_brand = factories.brand()
    change(customer, brand, switches={"points": {"email": False}})

    assert preferences.read(customer.pk, other_brand.pk).allows("points", "email")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"language": "tlh"}, "language"),
        ({"phone": "030 123456"}, "phone"),
        ({"phone": "+49"}, "phone"),
        ({"phone": "+4930123456\n"}, "phone"),
        ({"phone": "+" + "1" * 16}, "phone"),
        ({"switches": {"gossip": {"email": False}}}, "notifications"),
        ({"switches": {"points": {"fax": False}}}, "notifications"),
        ({"switches": {"safety": {"email": False}}}, "notifications"),
    ],
)
def test_invalid_preferences_are_rejected_and_change_nothing(customer, brand, changes, field):
    with pytest.raises(Invalid) as error:
        change(customer, brand, **changes)

    assert error.value.details["field"] == field
    assert preferences.read(customer.pk, brand.pk) == preferences.Preferences()


def test_recalls_can_be_switched_off_except_by_email(customer, brand):
    stored = change(customer, brand, switches={"safety": {"sms": False, "push": False, "email": True}})

    assert stored.switches()["safety"] == {"email": True, "sms": False, "push": False}


def test_opting_out_of_everything_leaves_recalls_by_email(customer, brand):
    topics = ["points", "offers", "safety"]

    stored = preferences.opt_out(customer.pk, brand.pk, channel="email", topics=topics, at=timezone.now())

    assert stored.opted_out == {"points/email", "offers/email"}
    assert stored.allows("safety", "email")


def test_preferences_can_be_erased(customer, brand):
    change(customer, brand, phone="+4930123456")

    preferences.erase(customer.pk, brand.pk)

    assert preferences.read(customer.pk, brand.pk).phone == ""
