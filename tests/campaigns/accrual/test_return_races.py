"""Returns concurrent with other returns, redemptions and releases, each guard with a control without it."""

import time
from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from authcodes.scanning import consistency
from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import OrderReturn
from loyalty.models.pending import PendingPoints
from loyalty.orders import releases, returns
from loyalty.orders.releases import DuePending
from loyalty.orders.returns import AppliedReturn, OrderReturnRequest
from loyalty.orders.shares import ReturnRequest
from loyalty.points import accounts, ledger
from tests.support import factories, shop
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand)
    factories.earning_rule(new_brand, "order-complete", value=10, reward_type="percentage")
    return new_brand


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


def return_order(brand, customer, return_id="whole", amount=None):
    request = OrderReturnRequest(
        brand_id=brand.pk,
        user_id=customer.pk,
        order_id="A-1",
        return_id=return_id,
        kind="order-returned",
        currency="",
        requested=ReturnRequest(amount=Decimal(amount) if amount else None),
        event=0,
        at=timezone.now(),
    )
    with transaction.atomic():
        return returns.apply(request, cause=return_id)


def outcome_counts(results):
    return Counter("applied" if isinstance(each, AppliedReturn) else each.code for each in results)


def point_totals(brand, customer):
    account = factories.account(customer, brand)
    return account.points, account.points_pending, account.points_owed


@pytest.fixture
def unlocked(monkeypatch):
    """Accounts are not locked, and every thread pauses between reading and writing."""
    read = returns.returned_before

    def read_and_pause(*arguments):
        result = read(*arguments)
        time.sleep(0.1)
        return result

    monkeypatch.setattr(returns, "returned_before", read_and_pause)
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


# --- Two partial returns ---------------------------------------------------------------------------------------------


def test_concurrent_partial_returns_reverse_no_more_than_the_order_earned(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    results = run_concurrently(lambda number: return_order(brand, customer, f"R-{number}", "30.00"), range(24))

    assert outcome_counts(results) == {"applied": 3, "RETURN_EXCEEDS_ORDER": 21}
    assert point_totals(brand, customer) == (1, 0, 0)
    assert list(consistency.differences()) == []


def test_return_sent_many_times_concurrently_counts_once(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    results = run_concurrently(lambda _number: return_order(brand, customer, "R-1", "30.00"), range(24))

    assert outcome_counts(results) == {"applied": 24}
    assert sum(each.order_event_id is not None for each in results) == OrderReturn.objects.count() == 1
    assert point_totals(brand, customer) == (7, 0, 0)


@pytest.mark.usefixtures("unlocked")
def test_control_more_is_returned_than_was_bought_without_the_lock(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")
    factories.points(customer, brand, 1000)

    run_concurrently(lambda number: return_order(brand, customer, f"R-{number}", "30.00"), range(24))

    assert OrderReturn.objects.filter(status="applied").count() > 3
    assert "more was returned than the order gave" in {each.check for each in consistency.differences()}


# --- A return and a redemption ---------------------------------------------------------------------------------------


def test_return_during_a_redemption_becomes_points_owed(brand, customer):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)

    result = run_during_transaction(
        lambda: factories.redemption(customer, reward), lambda: return_order(brand, customer)
    )

    assert isinstance(result, AppliedReturn)
    assert point_totals(brand, customer) == (0, 0, 10)
    assert list(consistency.differences()) == []


def test_redemption_during_a_return_fails_for_lack_of_points(brand, customer):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)

    result = run_during_transaction(
        lambda: return_order(brand, customer), lambda: factories.redemption(customer, reward)
    )

    assert result.code == "NOT_ENOUGH_POINTS"
    assert point_totals(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_control_only_a_constraint_protects_the_balance_without_the_lock(brand, customer, monkeypatch):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)
    monkeypatch.setattr(ledger, "REVERSE_POINTS", with_replacements(ledger.REVERSE_POINTS, ("FOR NO KEY UPDATE", "")))

    def return_order_unlocked():
        monkeypatch.setattr(accounts, "lock", lambda **_: None)
        return return_order(brand, customer)

    result = run_during_transaction(lambda: factories.redemption(customer, reward), return_order_unlocked)

    assert isinstance(result, IntegrityError)
    assert point_totals(brand, customer) == (0, 0, 0)


# --- A release and a return ------------------------------------------------------------------------------------------


@pytest.fixture
def pending(brand, customer):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    shop.buy(brand, customer)
    return DuePending(PendingPoints.objects.get().pk, factories.account(customer, brand).pk)


def release(pending):
    return releases.release(pending, at=timezone.now() + timedelta(days=15))


def test_return_during_a_release_reverses_points_of_the_balance(brand, customer, pending):
    result = run_during_transaction(lambda: release(pending), lambda: return_order(brand, customer))

    assert result.answer["points_reversed"] == 10
    assert point_totals(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_release_during_a_return_finds_nothing_pending(brand, customer, pending):
    result = run_during_transaction(lambda: return_order(brand, customer), lambda: release(pending))

    assert result is None
    assert point_totals(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_concurrent_releases_release_points_once(brand, customer, pending):
    results = run_concurrently(lambda _number: release(pending), range(24))

    assert sum(each is not None for each in results) == 1
    assert LoyaltyTransaction.objects.filter(reason="released").count() == 1
    assert point_totals(brand, customer) == (10, 0, 0)
    assert list(consistency.differences()) == []


@pytest.fixture
def release_unlocked(pending, monkeypatch):
    """Return the release of the pending points without its locks, which are there until it is called."""
    unguarded = with_replacements(ledger.RELEASE_POINTS, ("FOR NO KEY UPDATE OF a, p", ""))

    def release_without_locks():
        monkeypatch.setattr(ledger, "RELEASE_POINTS", unguarded)
        monkeypatch.setattr(accounts, "lock", lambda **_: None)
        return release(pending)

    return release_without_locks


def test_control_release_pays_returned_points_without_the_lock(brand, customer, release_unlocked):
    """Points of another order are pending, so no constraint prevents it."""
    shop.buy(brand, customer, "A-2")

    result = run_during_transaction(lambda: return_order(brand, customer), release_unlocked)

    assert (result.points, result.reason_id) == (10, "order:A-1")
    assert point_totals(brand, customer) == (10, 0, 0)
    assert PendingPoints.objects.get(entry__reason_id="order:A-2").remaining == 10
    assert list(consistency.differences()) != []


def test_control_only_a_constraint_protects_pending_points_without_the_lock(brand, customer, release_unlocked):
    result = run_during_transaction(lambda: return_order(brand, customer), release_unlocked)

    assert isinstance(result, IntegrityError)
    assert point_totals(brand, customer) == (0, 0, 0)
