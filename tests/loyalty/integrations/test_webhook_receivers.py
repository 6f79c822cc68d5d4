"""Webhook receivers that are slow, unreachable, private or answer too much are cut off and delay no others."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from events.models import Event
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.conftest import State, ping, ping_and_send
from tests.loyalty.integrations.webhooks import endpoint, hasten, send
from tests.support import factories
from tests.support.fakes.fake_http import Reply, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.5
    reset_breakers()


def error_of(delivery):
    return delivery.calls.get().error


def test_slow_receiver_is_cut_off(hook, shop):
    shop.answers(Reply(waits=10))
    started = time.monotonic()
    delivery = ping_and_send(hook)

    assert time.monotonic() - started < 5
    assert (delivery.state, delivery.last_status) == (State.WAITING, None)
    assert error_of(delivery) == "no whole answer within 0.5 seconds"


def test_receiver_that_sends_its_answer_byte_by_byte_is_cut_off(hook, shop):
    shop.answers(Reply(body=b"x" * 200, drips=0.05))
    delivery = ping_and_send(hook)

    assert error_of(delivery) == "no whole answer within 0.5 seconds"


def test_only_the_start_of_an_endless_answer_is_read(hook, shop):
    shop.answers(Reply(body=b"", endless=True))
    delivery = ping_and_send(hook)

    attempt = delivery.calls.get()
    assert delivery.state == State.DELIVERED
    assert (attempt.answer, "longer than 2000 bytes" in attempt.error) == ("x" * 2000, True)


def test_redirect_is_a_failure_and_is_not_followed(hook, shop):
    shop.answers(Reply(302, headers={"Location": shop.url}))
    delivery = ping_and_send(hook)

    assert (delivery.state, len(shop.calls)) == (State.WAITING, 1)
    assert error_of(delivery) == f"Redirects are not followed. This one points to {shop.url}."


def test_private_address_is_blocked_at_the_call_and_logged(hook, shop, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = []
    delivery = ping_and_send(hook)

    assert shop.calls == []
    assert "private network address" in error_of(delivery)


def test_failed_connection_is_logged(brand):
    delivery = ping_and_send(endpoint(brand, "http://127.0.0.1:9/"))

    assert "Connection refused" in error_of(delivery)


def test_calls_to_a_failing_receiver_pause_for_a_cooldown(hook, shop):
    shop.answers(500)
    for _ in range(12):
        ping(hook)
    send()
    not_attempted = WebhookDelivery.objects.filter(attempts=0)
    due_moments = Event.objects.pending().filter(detail_type="call-webhook").values_list("due_at", flat=True)

    assert len(shop.calls) == 5
    assert not_attempted.count() == 7
    assert min(due_moments) > timezone.now() + timedelta(seconds=3)

    shop.answers(200)
    reset_breakers()  # as if the cooldown were over
    hasten()
    send()
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {State.DELIVERED}


def test_receiver_that_answers_422_is_called_without_a_cooldown(hook, shop):
    shop.answers(422)
    for _ in range(8):
        ping(hook)
    send()

    assert len(shop.calls) == 8


def test_hanging_receiver_does_not_delay_another_brands_deliveries(brand, hook, shop):
    with receiver() as quick_server:
        shop.answers(Reply(waits=10))
        healthy_endpoint = endpoint(factories.brand(), quick_server)
        for _ in range(15):
            ping(hook)
        delivery = ping(healthy_endpoint)
        started = time.monotonic()
        send()
        delivery.refresh_from_db()

    # Five timeouts of half a second, then the breaker opens.
    assert (delivery.state, len(shop.calls)) == (State.DELIVERED, 5)
    assert time.monotonic() - started < 10
