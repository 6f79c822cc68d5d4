"""Notifications by push: to every device, and never again to one that is gone."""

import pytest
from django.utils import timezone

from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import (
    NotificationDelivery,
    NotificationSettings,
)
from loyalty.notifications import devices
from tests.loyalty.notifications.conftest import SMS_NUMBER, change_preferences, delivery_log, run_until_done

pytestmark = pytest.mark.django_db(transaction=True)


def register_device(customer, brand, token="t0ken"):
    return devices.register(user_id=customer.pk, brand_id=brand.pk, token=token, platform="ios", at=timezone.now())


def test_points_are_notified_on_every_device(brand, customer, own, box, with_push, notify, work):
    for token in ("one", "two"):
        register_device(customer, brand, token)
    notify(customer, points_earned=10)

    work()

    assert sorted(message["token"] for message in with_push.messages) == ["one", "two"]
    assert with_push.grants == 1
    message = with_push.messages[0]
    assert message["notification"]["title"] == brand.name
    row = NotificationDelivery.objects.get(delivery_id=message["data"]["notice_id"])
    assert message["apns"]["headers"]["apns-collapse-id"] == str(row.delivery_id)
    assert row.provider_id.startswith("projects/acme/messages/")


def test_device_that_is_gone_gets_no_more_notifications(brand, customer, own, box, with_push, notify, work):
    register_device(customer, brand)
    gone = {"error": {"status": "NOT_FOUND", "message": "x", "details": [{"errorCode": "UNREGISTERED"}]}}
    with_push.answers.append((404, gone, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in delivery_log() if channel == "push"] == ["bounced"]
    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    assert not SuppressedAddress.objects.exists()


def test_revoked_access_token_is_requested_again(brand, customer, own, box, with_push, notify, work):
    register_device(customer, brand)
    with_push.answers.append((401, {"error": {"status": "UNAUTHENTICATED"}}, {}))
    notify(customer)

    run_until_done(work)

    assert (len(with_push.messages), with_push.grants) == (1, 2)


def test_failing_channel_does_not_affect_others(brand, customer, own, box, with_sms, with_push, notify, work):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    register_device(customer, brand)
    with_sms.answers += [(503, {}, {})] * 50
    notify(customer)

    work()

    assert sorted(delivery_log()) == [("email", "sent"), ("push", "sent"), ("sms", "queued")]


def test_push_fails_if_the_brands_service_account_is_gone(brand, customer, own, box, with_push, notify, work):
    register_device(customer, brand)
    with_push.answers.append((503, {}, {}))
    notify(customer)
    work()
    NotificationSettings.objects.filter(pk=own.pk).update(push_on=False, fcm_service_account="")

    run_until_done(work)

    assert sorted(delivery_log()) == [("email", "sent"), ("push", "failed")]
