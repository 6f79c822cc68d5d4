"""Returns at the same time as other returns, redemptions and releases; each guard with a control without it."""

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
from tests.support.concurrency import at_once, while_uncommitted
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    factories.earning_rule(made, "order-complete", value=10, reward_type="percentage")
    return made


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


def give_back(brand, customer, return_id="whole", amount=None):
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


def outcomes(results):
    return Counter("applied" if isinstance(each, AppliedReturn) else each.code for each in results)


def numbers(brand, customer):
    account = factories.account(customer, brand)
    return account.points, account.points_pending, account.points_owed


@pytest.fixture
def unlocked(monkeypatch):
    """Nobody waits for an account, and all think a moment between reading and writing."""
    read = returns.returned_before

    def read_and_think(*arguments):
        found = read(*arguments)
        time.sleep(0.1)
        return found

    monkeypatch.setattr(returns, "returned_before", read_and_think)
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


# --- Two partial returns ---------------------------------------------------------------------------------------------


def test_partial_returns_at_once_take_back_no_more_than_the_order_gave(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    results = at_once(lambda number: give_back(brand, customer, f"R-{number}", "30.00"), range(24))

    assert outcomes(results) == {"applied": 3, "RETURN_EXCEEDS_ORDER": 21}
    assert numbers(brand, customer) == (1, 0, 0)
    assert list(consistency.differences()) == []


def test_the_same_return_at_once_counts_once(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")

    results = at_once(lambda _number: give_back(brand, customer, "R-1", "30.00"), range(24))

    assert outcomes(results) == {"applied": 24}
    assert sum(each.order_event_id is not None for each in results) == OrderReturn.objects.count() == 1
    assert numbers(brand, customer) == (7, 0, 0)


@pytest.mark.usefixtures("unlocked")
def test_control_without_the_lock_more_is_returned_than_was_bought(brand, customer):
    shop.buy(brand, customer, subtotal="100.00")
    factories.points(customer, brand, 1000)

    at_once(lambda number: give_back(brand, customer, f"R-{number}", "30.00"), range(24))

    assert OrderReturn.objects.filter(status="applied").count() > 3
    assert "more was returned than the order gave" in {each.check for each in consistency.differences()}


# --- A return and a redemption ---------------------------------------------------------------------------------------


def test_a_return_that_waits_for_a_redemption_is_owed(brand, customer):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)

    result = while_uncommitted(lambda: factories.redemption(customer, reward), lambda: give_back(brand, customer))

    assert isinstance(result, AppliedReturn)
    assert numbers(brand, customer) == (0, 0, 10)
    assert list(consistency.differences()) == []


def test_a_redemption_that_waits_for_a_return_finds_nothing_to_spend(brand, customer):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)

    result = while_uncommitted(lambda: give_back(brand, customer), lambda: factories.redemption(customer, reward))

    assert result.code == "NOT_ENOUGH_POINTS"
    assert numbers(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_control_without_the_lock_only_the_databases_rule_saves_the_balance(brand, customer, monkeypatch):
    shop.buy(brand, customer)
    reward = factories.reward(brand, cost=10)
    monkeypatch.setattr(ledger, "REVERSE_POINTS", altered(ledger.REVERSE_POINTS, ("FOR NO KEY UPDATE", "")))

    def give_back_unlocked():
        monkeypatch.setattr(accounts, "lock", lambda **_: None)
        return give_back(brand, customer)

    result = while_uncommitted(lambda: factories.redemption(customer, reward), give_back_unlocked)

    assert isinstance(result, IntegrityError)
    assert numbers(brand, customer) == (0, 0, 0)


# --- A release and a return ------------------------------------------------------------------------------------------


@pytest.fixture
def pending(brand, customer):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    shop.buy(brand, customer)
    return DuePending(PendingPoints.objects.get().pk, factories.account(customer, brand).pk)


def release(pending):
    return releases.release(pending, at=timezone.now() + timedelta(days=15))


def test_a_return_that_waits_for_a_release_takes_the_points_from_the_balance(brand, customer, pending):
    result = while_uncommitted(lambda: release(pending), lambda: give_back(brand, customer))

    assert result.answer["points_reversed"] == 10
    assert numbers(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_a_release_that_waits_for_a_return_finds_nothing_pending(brand, customer, pending):
    result = while_uncommitted(lambda: give_back(brand, customer), lambda: release(pending))

    assert result is None
    assert numbers(brand, customer) == (0, 0, 0)
    assert list(consistency.differences()) == []


def test_many_releases_at_once_release_once(brand, customer, pending):
    results = at_once(lambda _number: release(pending), range(24))

    assert sum(each is not None for each in results) == 1
    assert LoyaltyTransaction.objects.filter(reason="released").count() == 1
    assert numbers(brand, customer) == (10, 0, 0)
    assert list(consistency.differences()) == []


def test_control_without_the_condition_and_the_lock_a_release_would_pay_what_was_returned(
    brand, customer, pending, monkeypatch
):
    unguarded = altered(ledger.RELEASE_POINTS, ("FOR NO KEY UPDATE OF a, p", ""))

    def release_unlocked():
        monkeypatch.setattr(ledger, "RELEASE_POINTS", unguarded)
        monkeypatch.setattr(accounts, "lock", lambda **_: None)
        return release(pending)

    result = while_uncommitted(lambda: give_back(brand, customer), release_unlocked)

    # Nothing but the balance's constraint stands in its way, or not even that.
    assert isinstance(result, IntegrityError | ledger.Release)
