"""A sandbox brand sends nothing to customers by any channel, and the log says why."""

import pytest
from django.utils import timezone

from authcodes.recalls import notifications, recalls
from events.models import Event
from jobs import runner
from loyalty.models.notifications import NotificationDelivery, Template
from loyalty.notifications import delivery, devices, preferences, test_sends
from loyalty.notifications.channels.base import Failed
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
NOT_SENT = "Not sent: sandbox."


@pytest.fixture
def brand(db):
    return factories.brand(is_sandbox=True)


def make_reachable(customer, brand):
    preferences.change(customer.pk, brand.pk, phone="+4930123456", at=timezone.now())
    devices.register(user_id=customer.pk, brand_id=brand.pk, token="t0ken", platform="ios", at=timezone.now())


def delivery_log():
    return list(NotificationDelivery.objects.order_by("channel").values_list("channel", "status", "last_error"))


def test_nothing_is_sent_by_any_channel(brand, customer, with_sms, with_push, box, notify, work):
    make_reachable(customer, brand)
    notify(customer)

    work()

    assert delivery_log() == [(channel, "suppressed", NOT_SENT) for channel in ("email", "push", "sms")]
    assert (box.mails, with_sms.messages, with_push.messages) == ([], [], [])


def test_log_in_the_portal_shows_why(brand, customer, own, box, notify, work):
    notify(customer)
    work()

    row = NotificationDelivery.objects.get()
    page = browser(staff(brand)).get(address("loyalty.notificationdelivery", "change", row.pk))

    assert NOT_SENT in text(page)


@pytest.mark.parametrize("channel", ["email", "sms", "push"])
def test_each_channel_rejects_messages_of_a_sandbox(brand, customer, with_sms, with_push, box, notify, work, channel):
    """Also if a message was queued in another way."""
    make_reachable(customer, brand)
    notify(customer)
    work()
    row = NotificationDelivery.objects.select_related("brand", "user", "notification").first()
    row.channel = channel
    row.device = devices.alive(user_id=customer.pk, brand_id=brand.pk)[0]

    with pytest.raises(Failed, match=NOT_SENT):
        delivery.CHANNELS[channel](delivery.message_of(row))

    assert (box.mails, with_sms.messages, with_push.messages) == ([], [], [])


def test_recall_notification_is_not_sent(brand, customer, own, box, work):
    code = factories.code(brand)
    scan(code, user=customer)
    recall_fields = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
    recall = recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)

    runner.run(notifications.start(recall=recall, by=None).pk)
    work()

    assert box.mails == []
    assert [(status, last_error) for _channel, status, last_error in delivery_log()] == [("suppressed", NOT_SENT)]


def test_test_send_is_not_sent(brand, own, box, work):
    test_sends.send(
        brand=brand,
        to=staff(brand),
        template=Template.POINTS_EARNED,
        channel="email",
        language="en",
        at=timezone.now(),
    )

    work()

    assert box.mails == []
    assert delivery_log() == [("email", "suppressed", NOT_SENT)]


def test_password_reset_is_not_sent(api, brand, customer, own, box, work):
    api.post("auth/password/forgot", {"email": customer.email, "brand_id": brand.pk})

    work()

    assert box.mails == []
    assert delivery_log() == [("email", "suppressed", NOT_SENT)]


def test_mail_about_a_new_address_is_not_sent(api, brand, customer, own, box, work):
    api.as_customer(customer).post("auth/email/change", {"email": "new@example.com"})

    work()

    assert box.mails == []
    outcomes = list(Event.objects.filter(detail_type="account-mail").values_list("status", "outcome"))
    assert outcomes == [("done", {"mail": f"failed: {NOT_SENT}"})] * 2  # to the old and the new address
