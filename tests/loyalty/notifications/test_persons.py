"""What notifications know of a person can be handed out, and forgotten."""

import json

import pytest
from django.utils import timezone

from core.personal_data import as_json
from events.models import Event
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import Device, Notification, NotificationDelivery
from loyalty.notifications import devices, preferences
from loyalty.personal_data import NOTIFICATIONS
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)
NUMBER = "+4930123456"


@pytest.fixture
def known(brand, customer, own, box, notify, work):
    """A customer who was told something, whose address bounced, and to whom something is on its way."""
    preferences.change(customer.pk, brand.pk, phone=NUMBER, language="de", at=timezone.now())
    devices.register(user_id=customer.pk, brand_id=brand.pk, token="t0ken", platform="ios", at=timezone.now())
    box.refusals[customer.email] = "550 no"
    notify(customer, note="Scan of a secret thing")
    work()
    notify(customer, note="Scan of a secret thing")
    return customer


def test_everything_is_handed_out(brand, known):
    found = json.loads("".join(as_json(NOTIFICATIONS.export(known.pk, brand.pk))))

    assert (found["language"], found["phone"], found["devices"][0]["token"]) == ("de", NUMBER, "t0ken")
    assert [line["status"] for line in found["sent"]] == ["bounced"]
    assert list(NOTIFICATIONS.export(known.pk, factories.brand().pk)["sent"]) == []


def test_everything_is_forgotten_and_nothing_more_is_sent(brand, known, box, work):
    NOTIFICATIONS.erase(known.pk, brand.pk, to=known.pk, at=timezone.now())
    box.refusals.clear()
    Event.objects.filter(detail_type="notify", status="pending").update(status="dead")
    work()

    tables = [Notification, NotificationDelivery, Device, SuppressedAddress]
    kept = str([list(table.objects.values()) for table in tables])
    assert not any(word in kept for word in (known.email, "example.com", "123456", "t0ken", "secret"))
    assert not SuppressedAddress.objects.exists()
    assert box.mails == []
    assert preferences.read(known.pk, brand.pk) == preferences.Preferences()


def test_other_brands_remember(brand, known):
    NOTIFICATIONS.erase(known.pk, factories.brand().pk, to=known.pk, at=timezone.now())

    assert preferences.read(known.pk, brand.pk).phone == NUMBER
    assert SuppressedAddress.objects.exists()
