"""Notifications by SMS: numbers that are rejected, and a service that is busy, slow or rejects the key."""

from contextlib import ExitStack

import pytest
from django.utils import timezone

from events import worker_signals
from events.models import Event
from loyalty.models.notifications import (
    NotificationDelivery,
    NotificationSettings,
)
from loyalty.notifications import delivery
from tests.loyalty.notifications.conftest import SMS_NUMBER, change_preferences, delivery_log, run_until_done
from tests.support import factories
from tests.support.fakes.fake_http import reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


def test_points_are_notified_by_sms_to_customers_with_a_number(brand, customer, own, box, with_sms, notify, work):
    change_preferences(customer, brand, phone=SMS_NUMBER, language="de")
    notify(customer, points_earned=10, new_balance=20)
    notify(factories.customer(brand))

    work()

    assert with_sms.messages == [
        {"To": SMS_NUMBER, "From": "+15005550006", "Body": f"{brand.name}: neue Punkte 10, Stand 20."}
    ]
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, row.masked_address, row.provider_id) == ("sent", "+49•••56", f"SM{1:032d}")


@pytest.mark.parametrize("code", [21211, 21610, 21614])
def test_rejected_number_is_suppressed(brand, customer, own, box, with_sms, notify, work, code):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append((400, {"code": code, "message": "no"}, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in delivery_log() if channel == "sms"] == ["bounced", "suppressed"]
    assert with_sms.messages == []
    change_preferences(customer, brand, phone="+4930654321")
    notify(customer)
    work()
    assert with_sms.messages[0]["To"] == "+4930654321"


@pytest.mark.parametrize("answer", [(503, {}, {}), (429, {"code": 20429}, {"Retry-After": "7"}), (500, "?", {})])
def test_busy_sms_service_is_retried(brand, customer, own, box, with_sms, notify, work, answer):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append(answer)
    notify(customer)

    work()
    waiting = Event.objects.get(detail_type="send-sms")
    if answer[2]:
        assert 5 < (waiting.due_at - timezone.now()).total_seconds() <= 7
    run_until_done(work)

    assert len(with_sms.messages) == 1
    assert NotificationDelivery.objects.get(channel="sms").attempts == 2


def test_sms_waits_until_a_wrong_key_is_corrected(brand, customer, own, box, with_sms, notify, work):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    key = NotificationSettings.objects.get().twilio_auth_token
    own_settings = NotificationSettings.objects.get()
    own_settings.twilio_auth_token = "wrong"
    own_settings.save()
    notify(customer)
    work()
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, "401" in row.last_error, key in row.last_error) == ("queued", True, False)

    own_settings.twilio_auth_token = key
    own_settings.save()
    run_until_done(work)

    assert len(with_sms.messages) == 1


@pytest.mark.parametrize(("status", "ends"), [(201, "sent"), (400, "failed"), (503, "queued")])
def test_answer_that_postgresql_cannot_store_does_not_send_an_sms_twice(
    brand, customer, own, box, with_sms, notify, work, status, ends
):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append((status, {"sid": "S\0\ud800", "code": 1, "message": "no\0\ud800"}, {}))
    notify(customer)

    work()

    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, "\0" in row.last_error) == (ends, False)
    assert "ValueError" not in Event.objects.get(detail_type="send-sms").last_error
    if ends != "queued":
        work()
        assert with_sms.messages == []


@pytest.fixture
def clean_breakers():
    reset_breakers()
    yield
    reset_breakers()


def test_slow_service_of_one_brand_does_not_delay_other_brands(
    brand, customer, own, box, with_sms, clean_breakers, notify, work
):
    change_preferences(customer, brand, phone=SMS_NUMBER)
    row = NotificationDelivery(brand=brand, channel="sms")
    breaker = delivery.breaker_of(row)
    breaker.record_duration(5)
    notify(customer)

    with ExitStack() as slots:
        for _ in range(delivery.MAX_SLOW):
            slots.enter_context(worker_signals.acquire_slot(lane=breaker.name, count=delivery.MAX_SLOW))
        work()

        queued = NotificationDelivery.objects.get(channel="sms")
        assert (queued.status, queued.attempts, with_sms.messages) == ("queued", 0, [])
        assert delivery.breaker_of(NotificationDelivery(brand=factories.brand(), channel="sms")).is_slow() is False
    work()

    assert len(with_sms.messages) == 1
