"""Concurrent accruals on parallel connections. For each guard, a control shows the race without it."""

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
from tests.support.concurrency import run_concurrently
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand)
    return new_brand


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


def accrue_concurrently(brand, customer, code, times):
    return run_concurrently(
        lambda _number: campaign_event.process_campaign_event(scan_action(brand, customer, code)), range(times)
    )


@pytest.mark.parametrize("scanned_before", [False, True], ids=["accrual scans the code", "code scanned before"])
def test_one_of_a_hundred_concurrent_accruals_of_a_code_is_credited(brand, scanned_before):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    if scanned_before:
        scan(customer, code)

    results = accrue_concurrently(brand, customer, code, 100)

    answers = [result for result in results if isinstance(result, dict)]
    error_codes = {result.code for result in results if not isinstance(result, dict)}
    assert [answer["new_balance"] for answer in answers] == [10]
    assert error_codes == {"POINTS_ALREADY_CLAIMED"}
    assert LoyaltyTransaction.objects.count() == 1
    assert list(consistency.differences()) == []


@pytest.fixture
def accounts_unguarded(monkeypatch):
    """Accounts are neither locked nor checked for changes, and every worker pauses between reading and writing."""

    def paused_after(fetch_many):
        def read_and_pause(*arguments):
            result = fetch_many(*arguments)
            time.sleep(0.05)
            return result

        return read_and_pause

    monkeypatch.setattr(snapshot, "fetch_many", paused_after(snapshot.fetch_many))
    monkeypatch.setattr(decide, "binding_limit", paused_after(decide.binding_limit))
    version = "AND a.xmin = ANY (ARRAY[i.version::xid])"
    original_statement_with = write.statement_with
    monkeypatch.setattr(
        write, "statement_with", lambda parts: with_replacements(original_statement_with(parts), (version, ""))
    )
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


@pytest.fixture
def ledger_without_unique_constraint(transactional_db) -> Iterator[None]:
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_transaction DROP CONSTRAINT one_entry_per_reason")
    yield
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE loyalty_transaction CASCADE")
        cursor.execute(
            "ALTER TABLE loyalty_transaction ADD CONSTRAINT one_entry_per_reason UNIQUE (user_point_id, reason_id)"
        )


@pytest.mark.usefixtures("accounts_unguarded", "ledger_without_unique_constraint")
def test_control_several_accruals_are_credited_without_guard_and_constraint(brand):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    scan(customer, code)

    accrue_concurrently(brand, customer, code, 100)

    assert LoyaltyTransaction.objects.count() > 1


@pytest.mark.usefixtures("accounts_unguarded")
def test_constraint_alone_still_credits_only_one_accrual(brand):
    customer, code = factories.customer(brand), factories.code(brand, scan_limit=None)
    scan(customer, code)

    accrue_concurrently(brand, customer, code, 100)

    assert LoyaltyTransaction.objects.count() == 1
    assert list(consistency.differences()) == []


def balances_reported(brand, customer):
    """The balance that each of many accepted scans, delivered concurrently, reported after it."""
    for code in factories.batch(brand, quantity=20).codes.all():
        scan(customer, code)
    run_concurrently(delivery.deliver, leases.claim(limit=20))
    return sorted(event.outcome["new_balance"] for event in Event.objects.filter(detail_type="scan-auth"))


def test_concurrent_scans_each_report_their_own_balance(brand):
    assert balances_reported(brand, factories.customer(brand)) == list(range(10, 210, 10))
    assert list(consistency.differences()) == []


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_some_scans_report_the_same_balance_without_version_check(brand):
    assert len(set(balances_reported(brand, factories.customer(brand)))) < 20


def deliver_portions_concurrently(brand, customer_count):
    """Eight workers deliver one portion each; every customer occurs in several portions."""
    customers = [factories.customer(brand) for _ in range(customer_count)]
    for number, code in enumerate(factories.batch(brand, quantity=40).codes.all()):
        scan(customers[number % customer_count], code)
    run_concurrently(delivery.deliver_events, [leases.claim(limit=5) for _ in range(8)], threads=8)


@pytest.mark.parametrize("customer_count", [2, 7])
def test_concurrent_portions_credit_each_event_once(brand, customer_count):
    deliver_portions_concurrently(brand, customer_count)

    assert not Event.objects.pending().exists()
    assert LoyaltyTransaction.objects.count() == 40
    assert list(consistency.differences()) == []


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_portions_report_the_same_balance_without_version_check(brand):
    deliver_portions_concurrently(brand, 2)

    outcomes = Event.objects.filter(detail_type="scan-auth").values_list("detail__arguments__user_id", "outcome")
    balances = {(user, outcome["new_balance"]) for user, outcome in outcomes}
    assert len(balances) < 40


def test_event_leased_by_several_portions_is_credited_once(brand):
    customers = [factories.customer(brand) for _ in range(5)]
    for customer, code in zip(customers, factories.batch(brand, quantity=5).codes.all(), strict=True):
        scan(customer, code)
    leased = leases.claim(limit=5)

    run_concurrently(delivery.deliver_events, [leased] * 6, threads=6)

    assert LoyaltyTransaction.objects.count() == 5
    assert list(consistency.differences()) == []


def test_portion_skips_an_event_whose_lease_was_lost(brand):
    customers = [factories.customer(brand) for _ in range(3)]
    for customer, code in zip(customers, factories.batch(brand, quantity=3).codes.all(), strict=True):
        scan(customer, code)
    leased = leases.claim(limit=3)
    lost = leased[0]
    Event.objects.filter(pk=lost.id).update(attempts=2)

    delivery.deliver_events(leased)

    assert LoyaltyTransaction.objects.count() == 2
    assert list(Event.objects.pending().filter(detail_type="scan-auth").values_list("pk", flat=True)) == [lost.id]
    assert list(consistency.differences()) == []


def test_account_changed_between_read_and_write_is_read_again(brand, monkeypatch):
    customer, code = factories.customer(brand), factories.code(brand)
    scan(customer, code)
    fetch_many, balances_read = snapshot.fetch_many, []

    def read_then_change_account(requests):
        [account_snapshot] = fetch_many(requests)
        balances_read.append(account_snapshot.balance)
        if len(balances_read) == 1:
            account = factories.account(customer, brand).pk
            ledger.credit(account=account, points=Decimal(7), reason_id="meanwhile", note="", at=timezone.now())
        return [account_snapshot]

    monkeypatch.setattr(snapshot, "fetch_many", read_then_change_account)
    worker.drain()

    assert balances_read == [0, 7]
    assert Event.objects.get(detail_type="scan-auth").outcome["new_balance"] == 17
    assert list(consistency.differences()) == []


def test_fifty_customers_racing_for_one_scan_create_one_ledger_entry(brand):
    customers, code = [factories.customer(brand) for _ in range(50)], factories.code(brand)

    results = run_concurrently(
        lambda customer: campaign_event.process_campaign_event(scan_action(brand, customer, code)), customers
    )

    error_codes = [result.code for result in results if not isinstance(result, dict)]
    assert error_codes == ["SCAN_LIMIT_REACHED"] * 49
    assert (LoyaltyTransaction.objects.count(), AuthCode.objects.get().scan_count) == (1, 1)
    assert list(consistency.differences()) == []


def test_concurrent_accruals_never_exceed_the_daily_point_limit(brand):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    run_concurrently(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    assert UserPoints.objects.get().points == 35


@pytest.mark.usefixtures("accounts_unguarded")
def test_control_concurrent_accruals_exceed_the_limit_without_the_lock(brand):
    brand.daily_point_limit = 35
    brand.save()
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    run_concurrently(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    assert UserPoints.objects.get().points > 35


def test_event_leased_by_several_workers_is_credited_once(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    message = messages.NewEvent(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [leased] = leases.claim(limit=10)

    run_concurrently(delivery.deliver, [leased] * 10)

    assert (LoyaltyTransaction.objects.count(), UserPoints.objects.get().points) == (1, 10)
    assert Event.objects.get(event_id=message.event_id).status == "done"
    assert list(consistency.differences()) == []


def test_attempt_that_lost_its_lease_writes_nothing(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    message = messages.NewEvent(
        kind="scan-auth",
        arguments={"brand_id": brand.pk, "user_id": customer.pk},
        payload={"type": "authenticator_scan", "product": {"authCode": code.code}},
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    [lost] = leases.claim(limit=10)
    Event.objects.update(attempts=2)

    delivery.deliver(lost)

    assert not LoyaltyTransaction.objects.exists()
    assert AuthCode.objects.get().scan_count == 0


def test_envelope_sent_many_times_concurrently_is_stored_once(brand):
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

    results = run_concurrently(send, range(30))

    assert sorted(results) == [False] * 29 + [True]
    assert Event.objects.count() == 1


def test_concurrent_first_accruals_enrol_the_member_once(brand):
    customer = factories.customer(brand, enrolled=False)
    codes = list(factories.batch(brand, quantity=20).codes.all())

    run_concurrently(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)

    account = UserPoints.objects.get()
    assert (account.points, account.points_earned) == (200, 200)


def test_progress_counts_every_concurrent_action(brand):
    campaign = factories.campaign(brand, target_value=20)
    factories.milestone(campaign, 10, auto_claim=True, reward_points=5)
    customer, codes = factories.customer(brand), list(factories.batch(brand, quantity=20).codes.all())

    run_concurrently(lambda code: campaign_event.process_campaign_event(scan_action(brand, customer, code)), codes)
    worker.drain()

    assert customer.campaign_progress.get().progress == 20
    assert UserPoints.objects.get().points == 20 * 10 + 5
    assert list(consistency.differences()) == []
