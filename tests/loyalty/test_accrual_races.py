"""Many claims at once, on parallel connections; each guard with a control that shows the race without it."""

import uuid
from collections.abc import Iterator

import pytest
from django.db import connection
from django.utils import timezone

from authcodes import reconcile
from authcodes.models import AuthCode
from loyalty import accrual, allowances, doors, events, ledger
from loyalty.doors import Action
from loyalty.models import Event, LoyaltyTransaction, UserPoints
from loyalty.refusals import PointsAlreadyClaimed
from tests import make
from tests.races import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = make.brand()
    make.level(made)
    return made


def asked(brand, customer, code) -> Action:
    return Action(
        brand=brand,
        key_kind="app",
        bearer_id=customer.pk,
        user_id=customer.pk,
        kind="scan-auth",
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
        idempotency_key="",
        at=timezone.now(),
    )


def claim_at_once(brand, customer, code, times):
    return at_once(lambda _number: doors.credit_now(asked(brand, customer, code)), range(times))


def test_of_a_hundred_claims_by_one_user_exactly_one_is_credited(brand):
    customer, code = make.customer(brand), make.code(brand, scan_limit=None)

    results = claim_at_once(brand, customer, code, 100)

    answers = [result for result in results if isinstance(result, dict)]
    refusals = {result.code for result in results if not isinstance(result, dict)}
    assert [answer["new_balance"] for answer in answers] == [10]
    assert refusals == {"POINTS_ALREADY_CLAIMED"}
    assert LoyaltyTransaction.objects.count() == 1
    assert list(reconcile.differences()) == []


@pytest.fixture
def ledger_without_its_constraint(transactional_db, monkeypatch) -> Iterator[None]:
    conflict = "ON CONFLICT (user_point_id, reason_id) DO NOTHING"
    assert conflict in ledger.CREDIT
    monkeypatch.setattr(ledger, "CREDIT", ledger.CREDIT.replace(conflict, ""))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_transaction DROP CONSTRAINT one_entry_per_reason")
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE loyalty_transaction CASCADE")
        cursor.execute(
            "ALTER TABLE loyalty_transaction ADD CONSTRAINT one_entry_per_reason UNIQUE (user_point_id, reason_id)"
        )


def test_control_without_the_constraint_several_are_credited(brand, ledger_without_its_constraint):
    customer, code = make.customer(brand), make.code(brand, scan_limit=None)

    claim_at_once(brand, customer, code, 100)

    assert LoyaltyTransaction.objects.count() > 1


def test_two_users_racing_for_one_slot_by_this_door_make_one_ledger_line(brand):
    customers, code = [make.customer(brand) for _ in range(50)], make.code(brand)

    results = at_once(lambda customer: doors.credit_now(asked(brand, customer, code)), customers)

    refusals = [result.code for result in results if not isinstance(result, dict)]
    assert refusals == ["SCAN_LIMIT_REACHED"] * 49
    assert (LoyaltyTransaction.objects.count(), AuthCode.objects.get().scan_count) == (1, 1)
    assert list(reconcile.differences()) == []


def test_awards_at_once_never_pass_a_daily_limit(brand):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = make.customer(brand), list(make.batch(brand, quantity=20).codes.all())

    at_once(lambda code: doors.credit_now(asked(brand, customer, code)), codes)

    assert UserPoints.objects.get().points == 35


def test_control_without_the_lock_awards_pass_the_limit(brand, monkeypatch):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = make.customer(brand), list(make.batch(brand, quantity=20).codes.all())
    monkeypatch.setattr(allowances.UserPoints.objects, "select_for_update", lambda: UserPoints.objects.all())

    at_once(lambda code: doors.credit_now(asked(brand, customer, code)), codes)

    assert UserPoints.objects.get().points > 35


def test_an_event_that_two_workers_hold_is_credited_once(brand):
    customer, code = make.customer(brand), make.code(brand)
    message = events.Message(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    events.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [held] = events.claim(limit=10)

    at_once(events.deliver, [held] * 10)

    assert (LoyaltyTransaction.objects.count(), UserPoints.objects.get().points) == (1, 10)
    assert Event.objects.get(event_id=message.event_id).status == "done"
    assert list(reconcile.differences()) == []


def test_an_attempt_that_lost_its_lease_leaves_nothing_behind(brand):
    customer, code = make.customer(brand), make.code(brand)
    message = events.Message(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    events.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [slow] = events.claim(limit=10)
    Event.objects.update(attempts=2)

    events.deliver(slow)

    assert not LoyaltyTransaction.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_the_same_envelope_sent_many_times_at_once_is_stored_once(brand):
    customer = make.customer(brand)
    event_id, at = uuid.uuid4(), timezone.now()

    def send(_number):
        envelope = {
            "id": event_id,
            "source": "shop.customer-app",
            "detail_type": "log-user-login",
            "account": "1",
            "region": "here",
            "time": at,
        }
        return doors.ingest(
            brand=brand, user_id=customer.pk, vouched=False, envelope=envelope, payload={"type": "login"}
        )

    results = at_once(send, range(30))

    assert sorted(results) == [False] * 29 + [True]
    assert Event.objects.count() == 1


def test_a_first_accrual_enrols_once_however_many_come_at_once(brand):
    customer = make.customer(brand, enrolled=False)
    codes = list(make.batch(brand, quantity=20).codes.all())

    at_once(lambda code: doors.credit_now(asked(brand, customer, code)), codes)

    account = UserPoints.objects.get()
    assert (account.points, account.points_earned) == (200, 200)


def test_progress_counts_every_one_of_many_actions_at_once(brand):
    campaign = make.campaign(brand)
    make.milestone(campaign, 10, auto_claim=True, reward_points=5)
    customer, codes = make.customer(brand), list(make.batch(brand, quantity=20).codes.all())

    at_once(lambda code: doors.credit_now(asked(brand, customer, code)), codes)
    events.drain()

    assert customer.campaign_progress.get().progress == 20
    assert UserPoints.objects.get().points == 20 * 10 + 5
    assert list(reconcile.differences()) == []


def test_the_refusal_is_the_ledgers_own(brand):
    account = make.account(make.customer(brand), brand)
    line = {"account": account.pk, "points": accrual.ZERO, "reason_id": "X", "note": "", "at": timezone.now()}

    results = at_once(lambda line: ledger.credit(**line), [line] * 20)

    assert [type(result) for result in results].count(PointsAlreadyClaimed) == 19
