"""Personal data in notifications can be exported and erased."""

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
PHONE = "+4930123456"


@pytest.fixture
def notified_customer(brand, customer, own, box, notify, work):
    """A customer with a device, a bounced notification and another one that is pending."""
    preferences.change(customer.pk, brand.pk, phone=PHONE, language="de", at=timezone.now())
    devices.register(user_id=customer.pk, brand_id=brand.pk, token="t0ken", platform="ios", at=timezone.now())
    box.rejections[customer.email] = "550 no"
    notify(customer, note="Scan of a secret thing")
    work()
    notify(customer, note="Scan of a secret thing")
    return customer


def test_all_personal_data_of_the_brand_is_exported(brand, notified_customer):
    exported = json.loads("".join(as_json(NOTIFICATIONS.export(notified_customer.pk, brand.pk))))

    assert (exported["language"], exported["phone"], exported["devices"][0]["token"]) == ("de", PHONE, "t0ken")
    assert [delivery["status"] for delivery in exported["sent"]] == ["bounced"]
    assert list(NOTIFICATIONS.export(notified_customer.pk, factories.brand().pk)["sent"]) == []


def test_erasure_deletes_all_personal_data_and_sends_nothing_more(brand, notified_customer, box, work):
    NOTIFICATIONS.erase(notified_customer.pk, brand.pk, to=notified_customer.pk, at=timezone.now())
    box.rejections.clear()
    Event.objects.filter(detail_type="notify", status="pending").update(status="dead")
    work()

    tables = [Notification, NotificationDelivery, Device, SuppressedAddress]
    remaining = str([list(table.objects.values()) for table in tables])
    assert not any(
        trace in remaining for trace in (notified_customer.email, "example.com", "123456", "t0ken", "secret")
    )
    assert not SuppressedAddress.objects.exists()
    assert box.mails == []
    assert preferences.read(notified_customer.pk, brand.pk) == preferences.Preferences()


def test_erasure_at_another_brand_deletes_nothing(brand, notified_customer):
    NOTIFICATIONS.erase(notified_customer.pk, factories.brand().pk, to=notified_customer.pk, at=timezone.now())

    assert preferences.read(notified_customer.pk, brand.pk).phone == PHONE
    assert SuppressedAddress.objects.exists()
