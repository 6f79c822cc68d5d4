"""What a customer wants to hear: defaults, changes, and what cannot be switched off."""

import pytest
from django.utils import timezone

from core.errors import Invalid
from loyalty.notifications import preferences
from tests.support import factories

pytestmark = pytest.mark.django_db


def change(customer, brand, **changes):
    return preferences.change(customer.pk, brand.pk, at=timezone.now(), **changes)


def test_who_never_said_anything_wants_everything(customer, brand):
    found = preferences.read(customer.pk, brand.pk)

    assert (found.language, found.phone) == ("", "")
    assert found.switches() == {
        topic: {"email": True, "sms": True, "push": True} for topic in ("points", "offers", "safety")
    }


def test_a_change_keeps_what_it_does_not_name(customer, brand):
    change(customer, brand, language="ar", phone="+49 (30) 123-456", switches={"points": {"sms": False}})
    change(customer, brand, switches={"points": {"push": False}, "offers": {"email": False}})
    change(customer, brand, switches={"points": {"push": True}})

    found = preferences.read(customer.pk, brand.pk)

    assert (found.language, found.phone) == ("ar", "+4930123456")
    assert found.opted_out == {"points/sms", "offers/email"}


def test_a_language_and_a_number_can_be_taken_away(customer, brand):
    change(customer, brand, language="de", phone="+4930123456")

    found = change(customer, brand, language="", phone="")

    assert (found.language, found.phone) == ("", "")


def test_another_brand_is_told_something_else(customer, brand):
    other = factories.brand()
    change(customer, brand, switches={"points": {"email": False}})

    assert preferences.read(customer.pk, other.pk).allows("points", "email")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"language": "tlh"}, "language"),
        ({"phone": "030 123456"}, "phone"),
        ({"phone": "+49"}, "phone"),
        ({"phone": "+4930123456\n"}, None),
        ({"phone": "+" + "1" * 16}, "phone"),
        ({"switches": {"gossip": {"email": False}}}, "notifications"),
        ({"switches": {"points": {"fax": False}}}, "notifications"),
        ({"switches": {"safety": {"email": False}}}, "notifications"),
    ],
)
def test_what_cannot_be_wanted_is_refused_and_changes_nothing(customer, brand, changes, field):
    with pytest.raises(Invalid) as refusal:
        change(customer, brand, **changes)

    assert field in {None, refusal.value.details["field"]}
    assert preferences.read(customer.pk, brand.pk) == preferences.Preferences()


def test_recalls_can_be_switched_off_but_by_email(customer, brand):
    found = change(customer, brand, switches={"safety": {"sms": False, "push": False, "email": True}})

    assert found.switches()["safety"] == {"email": True, "sms": False, "push": False}


def test_opting_out_of_everything_leaves_recalls_by_email(customer, brand):
    topics = ["points", "offers", "safety"]

    found = preferences.opt_out(customer.pk, brand.pk, channel="email", topics=topics, at=timezone.now())

    assert found.opted_out == {"points/email", "offers/email"}
    assert found.allows("safety", "email")


def test_wishes_can_be_forgotten(customer, brand):
    change(customer, brand, phone="+4930123456")

    preferences.erase(customer.pk, brand.pk)

    assert preferences.read(customer.pk, brand.pk).phone == ""
