"""Calls to webhooks: what fails is tried again, what was sent can be sent again, and each attempt stands in the log."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from events import leases
from events.models import Event
from loyalty.integrations import webhook_delivery, webhook_endpoints, webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.webhooks import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from tests.loyalty.integrations.conftest import State, ping, pinged
from tests.loyalty.integrations.webhooks import endpoint, hasten, send
from tests.support import factories
from tests.support.fakes.fake_http import Reply, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_TIMEOUT_SECONDS = 5
    reset_breakers()


def test_an_attempt_is_kept_with_status_duration_and_the_beginning_of_the_answer(hook, shop):
    shop.answers(Reply(202, b"Thanks\0 \xff", waits=0.05))
    message = pinged(hook)

    attempt = message.calls.get()
    assert (message.state, message.attempts, message.last_status) == (State.DELIVERED, 1, 202)
    assert (attempt.status, attempt.answer, attempt.error) == (202, "Thanks\ufffd \ufffd", "")
    assert 50 <= attempt.milliseconds < 5_000


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_what_fails_is_tried_again_under_the_same_id_with_the_same_body(hook, shop, status):
    shop.answers(status, 200)
    message = pinged(hook)
    event = Event.objects.get(detail_type="call-webhook")
    wait = event.due_at - timezone.now()

    assert (message.state, message.attempts, message.last_status) == (State.WAITING, 1, status)
    assert timedelta(seconds=4) < wait < timedelta(seconds=7)
    assert abs(message.next_attempt_at - event.due_at) < timedelta(seconds=1)

    hasten()
    send()
    message.refresh_from_db()
    first, second = shop.calls
    assert message.state == State.DELIVERED
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == message.message_id
    assert first.body == second.body
    assert first.verified(hook.secret) == second.verified(hook.secret)


def test_pauses_grow_for_three_days_and_then_it_is_given_up(hook, shop):
    shop.answers(500)
    message = ping(hook)
    waits = []
    while WebhookDelivery.objects.get().state == State.WAITING:
        reset_breakers()  # else the receiver would be left alone in between
        send()
        event = Event.objects.get(detail_type="call-webhook")
        wait = event.due_at - timezone.now()
        if event.status == "pending":
            waits.append(wait)
            # Instead of waiting, the whole story is moved into the past.
            Event.objects.update(due_at=timezone.now(), give_up_at=event.give_up_at - wait)
    message.refresh_from_db()

    assert waits[:10] == sorted(waits[:10])
    assert timedelta(hours=71) < sum(waits, timedelta()) < timedelta(hours=72)
    assert (message.state, Event.objects.get(detail_type="call-webhook").status) == (State.FAILED, "dead")
    assert message.calls.count() == message.attempts == len(waits) + 1 > 10


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("120", 119, 132),
        ("1", 4, 7),
        ("99999999999999999999", 43_000, 43_300),
        ("soon", 4, 7),
        ("-5", 4, 7),
        ("Fri, 99 Nov 2026 99:00:00 GMT", 4, 7),
        ("", 4, 7),
    ],
)
def test_a_receivers_wish_when_to_come_again_is_honoured(hook, shop, value, least, most):
    shop.answers(Reply(503, headers={"Retry-After": value}))
    pinged(hook)

    wait = Event.objects.get(detail_type="call-webhook").due_at - timezone.now()
    assert least < wait.total_seconds() < most


def test_a_date_is_a_wish_too(hook, shop):
    then = timezone.now() + timedelta(minutes=10)
    shop.answers(Reply(429, headers={"Retry-After": then.strftime("%a, %d %b %Y %H:%M:%S GMT")}))
    pinged(hook)

    assert abs(Event.objects.get(detail_type="call-webhook").due_at - then) < timedelta(seconds=2)


def test_a_receiver_that_is_gone_is_not_called_again(brand, hook, shop):
    waiting = ping(hook)
    shop.answers(410)
    send()
    dropped = pinged(hook)
    hook.refresh_from_db()
    waiting.refresh_from_db()

    assert (hook.state, waiting.state, dropped.state) == ("gone", State.FAILED, State.DROPPED)
    assert len(shop.calls) == 1
    assert not webhook_events.listens(brand_id=brand.pk, kind="points.earned")
    entry = AuditLogEntry.objects.get(kind="loyalty.webhookendpoint")
    assert (entry.user, entry.action) == (None, "Disabled: the receiver answered 410 Gone")


def test_an_endpoint_that_fails_for_days_is_disabled(hook, shop):
    shop.answers(500)
    pinged(hook)
    WebhookEndpoint.objects.update(failing_since=timezone.now() - timedelta(hours=121))
    hasten()
    send()
    hook.refresh_from_db()

    assert hook.state == "failing"


def test_a_success_ends_the_failing(hook, shop):
    shop.answers(500, 200)
    pinged(hook)
    hook.refresh_from_db()
    began = hook.failing_since
    hasten()
    send()
    hook.refresh_from_db()

    assert began is not None
    assert hook.failing_since is None


def test_a_message_to_a_disabled_endpoint_is_dropped_and_can_be_sent_again(hook, shop):
    message = ping(hook)
    deed = AuditContext(factories.user(), timezone.now())
    webhook_endpoints.stop(endpoint=hook, state=webhook_endpoints.State.DISABLED, at=timezone.now(), audit_context=deed)
    send()
    message.refresh_from_db()
    refused = webhook_events.resend(message=message, at=timezone.now())
    assert (message.state, refused, shop.calls) == (State.DROPPED, False, [])

    webhook_endpoints.start(endpoint=hook, at=timezone.now(), audit_context=deed)
    assert webhook_events.resend(message=message, at=timezone.now())
    send()
    message.refresh_from_db()
    assert (message.state, shop.calls[0].headers["webhook-id"]) == (State.DELIVERED, message.message_id)


def test_a_delivered_message_can_be_sent_again_and_a_waiting_one_waits(hook, shop):
    message = pinged(hook)
    again = [webhook_events.resend(message=message, at=timezone.now()) for _ in range(2)]
    send()

    assert again == [True, False]
    assert [call.headers["webhook-id"] for call in shop.calls] == [message.message_id] * 2
    assert message.calls.count() == 2


@pytest.mark.parametrize("again", ["resend", "redeliver"])
def test_what_is_sent_again_begins_with_short_pauses(hook, shop, again):
    shop.answers(500)
    message = pinged(hook)
    for _ in range(3):
        reset_breakers()
        hasten()
        send()
    WebhookDelivery.objects.update(state=State.FAILED)
    Event.objects.update(status="dead", finished_at=timezone.now())
    reset_breakers()

    if again == "resend":
        webhook_events.resend(message=message, at=timezone.now())
    else:
        leases.redeliver(event=Event.objects.get(detail_type="call-webhook"), at=timezone.now())
    send()

    wait = Event.objects.pending().get(detail_type="call-webhook").due_at - timezone.now()
    assert message.calls.count() == 5
    assert timedelta(seconds=4) < wait < timedelta(seconds=7)


def test_a_dead_call_that_staff_redeliver_is_sent(hook, shop):
    message = ping(hook)
    event = Event.objects.get(detail_type="call-webhook")
    Event.objects.update(status="dead")
    WebhookDelivery.objects.update(state=State.FAILED)
    leases.redeliver(event=event, at=timezone.now())
    send()
    message.refresh_from_db()

    assert (message.state, len(shop.calls)) == (State.DELIVERED, 1)


def test_a_lost_answer_is_sent_again_under_the_same_id(hook, shop):
    """The worker dies after the receiver has the message and before it is written down."""
    ping(hook)
    [delivery] = leases.claim(limit=1, lane="webhooks")
    message = WebhookDelivery.objects.get()
    webhook_delivery.call(message)  # and nothing is written
    hasten()
    send()

    assert len({call.headers["webhook-id"] for call in shop.calls}) == 1
    assert len(shop.calls) == 2
    assert delivery.attempts == 1
    assert WebhookAttempt.objects.count() == 1


def test_calls_undo_no_points(brand, customer, shop, deliver):
    endpoint(brand, shop)
    shop.answers(500)
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver()
    send()

    assert UserPoints.objects.get(user=customer).points == 10
    assert WebhookDelivery.objects.filter(state=State.WAITING).count() == 2
