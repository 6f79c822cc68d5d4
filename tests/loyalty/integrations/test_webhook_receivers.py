"""Receivers of webhooks that are slow, huge, private or away are cut off, and hold up no other."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from events.models import Event
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.conftest import State, ping, pinged
from tests.loyalty.integrations.webhooks import endpoint, hasten, send
from tests.support import factories
from tests.support.fakes.fake_http import Reply, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.5
    reset_breakers()


def error_of(message):
    return message.calls.get().error


def test_a_slow_receiver_is_cut_off(hook, shop):
    shop.answers(Reply(waits=10))
    began = time.monotonic()
    message = pinged(hook)

    assert time.monotonic() - began < 5
    assert (message.state, message.last_status) == (State.WAITING, None)
    assert error_of(message) == "no whole answer within 0.5 seconds"


def test_a_dripping_receiver_is_cut_off(hook, shop):
    shop.answers(Reply(body=b"x" * 200, drips=0.05))
    message = pinged(hook)

    assert error_of(message) == "no whole answer within 0.5 seconds"


def test_of_a_huge_answer_the_beginning_is_read(hook, shop):
    shop.answers(Reply(body=b"", endless=True))
    message = pinged(hook)

    attempt = message.calls.get()
    assert message.state == State.DELIVERED
    assert (attempt.answer, "longer than 2000 bytes" in attempt.error) == ("x" * 2000, True)


def test_a_redirect_is_a_failure_and_is_not_followed(hook, shop):
    shop.answers(Reply(302, headers={"Location": shop.url}))
    message = pinged(hook)

    assert (message.state, len(shop.calls)) == (State.WAITING, 1)
    assert error_of(message) == f"Redirects are not followed. This one points to {shop.url}."


def test_a_private_address_is_refused_at_the_call_and_logged(hook, shop, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = []
    message = pinged(hook)

    assert shop.calls == []
    assert "private network address" in error_of(message)


def test_nobody_there_is_logged(brand):
    message = pinged(endpoint(brand, "http://127.0.0.1:9/"))

    assert "Connection refused" in error_of(message)


def test_a_receiver_that_fails_again_and_again_is_left_alone_for_a_while(hook, shop):
    shop.answers(500)
    for _ in range(12):
        ping(hook)
    send()
    untried = WebhookDelivery.objects.filter(attempts=0)
    due = Event.objects.pending().filter(detail_type="call-webhook").values_list("due_at", flat=True)

    assert len(shop.calls) == 5
    assert untried.count() == 7
    assert min(due) > timezone.now() + timedelta(seconds=3)

    shop.answers(200)
    reset_breakers()  # as if the rest were over
    hasten()
    send()
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {State.DELIVERED}


def test_a_receiver_that_answers_no_is_not_left_alone(hook, shop):
    shop.answers(422)
    for _ in range(8):
        ping(hook)
    send()

    assert len(shop.calls) == 8


def test_a_hanging_receiver_holds_up_no_other(brand, hook, shop):
    with receiver() as quick:
        shop.answers(Reply(waits=10))
        healthy = endpoint(factories.brand(), quick)
        for _ in range(15):
            ping(hook)
        message = ping(healthy)
        began = time.monotonic()
        send()
        message.refresh_from_db()

    # Five times half a second, then the breaker opens.
    assert (message.state, len(shop.calls)) == (State.DELIVERED, 5)
    assert time.monotonic() - began < 10
