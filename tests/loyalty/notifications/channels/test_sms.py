"""Notifications by SMS: numbers that take nothing, and a service that is busy, slow or refuses the key."""

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
from tests.loyalty.notifications.conftest import SMS_NUMBER, log, prefer, work_until_done
from tests.support import factories
from tests.support.fakes.fake_http import reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


def test_points_are_told_by_sms_to_who_gave_a_number(brand, customer, own, box, with_sms, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER, language="de")
    notify(customer, points_earned=10, new_balance=20)
    notify(factories.customer(brand))

    work()

    assert with_sms.messages == [
        {"To": SMS_NUMBER, "From": "+15005550006", "Body": f"{brand.name}: neue Punkte 10, Stand 20."}
    ]
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, row.masked_address, row.provider_id) == ("sent", "+49•••56", f"SM{1:032d}")


@pytest.mark.parametrize("code", [21211, 21610, 21614])
def test_a_number_that_takes_nothing_is_written_to_once(brand, customer, own, box, with_sms, notify, work, code):
    prefer(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append((400, {"code": code, "message": "no"}, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in log() if channel == "sms"] == ["bounced", "suppressed"]
    assert with_sms.messages == []
    prefer(customer, brand, phone="+4930654321")
    notify(customer)
    work()
    assert with_sms.messages[0]["To"] == "+4930654321"


@pytest.mark.parametrize("answer", [(503, {}, {}), (429, {"code": 20429}, {"Retry-After": "7"}), (500, "?", {})])
def test_a_busy_sms_service_is_asked_again(brand, customer, own, box, with_sms, notify, work, answer):
    prefer(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append(answer)
    notify(customer)

    work()
    waiting = Event.objects.get(detail_type="send-sms")
    if answer[2]:
        assert 5 < (waiting.due_at - timezone.now()).total_seconds() <= 7
    work_until_done(work)

    assert len(with_sms.messages) == 1
    assert NotificationDelivery.objects.get(channel="sms").attempts == 2


def test_a_wrong_sms_key_waits_until_it_is_mended(brand, customer, own, box, with_sms, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    key = NotificationSettings.objects.get().twilio_auth_token
    mend = NotificationSettings.objects.get()
    mend.twilio_auth_token = "wrong"
    mend.save()
    notify(customer)
    work()
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, "401" in row.last_error, key in row.last_error) == ("queued", True, False)

    mend.twilio_auth_token = key
    mend.save()
    work_until_done(work)

    assert len(with_sms.messages) == 1


@pytest.mark.parametrize(("status", "ends"), [(201, "sent"), (400, "failed"), (503, "queued")])
def test_words_that_postgresql_does_not_take_send_nothing_twice(
    brand, customer, own, box, with_sms, notify, work, status, ends
):
    prefer(customer, brand, phone=SMS_NUMBER)
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
def rest():
    reset_breakers()
    yield
    reset_breakers()


def test_a_brands_slow_service_leaves_senders_for_others(brand, customer, own, box, with_sms, rest, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    row = NotificationDelivery(brand=brand, channel="sms")
    breaker = delivery.breaker_of(row)
    breaker.took(5)
    notify(customer)

    with ExitStack() as waiting:
        for _ in range(delivery.MAX_SLOW):
            waiting.enter_context(worker_signals.acquire_slot(lane=breaker.name, count=delivery.MAX_SLOW))
        work()

        held = NotificationDelivery.objects.get(channel="sms")
        assert (held.status, held.attempts, with_sms.messages) == ("queued", 0, [])
        assert delivery.breaker_of(NotificationDelivery(brand=factories.brand(), channel="sms")).is_slow() is False
    work()

    assert len(with_sms.messages) == 1
