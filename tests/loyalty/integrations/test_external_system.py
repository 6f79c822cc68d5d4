"""The external loyalty system: its decisions, and what happens to events without an answer."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from core import json_values
from events import leases, worker
from events.models import Event
from loyalty.integrations import external_system, signing_secrets
from loyalty.models.external_system import ExternalSystem
from loyalty.models.ledger import LoyaltyTransaction
from tests.loyalty.integrations.external_systems import (
    WhenAway,
    WhenRejected,
    create_system,
    make_events_due,
    points_of,
    run_workers,
)
from tests.support import factories
from tests.support.fakes.fake_http import Reply, end_cooldowns, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def external_server():
    with receiver() as server:
        server.decides(decision="proceed")
        yield server


def scan(brand, customer, **settings):
    code = factories.code(brand, **settings)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    return code


def test_signed_request_is_sent_before_the_points_are_credited(brand, customer, external_server):
    system = create_system(brand, external_server)
    transactions_at_call = []

    def record_transactions(_call):
        transactions_at_call.append(LoyaltyTransaction.objects.count())
        connection.close()  # opened by the receiver's thread

    external_server.on_call = record_transactions
    code = scan(brand, customer)
    run_workers()

    [call] = external_server.calls
    request = call.verified(system.secret)
    event = Event.objects.get(detail_type="scan-auth")
    assert (transactions_at_call, points_of(customer)) == ([0], 10)
    assert call.headers["idempotency-key"] == call.headers["webhook-id"] == str(event.event_id)
    assert request["type"] == "accrual.requested"
    assert request["data"] == {
        "event_id": str(event.event_id),
        "kind": "scan-auth",
        "brand_id": brand.pk,
        "user_id": customer.pk,
        "user_point_id": factories.account(customer, brand).pk,
        "campaign_type": "authenticator_scan",
        "reason_ids": [code.code],
        "points": 10,
        "balance": 0,
        "lifetime_points": 0,
        "current_level": "Bronze",
        "happened_at": json_values.iso(event.time),
    }


def test_brand_without_a_system_credits_without_a_request_or_lane_change(brand, customer, external_server):
    create_system(factories.brand(), external_server)
    scan(brand, customer)
    worker.drain()

    assert (external_server.calls, points_of(customer)) == ([], 10)
    assert Event.objects.get(detail_type="scan-auth").attempts == 1


def test_inactive_system_receives_no_request(brand, customer, external_server):
    create_system(brand, external_server, is_active=False)
    scan(brand, customer)
    worker.drain()

    assert (external_server.calls, points_of(customer)) == ([], 10)


def test_final_rejection_is_the_outcome_of_the_event(brand, customer, external_server):
    create_system(brand, external_server, when_rejected=WhenRejected.REJECT)
    external_server.decides(decision="refuse", reason="Bought at a rival's")
    scan(brand, customer)
    run_workers()

    event = Event.objects.get(detail_type="scan-auth")
    assert (event.status, event.outcome["error"]) == ("refused", "EXTERNALLY_REFUSED")
    assert event.outcome["details"] == {"reason": "Bought at a rival's"}
    assert (points_of(customer), Scan.objects.get().points_status) == (0, "not_eligible")


def test_brand_may_credit_points_despite_a_rejection(brand, customer, external_server):
    create_system(brand, external_server, when_rejected=WhenRejected.PROCEED)
    external_server.decides(decision="refuse")
    scan(brand, customer)
    run_workers()

    assert (len(external_server.calls), points_of(customer)) == (1, 10)


def test_rejected_event_may_wait_until_it_is_approved(brand, customer, external_server):
    create_system(brand, external_server, when_rejected=WhenRejected.HOLD)
    external_server.decides(decision="refuse", reason="under review")
    scan(brand, customer)
    run_workers()
    event = Event.objects.get(detail_type="scan-auth")
    waiting = external_system.postponed(brand_id=brand.pk)
    assert (event.status, points_of(customer), waiting.number) == ("pending", 0, 1)
    assert "Held. External loyalty system: rejected. under review" in event.last_error

    external_server.decides(decision="proceed")
    make_events_due()
    run_workers()
    assert (points_of(customer), external_system.postponed(brand_id=brand.pk).number) == (10, 0)
    assert len({call.headers["idempotency-key"] for call in external_server.calls}) == 1


UNUSABLE_REPLIES = {
    "an error": Reply(500),
    "too many": Reply(429),
    "a redirect": Reply(302, headers={"Location": "http://127.0.0.1:1/"}),
    "no permission": Reply(401),
    "no JSON": Reply(body=b"<html>"),
    "no object": Reply(body=b"[1]"),
    "no decision": Reply(body=b"{}"),
    "another decision": Reply(body=b'{"decision": "maybe"}'),
    "nested too deep": Reply(body=b"[" * 15_000),
    "too large": Reply(body=b'{"decision": "proceed", "pad": "' + b"x" * 30_000 + b'"}'),
    "endless": Reply(endless=True, body=b""),
}


@pytest.mark.parametrize("reply", UNUSABLE_REPLIES.values(), ids=UNUSABLE_REPLIES)
def test_event_waits_without_a_usable_answer(brand, customer, external_server, reply):
    create_system(brand, external_server)
    external_server.answers(reply)
    scan(brand, customer)
    run_workers()

    event = Event.objects.get(detail_type="scan-auth")
    assert (event.status, event.lane, points_of(customer)) == ("pending", "external", 0)
    assert event.last_error.startswith("RetryLater: Held. External loyalty system: no answer.")


def test_brand_may_credit_points_without_an_answer(brand, customer, external_server):
    create_system(brand, external_server, when_away=WhenAway.PROCEED)
    external_server.answers(500)
    scan(brand, customer)
    run_workers()

    assert points_of(customer) == 10


def test_hanging_system_costs_two_seconds(brand, customer, external_server):
    create_system(brand, external_server, when_away=WhenAway.PROCEED)
    external_server.answers(Reply(waits=20))
    scan(brand, customer)
    started = time.monotonic()
    run_workers()

    assert 1.9 < time.monotonic() - started < 10  # two seconds of timeout, plus whatever a busy machine takes
    assert points_of(customer) == 10


@pytest.mark.parametrize("reply", [Reply(503), Reply(502)], ids=["503", "502"])
def test_request_is_repeated_immediately_after_a_gateway_error(brand, customer, external_server, reply):
    create_system(brand, external_server)
    external_server.answers(reply, Reply(body=b'{"decision": "proceed"}'))
    scan(brand, customer)
    run_workers()

    assert (len(external_server.calls), points_of(customer)) == (2, 10)
    assert len({call.headers["idempotency-key"] for call in external_server.calls}) == 1


def test_event_is_retried_for_three_days_and_then_waits_for_staff(brand, customer, external_server):
    create_system(brand, external_server)
    external_server.answers(500)
    scan(brand, customer)
    run_workers()
    event = Event.objects.get(detail_type="scan-auth")
    assert event.give_up_at - event.created_at > timedelta(hours=71)

    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1))
    make_events_due()
    run_workers()
    event.refresh_from_db()
    assert (event.status, points_of(customer)) == ("dead", 0)

    external_server.decides(decision="proceed")
    external_system.breaker_of(ExternalSystem.objects.get()).succeeded()
    leases.redeliver(event=event, at=timezone.now())
    run_workers()
    assert points_of(customer) == 10


def test_repeated_failures_open_the_breaker_until_a_cooldown_has_passed(brand, customer, external_server):
    create_system(brand, external_server)
    external_server.answers(500)
    for _ in range(9):
        scan(brand, customer)
    run_workers()
    assert len(external_server.calls) == 5
    assert Event.objects.pending().count() == 9

    external_server.decides(decision="proceed")
    make_events_due()
    run_workers()
    assert len(external_server.calls) == 5, "the breaker is open"

    end_cooldowns()
    make_events_due()
    run_workers()
    make_events_due()
    run_workers()
    assert points_of(customer) == 90


def test_hanging_system_of_one_brand_does_not_delay_points_of_another(brand, customer, external_server):
    create_system(brand, external_server)
    external_server.answers(Reply(waits=20))
    for _ in range(6):
        scan(brand, customer)
    other = factories.brand()
    factories.level(other)
    foreign_customer = factories.customer(other)
    scan(other, foreign_customer)
    worker.drain()

    assert points_of(foreign_customer) == 10
    assert external_server.calls == []


def test_milestone_rewards_need_no_approval(brand, customer, external_server):
    create_system(brand, external_server)
    factories.milestone(factories.campaign(brand), 1, auto_claim=True, reward_points=7)
    scan(brand, customer)
    run_workers()
    worker.drain()

    assert (len(external_server.calls), points_of(customer)) == (1, 17)


def test_first_accrual_of_a_new_customer_needs_approval(brand, external_server):
    create_system(brand, external_server)
    new_customer = factories.customer(brand, enrolled=False)
    scan(brand, new_customer)
    run_workers()

    assert (external_server.calls[0].payload["data"]["user_point_id"], points_of(new_customer)) == (None, 10)


def test_test_request_returns_the_systems_decision(brand, external_server):
    system = create_system(brand, external_server)
    external_server.decides(decision="refuse", reason="I know nobody")
    decision = external_system.test(system=system)

    assert (decision.decision, decision.reason) == ("refuse", "I know nobody")
    assert external_server.calls[0].verified(system.secret)["type"] == "external.test"
    assert external_server.calls[0].payload["data"] == {"message": "Hello."}


def test_successful_test_request_closes_the_breaker(brand, external_server):
    system = create_system(brand, external_server)
    for _ in range(5):
        external_system.breaker_of(system).failed()
    external_system.test(system=system)

    assert not external_system.breaker_of(system).is_open()


def test_both_secrets_sign_during_the_grace_period_of_a_rotation(brand, external_server):
    system = create_system(brand, external_server)
    old = system.secret
    signing_secrets.rotate(row=system, at=timezone.now(), grace=timedelta(hours=1))
    system.refresh_from_db()
    external_system.test(system=system)

    assert external_server.calls[0].verified(old) == external_server.calls[0].verified(system.secret)
