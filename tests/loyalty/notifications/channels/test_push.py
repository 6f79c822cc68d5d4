"""Notifications by push: on every device, and never again where one is gone."""

import pytest
from django.utils import timezone

from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import (
    NotificationDelivery,
)
from loyalty.notifications import devices
from tests.loyalty.notifications.conftest import SMS_NUMBER, log, prefer, work_until_done

pytestmark = pytest.mark.django_db(transaction=True)


def device(customer, brand, token="t0ken"):
    return devices.register(user_id=customer.pk, brand_id=brand.pk, token=token, platform="ios", at=timezone.now())


def test_points_are_told_on_every_device(brand, customer, own, box, with_push, notify, work):
    for token in ("one", "two"):
        device(customer, brand, token)
    notify(customer, points_earned=10)

    work()

    assert sorted(message["token"] for message in with_push.messages) == ["one", "two"]
    assert with_push.grants == 1
    message = with_push.messages[0]
    assert message["notification"]["title"] == brand.name
    row = NotificationDelivery.objects.get(delivery_id=message["data"]["notice_id"])
    assert message["apns"]["headers"]["apns-collapse-id"] == str(row.delivery_id)
    assert row.provider_id.startswith("projects/acme/messages/")


def test_a_device_that_is_gone_gets_nothing_more(brand, customer, own, box, with_push, notify, work):
    device(customer, brand)
    gone = {"error": {"status": "NOT_FOUND", "message": "x", "details": [{"errorCode": "UNREGISTERED"}]}}
    with_push.answers.append((404, gone, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in log() if channel == "push"] == ["bounced"]
    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    assert not SuppressedAddress.objects.exists()


def test_an_access_token_that_was_withdrawn_is_asked_for_again(brand, customer, own, box, with_push, notify, work):
    device(customer, brand)
    with_push.answers.append((401, {"error": {"status": "UNAUTHENTICATED"}}, {}))
    notify(customer)

    work_until_done(work)

    assert (len(with_push.messages), with_push.grants) == (1, 2)


def test_channels_fail_alone(brand, customer, own, box, with_sms, with_push, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    device(customer, brand)
    with_sms.answers += [(503, {}, {})] * 50
    notify(customer)

    work()

    assert sorted(log()) == [("email", "sent"), ("push", "sent"), ("sms", "queued")]
