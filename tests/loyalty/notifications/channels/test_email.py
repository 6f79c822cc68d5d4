"""Notifications by e-mail: escaped values, bouncing addresses, and servers that reject mail or are away."""

import pytest
from django.utils import timezone

from brands.models.people import User
from events.models import Event
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import (
    NotificationDelivery,
    NotificationSettings,
)
from loyalty.notifications import suppression
from tests.loyalty.notifications.conftest import delivery_log, run_until_done

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("first_name", "sender", "brand_name"),
    [
        ("Eve\r\nBcc: all@example.com", "Acme\nBcc: all@example.com", "Acme\r\n\r\n<script>"),
        ("\u2028A\x1b", "", "A\tB"),
    ],
)
def test_names_cannot_inject_headers(brand, customer, own, box, notify, work, first_name, sender, brand_name):
    type(customer).objects.filter(pk=customer.pk).update(first_name=first_name)
    type(brand).objects.filter(pk=brand.pk).update(name=brand_name)
    NotificationSettings.objects.filter(pk=own.pk).update(sender_name=sender)
    notify(customer)

    work()

    [mail] = box.mails
    assert "Bcc" not in mail
    assert box.recipients == [customer.email]
    assert mail["From"].addresses[0].addr_spec == own.sender_address


def test_values_are_escaped_in_html(brand, customer, own, box, notify, work):
    attack = '<img src=x onerror="alert(1)">{points_earned}'
    type(customer).objects.filter(pk=customer.pk).update(first_name=attack)
    notify(customer, note=attack)

    work()

    html = box.mails[0].get_body(("html",)).get_content()
    assert "<img" not in html
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;{points_earned}" in html


def test_bounced_address_is_suppressed(brand, customer, own, box, notify, work):
    box.rejections[customer.email] = "550 5.1.1 no such user"
    notify(customer)
    work()
    notify(customer)
    work()

    assert delivery_log() == [("email", "bounced"), ("email", "suppressed")]
    assert NotificationDelivery.objects.first().attempts == 0
    suppressed = SuppressedAddress.objects.get()
    assert "550" in suppressed.reason
    assert customer.email not in f"{suppressed.masked_address}{suppressed.digest}{suppressed.reason}"


def test_released_address_gets_mail_again(brand, customer, own, box, notify, work):
    box.rejections[customer.email] = "550 no"
    notify(customer)
    work()
    box.rejections.clear()

    suppression.remove(address=SuppressedAddress.objects.get())
    notify(customer)
    work()

    assert len(box.mails) == 1


@pytest.mark.parametrize("email", ["=?utf-8?q?=0abcc?=@example.com", "=?utf-8?q??=@example.com"])
def test_mail_to_an_unsendable_address_fails_permanently(brand, customer, own, box, notify, work, email):
    User.objects.filter(pk=customer.pk).update(email=email)
    notify(customer)

    work()

    row = NotificationDelivery.objects.get()
    assert (row.status, row.last_error) == ("failed", "One of the e-mail's addresses is not valid.")
    assert not Event.objects.pending().exists()
    assert box.mails == []


@pytest.mark.parametrize("rejection", ["550 5.7.1 looks like spam", "552 5.2.2 mailbox full", "554 5.4.4 no route"])
def test_rejection_for_another_cause_does_not_suppress_the_address(brand, customer, own, box, notify, work, rejection):
    box.rejections[customer.email] = rejection
    notify(customer)

    work()

    assert delivery_log() == [("email", "failed")]
    assert not SuppressedAddress.objects.exists()


def test_temporarily_rejected_mail_is_sent_later_with_the_same_id(brand, customer, own, box, notify, work):
    box.answers += ["451 4.3.0 busy", "451 4.3.0 busy"]
    notify(customer)

    run_until_done(work)

    row = NotificationDelivery.objects.get()
    assert (row.status, row.attempts, len(box.mails)) == ("sent", 3, 1)
    assert box.mails[0]["Message-ID"] == row.provider_id


def test_unreachable_mail_server_loses_no_mail(brand, customer, own, box, notify, work, settings):
    notify(customer)
    settings.EMAIL_PORT = 1
    work()
    assert (delivery_log(), "Refused" in NotificationDelivery.objects.get().last_error) == ([("email", "queued")], True)

    settings.EMAIL_PORT = box.port
    run_until_done(work)

    assert (delivery_log(), len(box.mails)) == ([("email", "sent")], 1)


def test_mail_that_cannot_be_sent_in_time_fails(brand, customer, own, notify, work, settings):
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    settings.EMAIL_HOST = "127.0.0.1"
    notify(customer)
    work()
    Event.objects.pending().update(give_up_at=timezone.now())

    work()

    assert delivery_log() == [("email", "failed")]
    assert not Event.objects.pending().exists()


def test_rejected_mail_does_not_affect_the_next_one(brand, customer, own, box, notify, work):
    box.answers.append("554 5.6.0 not like this")
    notify(customer)
    work()
    notify(customer)
    work()

    assert delivery_log() == [("email", "failed"), ("email", "sent")]
