"""Many claims at once, on parallel connections; each guard with a control that shows the race without it."""

import time
import uuid
from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.scanning import consistency
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from campaigns.accrual import decide, snapshot, write
from campaigns.intake import campaign_event
from campaigns.intake.campaign_event import Action
from events import delivery, leases, messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts, ledger
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    return made


def scan_action(brand, customer, code) -> Action:
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


def scan(customer, code):
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))


def claim_at_once(brand, customer, code, times):
    return at_once(
        lambda _number: campaign_event.process_campaign_event(scan_action(brand, customer, code)), range(times)
    )


@pytest.mark.parametrize("scanned", [False, True], ids=["each brings its scan", "scanned before"])
def test_of_a_hundred_claims_by_one_user_exactly_one_is_credited(brand, scanned):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    if scanned:
        scan(customer, code)

    results = claim_at_once(brand, customer, code, 100)

    answers = [result for result in results if isinstance(result, dict)]
    refusals = {result.code for result in results if not isinstance(result, dict)}
    assert [answer["new_balance"] for answer in answers] == [10]
    assert refusals == {"POINTS_ALREADY_CLAIMED"}
    assert LoyaltyTransaction.objects.count() == 1
    assert list(consistency.differences()) == []


@pytest.fixture
def accounts_unguarded(monkeypatch):
    """Nobody waits for an account, nor sees that it has changed; and all think a moment between reading and writing."""

    def think_after(fetch_many):
        def read_and_think(*arguments):
            found = fetch_many(*arguments)
            time.sleep(0.05)
            return found

        return read_and_think

    monkeypatch.setattr(snapshot, "fetch_many", think_after(snapshot.fetch_many))
    monkeypatch.setattr(decide, "binding_limit", think_after(decide.binding_limit))
    version = "AND a.xmin = ANY (ARRAY[i.version::xid])"
    guarded = write.statement_with
    monkeypatch.setattr(write, "statement_with", lambda parts: altered(guarded(parts), (version, "")))
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


@pytest.fixture
def ledger_without_its_constraint(transactional_db) -> Iterator[None]:
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_transaction DROP CONSTRAINT one_entry_per_reason")
    yield
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE loyalty_transaction CASCADE")
        cursor.execute(
            "ALTER TABLE loyalty_transaction ADD CONSTRAINT one_entry_per_reason UNIQUE (user_point_id, reason_id)"
        )


@pytest.mark.usefixtures("accounts_unguarded", "ledger_without_its_constraint")
def test_control_without_guard_and_constraint_several_are_credited(brand):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    scan(customer, code)

    claim_at_once(brand, customer, code, 100)

    assert LoyaltyTransaction.objects.count() > 1


@pytest.mark.usefixtures("accounts_unguarded")
def test_without_the_guard_the_constraint_still_lets_only_one_through(brand):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    scan(customer, code)

    claim_at_once(brand, customer, code, 100)

    assert LoyaltyTransaction.objects.count() == 1
    assert list(consistency.differences()) == []


def balances_reported(brand, customer):
    """What each of many accepted scans, delivered at once, was told to be the balance after it."""
    for code in factories.batch(brand, quantity=20).codes.all():
        scan(customer, code)
    at_once(delivery.deliver, leases.claim(limit=20))
    return sorted(event.outcome["new_balance"] for event in Event.objects.filter(detail_type="scan-auth"))


def test_each_of_many_scans_at_once_is_told_its_own_balance(brand):
    assert balances_reported(brand, factories.customer(brand)) == list(range(10, 210, 10))
    assert list(consistency.differences()) == []


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_without_the_version_some_are_told_the_same_balance(brand):
    assert len(set(balances_reported(brand, factories.customer(brand)))) < 20


def portions_delivered_at_once(brand, customers):
    """Eight workers with portions of their own, in which the same customers come up again and again."""
    people = [factories.customer(brand) for _ in range(customers)]
    for number, code in enumerate(factories.batch(brand, quantity=40).codes.all()):
        scan(people[number % customers], code)
    at_once(delivery.deliver_events, [leases.claim(limit=5) for _ in range(8)], threads=8)


@pytest.mark.parametrize("customers", [2, 7])
def test_portions_at_once_credit_each_event_once(brand, customers):
    portions_delivered_at_once(brand, customers)

    assert not Event.objects.pending().exists()
    assert LoyaltyTransaction.objects.count() == 40
    assert list(consistency.differences()) == []


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_without_the_version_portions_tell_the_same_balance(brand):
    portions_delivered_at_once(brand, 2)

    outcomes = Event.objects.filter(detail_type="scan-auth").values_list("detail__arguments__user_id", "outcome")
    balances = {(user, outcome["new_balance"]) for user, outcome in outcomes}
    assert len(balances) < 40


def test_an_event_that_two_portions_hold_is_credited_once(brand):
    people = [factories.customer(brand) for _ in range(5)]
    for customer, code in zip(people, factories.batch(brand, quantity=5).codes.all(), strict=True):
        scan(customer, code)
    held = leases.claim(limit=5)

    at_once(delivery.deliver_events, [held] * 6, threads=6)

    assert LoyaltyTransaction.objects.count() == 5
    assert list(consistency.differences()) == []


def test_a_portion_that_lost_its_lease_leaves_nothing_behind(brand):
    people = [factories.customer(brand) for _ in range(3)]
    for customer, code in zip(people, factories.batch(brand, quantity=3).codes.all(), strict=True):
        scan(customer, code)
    held = leases.claim(limit=3)
    lost = held[0]
    Event.objects.filter(pk=lost.id).update(attempts=2)

    delivery.deliver_events(held)

    assert LoyaltyTransaction.objects.count() == 2
    assert list(Event.objects.pending().filter(detail_type="scan-auth").values_list("pk", flat=True)) == [lost.id]
    assert list(consistency.differences()) == []


def test_what_changed_between_reading_and_writing_is_read_again(brand, monkeypatch):
    customer, code = factories.customer(brand), factories.code(brand)
    scan(customer, code)
    fetch_many, times = snapshot.fetch_many, []

    def read_and_be_overtaken(requests):
        [found] = fetch_many(requests)
        times.append(found.balance)
        if len(times) == 1:
            account = factories.account(customer, brand).pk
            ledger.credit(account=account, points=Decimal(7), reason_id="meanwhile", note="", at=timezone.now())
        return [found]

    monkeypatch.setattr(snapshot, "fetch_many", read_and_be_overtaken)
    worker.drain()

    assert times == [0, 7]
    assert Event.objects.get(detail_type="scan-auth").outcome["new_balance"] == 17
    assert list(consistency.differences()) == []


def test_two_users_racing_for_one_slot_by_this_door_make_one_ledger_line(brand):
    customers, code = [factories.customer(brand) for _ in range(50)], factories.code(brand)

    results = at_once(
        lambda customer: campaign_event.process_campaign_event(scan_action(brand, customer, code)), customers
    )

    refusals = [result.code for result in results if not isinstance(result, dict)]
    assert refusals == ["SCAN_LIMIT_REACHED"] * 49
    assert (LoyaltyTransaction.objects.count(), AuthCode.objects.get().scan_count) == (1, 1)
    assert list(consistency.differences()) == []


def test_awards_at_once_never_pass_a_daily_limit(brand):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    at_once(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    assert UserPoints.objects.get().points == 35


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_without_the_lock_awards_pass_the_limit(brand):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    at_once(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    assert UserPoints.objects.get().points > 35


def test_an_event_that_two_workers_hold_is_credited_once(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    message = messages.NewEvent(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [held] = leases.claim(limit=10)

    at_once(delivery.deliver, [held] * 10)

    assert (LoyaltyTransaction.objects.count(), UserPoints.objects.get().points) == (1, 10)
    assert Event.objects.get(event_id=message.event_id).status == "done"
    assert list(consistency.differences()) == []


def test_an_attempt_that_lost_its_lease_leaves_nothing_behind(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    message = messages.NewEvent(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [slow] = leases.claim(limit=10)
    Event.objects.update(attempts=2)

    delivery.deliver(slow)

    assert not LoyaltyTransaction.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_the_same_envelope_sent_many_times_at_once_is_stored_once(brand):
    customer = factories.customer(brand)
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
        return campaign_event.ingest(
            brand=brand, user_id=customer.pk, token_verified=False, envelope=envelope, payload={"type": "login"}
        )

    results = at_once(send, range(30))

    assert sorted(results) == [False] * 29 + [True]
    assert Event.objects.count() == 1


def test_a_first_accrual_enrols_once_however_many_come_at_once(brand):
    customer = factories.customer(brand, enrolled=False)
    codes = list(factories.batch(brand, quantity=20).codes.all())

    at_once(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    account = UserPoints.objects.get()
    assert (account.points, account.points_earned) == (200, 200)


def test_progress_counts_every_one_of_many_actions_at_once(brand):
    campaign = factories.campaign(brand, target_value=20)
    factories.milestone(campaign, 10, auto_claim=True, reward_points=5)
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    at_once(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)
    worker.drain()

    assert customer.campaign_progress.get().progress == 20
    assert UserPoints.objects.get().points == 20 * 10 + 5
    assert list(consistency.differences()) == []
