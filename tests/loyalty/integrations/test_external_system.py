"""The external loyalty system: what it says, and what becomes of an event when it says nothing."""

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
from tests.loyalty.integrations.external_systems import WhenAway, WhenRejected, hasten, points_of, system, work
from tests.support import factories
from tests.support.fakes.fake_http import Reply, end_cooldowns, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def partner():
    with receiver() as running:
        running.decides(decision="proceed")
        yield running


def scan(brand, customer, **settings):
    code = factories.code(brand, **settings)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    return code


def test_it_is_asked_with_a_signed_question_before_the_points_are_credited(brand, customer, partner):
    made = system(brand, partner)
    seen = []

    def record_transactions(_call):
        seen.append(LoyaltyTransaction.objects.count())
        connection.close()  # the receiver's own

    partner.on_call = record_transactions
    code = scan(brand, customer)
    work()

    [call] = partner.calls
    question = call.verified(made.secret)
    event = Event.objects.get(detail_type="scan-auth")
    assert (seen, points_of(customer)) == ([0], 10)
    assert call.headers["idempotency-key"] == call.headers["webhook-id"] == str(event.event_id)
    assert question["type"] == "accrual.requested"
    assert question["data"] == {
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


def test_where_none_is_configured_nothing_is_asked_and_no_lane_is_changed(brand, customer, partner):
    system(factories.brand(), partner)
    scan(brand, customer)
    worker.drain()

    assert (partner.calls, points_of(customer)) == ([], 10)
    assert Event.objects.get(detail_type="scan-auth").attempts == 1


def test_one_that_is_switched_off_is_not_asked(brand, customer, partner):
    system(brand, partner, is_active=False)
    scan(brand, customer)
    worker.drain()

    assert (partner.calls, points_of(customer)) == ([], 10)


def test_a_final_no_is_the_events_outcome(brand, customer, partner):
    system(brand, partner, when_rejected=WhenRejected.REJECT)
    partner.decides(decision="refuse", reason="Bought at a rival's")
    scan(brand, customer)
    work()

    event = Event.objects.get(detail_type="scan-auth")
    assert (event.status, event.outcome["error"]) == ("refused", "EXTERNALLY_REFUSED")
    assert event.outcome["details"] == {"reason": "Bought at a rival's"}
    assert (points_of(customer), Scan.objects.get().points_status) == (0, "not_eligible")


def test_a_brand_may_go_on_in_spite_of_a_no(brand, customer, partner):
    system(brand, partner, when_rejected=WhenRejected.PROCEED)
    partner.decides(decision="refuse")
    scan(brand, customer)
    work()

    assert (len(partner.calls), points_of(customer)) == (1, 10)


def test_a_no_may_hold_the_event_until_it_becomes_a_yes(brand, customer, partner):
    system(brand, partner, when_rejected=WhenRejected.HOLD)
    partner.decides(decision="refuse", reason="under review")
    scan(brand, customer)
    work()
    event = Event.objects.get(detail_type="scan-auth")
    waiting = external_system.postponed(brand_id=brand.pk)
    assert (event.status, points_of(customer), waiting.number) == ("pending", 0, 1)
    assert "Held. External loyalty system: rejected. under review" in event.last_error

    partner.decides(decision="proceed")
    hasten()
    work()
    assert (points_of(customer), external_system.postponed(brand_id=brand.pk).number) == (10, 0)
    assert len({call.headers["idempotency-key"] for call in partner.calls}) == 1


AWAY = {
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


@pytest.mark.parametrize("reply", AWAY.values(), ids=AWAY)
def test_no_usable_answer_holds_the_event(brand, customer, partner, reply):
    system(brand, partner)
    partner.answers(reply)
    scan(brand, customer)
    work()

    event = Event.objects.get(detail_type="scan-auth")
    assert (event.status, event.lane, points_of(customer)) == ("pending", "external", 0)
    assert event.last_error.startswith("RetryLater: Held. External loyalty system: no answer.")


def test_without_an_answer_a_brand_may_go_on(brand, customer, partner):
    system(brand, partner, when_away=WhenAway.PROCEED)
    partner.answers(500)
    scan(brand, customer)
    work()

    assert points_of(customer) == 10


def test_one_that_hangs_costs_two_seconds_in_all(brand, customer, partner):
    system(brand, partner, when_away=WhenAway.PROCEED)
    partner.answers(Reply(waits=20))
    scan(brand, customer)
    began = time.monotonic()
    work()

    assert 1.9 < time.monotonic() - began < 10  # two seconds, and what else the machine does
    assert points_of(customer) == 10


@pytest.mark.parametrize("reply", [Reply(503), Reply(502)], ids=["503", "502"])
def test_what_fails_for_a_moment_is_asked_again_at_once(brand, customer, partner, reply):
    system(brand, partner)
    partner.answers(reply, Reply(body=b'{"decision": "proceed"}'))
    scan(brand, customer)
    work()

    assert (len(partner.calls), points_of(customer)) == (2, 10)
    assert len({call.headers["idempotency-key"] for call in partner.calls}) == 1


def test_a_held_event_is_tried_for_three_days_and_then_waits_for_staff(brand, customer, partner):
    system(brand, partner)
    partner.answers(500)
    scan(brand, customer)
    work()
    event = Event.objects.get(detail_type="scan-auth")
    assert event.give_up_at - event.created_at > timedelta(hours=71)

    Event.objects.update(give_up_at=timezone.now() - timedelta(seconds=1))
    hasten()
    work()
    event.refresh_from_db()
    assert (event.status, points_of(customer)) == ("dead", 0)

    partner.decides(decision="proceed")
    external_system.breaker_of(ExternalSystem.objects.get()).succeeded()
    leases.redeliver(event=event, at=timezone.now())
    work()
    assert points_of(customer) == 10


def test_after_failures_in_a_row_it_is_left_alone_and_probed_later(brand, customer, partner):
    system(brand, partner)
    partner.answers(500)
    for _ in range(9):
        scan(brand, customer)
    work()
    assert len(partner.calls) == 5
    assert Event.objects.pending().count() == 9

    partner.decides(decision="proceed")
    hasten()
    work()
    assert len(partner.calls) == 5, "the breaker is open"

    end_cooldowns()
    hasten()
    work()
    hasten()
    work()
    assert points_of(customer) == 90


def test_one_brands_hanging_system_delays_no_other_brands_points(brand, customer, partner):
    system(brand, partner)
    partner.answers(Reply(waits=20))
    for _ in range(6):
        scan(brand, customer)
    other = factories.brand()
    factories.level(other)
    stranger = factories.customer(other)
    scan(other, stranger)
    worker.drain()

    assert points_of(stranger) == 10
    assert partner.calls == []


def test_milestone_rewards_that_were_won_are_not_asked_about(brand, customer, partner):
    system(brand, partner)
    factories.milestone(factories.campaign(brand), 1, auto_claim=True, reward_points=7)
    scan(brand, customer)
    work()
    worker.drain()

    assert (len(partner.calls), points_of(customer)) == (1, 17)


def test_the_first_accrual_of_a_new_customer_is_asked_about_too(brand, partner):
    system(brand, partner)
    stranger = factories.customer(brand, enrolled=False)
    scan(brand, stranger)
    work()

    assert (partner.calls[0].payload["data"]["user_point_id"], points_of(stranger)) == (None, 10)


def test_a_test_question_tells_what_came_of_it(brand, partner):
    made = system(brand, partner)
    partner.decides(decision="refuse", reason="I know nobody")
    verdict = external_system.test(system=made)

    assert (verdict.decision, verdict.reason) == ("refuse", "I know nobody")
    assert partner.calls[0].verified(made.secret)["type"] == "external.test"
    assert partner.calls[0].payload["data"] == {"message": "Hello."}


def test_a_good_test_closes_the_breaker(brand, partner):
    made = system(brand, partner)
    for _ in range(5):
        external_system.breaker_of(made).failed()
    external_system.test(system=made)

    assert not external_system.breaker_of(made).is_open()


def test_for_a_while_after_rotation_both_secrets_sign(brand, partner):
    made = system(brand, partner)
    old = made.secret
    signing_secrets.rotate(row=made, at=timezone.now(), grace=timedelta(hours=1))
    made.refresh_from_db()
    external_system.test(system=made)

    assert partner.calls[0].verified(old) == partner.calls[0].verified(made.secret)
