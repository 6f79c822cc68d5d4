"""Webhook deliveries: failures are retried, deliveries can be sent again, and each attempt is logged."""

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
from tests.loyalty.integrations.conftest import State, ping, ping_and_send
from tests.loyalty.integrations.webhooks import endpoint, hasten, send
from tests.support import factories
from tests.support.fakes.fake_http import Reply, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_TIMEOUT_SECONDS = 5
    reset_breakers()


def test_attempt_is_stored_with_status_duration_and_start_of_the_answer(hook, shop):
    shop.answers(Reply(202, b"Thanks\0 \xff", waits=0.05))
    delivery = ping_and_send(hook)

    attempt = delivery.calls.get()
    assert (delivery.state, delivery.attempts, delivery.last_status) == (State.DELIVERED, 1, 202)
    assert (attempt.status, attempt.answer, attempt.error) == (202, "Thanks\ufffd \ufffd", "")
    assert 50 <= attempt.milliseconds < 5_000


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_failed_delivery_is_retried_with_the_same_id_and_body(hook, shop, status):
    shop.answers(status, 200)
    delivery = ping_and_send(hook)
    event = Event.objects.get(detail_type="call-webhook")
    wait = event.due_at - timezone.now()

    assert (delivery.state, delivery.attempts, delivery.last_status) == (State.WAITING, 1, status)
    assert timedelta(seconds=4) < wait < timedelta(seconds=7)
    assert abs(delivery.next_attempt_at - event.due_at) < timedelta(seconds=1)

    hasten()
    send()
    delivery.refresh_from_db()
    first, second = shop.calls
    assert delivery.state == State.DELIVERED
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery.message_id
    assert first.body == second.body
    assert first.verified(hook.secret) == second.verified(hook.secret)


def test_delivery_is_retried_with_growing_pauses_for_three_days_and_then_fails(hook, shop):
    shop.answers(500)
    delivery = ping(hook)
    waits = []
    while WebhookDelivery.objects.get().state == State.WAITING:
        reset_breakers()  # otherwise the circuit breaker would pause the calls
        send()
        event = Event.objects.get(detail_type="call-webhook")
        wait = event.due_at - timezone.now()
        if event.status == "pending":
            waits.append(wait)
            # Instead of waiting, the event is moved into the past.
            Event.objects.update(due_at=timezone.now(), give_up_at=event.give_up_at - wait)
    delivery.refresh_from_db()

    assert waits[:10] == sorted(waits[:10])
    assert timedelta(hours=71) < sum(waits, timedelta()) < timedelta(hours=72)
    assert (delivery.state, Event.objects.get(detail_type="call-webhook").status) == (State.FAILED, "dead")
    assert delivery.calls.count() == delivery.attempts == len(waits) + 1 > 10


@pytest.mark.parametrize(
    ("value", "minimum", "maximum"),
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
def test_retry_follows_retry_after_seconds_and_ignores_invalid_values(hook, shop, value, minimum, maximum):
    shop.answers(Reply(503, headers={"Retry-After": value}))
    ping_and_send(hook)

    wait = Event.objects.get(detail_type="call-webhook").due_at - timezone.now()
    assert minimum < wait.total_seconds() < maximum


def test_retry_follows_a_retry_after_header_with_a_date(hook, shop):
    retry_at = timezone.now() + timedelta(minutes=10)
    shop.answers(Reply(429, headers={"Retry-After": retry_at.strftime("%a, %d %b %Y %H:%M:%S GMT")}))
    ping_and_send(hook)

    assert abs(Event.objects.get(detail_type="call-webhook").due_at - retry_at) < timedelta(seconds=2)


def test_endpoint_that_answers_410_is_disabled_and_not_called_again(brand, hook, shop):
    waiting = ping(hook)
    shop.answers(410)
    send()
    dropped = ping_and_send(hook)
    hook.refresh_from_db()
    waiting.refresh_from_db()

    assert (hook.state, waiting.state, dropped.state) == ("gone", State.FAILED, State.DROPPED)
    assert len(shop.calls) == 1
    assert not webhook_events.listens(brand_id=brand.pk, kind="points.earned")
    entry = AuditLogEntry.objects.get(kind="loyalty.webhookendpoint")
    assert (entry.user, entry.action) == (None, "Disabled: the receiver answered 410 Gone")


def test_endpoint_that_fails_for_days_is_disabled(hook, shop):
    shop.answers(500)
    ping_and_send(hook)
    WebhookEndpoint.objects.update(failing_since=timezone.now() - timedelta(hours=121))
    hasten()
    send()
    hook.refresh_from_db()

    assert hook.state == "failing"


def test_successful_delivery_clears_failing_since(hook, shop):
    shop.answers(500, 200)
    ping_and_send(hook)
    hook.refresh_from_db()
    failing_since = hook.failing_since
    hasten()
    send()
    hook.refresh_from_db()

    assert failing_since is not None
    assert hook.failing_since is None


def test_delivery_to_a_disabled_endpoint_is_dropped_and_can_be_resent_once_enabled(hook, shop):
    delivery = ping(hook)
    audit_context = AuditContext(factories.user(), timezone.now())
    webhook_endpoints.stop(
        endpoint=hook, state=webhook_endpoints.State.DISABLED, at=timezone.now(), audit_context=audit_context
    )
    send()
    delivery.refresh_from_db()
    resent = webhook_events.resend(message=delivery, at=timezone.now())
    assert (delivery.state, resent, shop.calls) == (State.DROPPED, False, [])

    webhook_endpoints.start(endpoint=hook, at=timezone.now(), audit_context=audit_context)
    assert webhook_events.resend(message=delivery, at=timezone.now())
    send()
    delivery.refresh_from_db()
    assert (delivery.state, shop.calls[0].headers["webhook-id"]) == (State.DELIVERED, delivery.message_id)


def test_completed_delivery_can_be_resent_and_a_waiting_one_cannot(hook, shop):
    delivery = ping_and_send(hook)
    resent = [webhook_events.resend(message=delivery, at=timezone.now()) for _ in range(2)]
    send()

    assert resent == [True, False]
    assert [call.headers["webhook-id"] for call in shop.calls] == [delivery.message_id] * 2
    assert delivery.calls.count() == 2


@pytest.mark.parametrize("action", ["resend", "redeliver"])
def test_resent_delivery_starts_again_with_a_short_backoff(hook, shop, action):
    shop.answers(500)
    delivery = ping_and_send(hook)
    for _ in range(3):
        reset_breakers()
        hasten()
        send()
    WebhookDelivery.objects.update(state=State.FAILED)
    Event.objects.update(status="dead", finished_at=timezone.now())
    reset_breakers()

    if action == "resend":
        webhook_events.resend(message=delivery, at=timezone.now())
    else:
        leases.redeliver(event=Event.objects.get(detail_type="call-webhook"), at=timezone.now())
    send()

    wait = Event.objects.pending().get(detail_type="call-webhook").due_at - timezone.now()
    assert delivery.calls.count() == 5
    assert timedelta(seconds=4) < wait < timedelta(seconds=7)


def test_dead_delivery_that_staff_redeliver_is_sent(hook, shop):
    delivery = ping(hook)
    event = Event.objects.get(detail_type="call-webhook")
    Event.objects.update(status="dead")
    WebhookDelivery.objects.update(state=State.FAILED)
    leases.redeliver(event=event, at=timezone.now())
    send()
    delivery.refresh_from_db()

    assert (delivery.state, len(shop.calls)) == (State.DELIVERED, 1)


def test_delivery_whose_answer_was_lost_is_sent_again_with_the_same_id(hook, shop):
    """The worker dies after the receiver got the message and before the attempt is stored."""
    ping(hook)
    [leased] = leases.claim(limit=1, lane="webhooks")
    delivery = WebhookDelivery.objects.get()
    webhook_delivery.call(delivery)  # without storing the attempt
    hasten()
    send()

    assert len({call.headers["webhook-id"] for call in shop.calls}) == 1
    assert len(shop.calls) == 2
    assert leased.attempts == 1
    assert WebhookAttempt.objects.count() == 1


def test_failed_webhooks_leave_credited_points_unchanged(brand, customer, shop, deliver_events):
    endpoint(brand, shop)
    shop.answers(500)
    scan.scan(scanned=factories.code(brand).code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()
    send()

    assert UserPoints.objects.get(user=customer).points == 10
    assert WebhookDelivery.objects.filter(state=State.WAITING).count() == 2
