"""Merges that are concurrent with other changes of the accounts, and the races that occur without the guards."""

import time
import uuid
from decimal import Decimal

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from events import worker
from loyalty.errors import MemberBlocked, MemberMerged
from loyalty.merges import merge as merging
from loyalty.models.ledger import AccountMerge, LoyaltyTransaction
from loyalty.orders import releases
from loyalty.orders.releases import DuePending
from loyalty.points import accounts
from loyalty.points.adjustments import adjust
from loyalty.rewards import cancellation, redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.loyalty.merges.conftest import merge_accounts, undo_merge
from tests.support import factories, shop
from tests.support.concurrency import run_concurrently, run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand)
    factories.earning_rule(new_brand, "order-complete", value=10, reward_type="percentage")
    return new_brand


@pytest.fixture
def target(brand):
    return factories.customer(brand)


@pytest.fixture
def source(brand):
    return factories.customer(brand)


def balances(brand, *members):
    return [factories.account(each, brand).points for each in members]


def order(number):
    return {"type": "order", "order": {"orderId": f"A-{number}", "subtotal": "100.00"}}


def test_orders_of_the_source_during_a_merge_are_credited_once(brand, target, source):
    """Each of them is credited once, before or after the merge."""
    for number in range(12):
        shop.send(brand, source, "order-complete", order(number))
    tasks = [*([worker.drain] * 4), lambda: merge_accounts(brand, target, source)]

    results = run_concurrently(lambda task: task(), tasks)
    worker.drain()

    assert [each for each in results if isinstance(each, Exception)] == []
    assert balances(brand, target, source) == [120, 0]
    assert LoyaltyTransaction.objects.filter(reason_id__startswith="order:").count() == 12
    assert shop.inconsistencies() == []


def test_order_waiting_for_a_merge_is_credited_to_the_target(brand, target, source):
    shop.send(brand, source, "order-complete", order(1))

    run_during_transaction(lambda: merge_accounts(brand, target, source), worker.drain)
    worker.drain()

    assert balances(brand, target, source) == [10, 0]
    assert shop.inconsistencies() == []


def test_control_without_the_status_check_an_order_is_credited_to_the_source(brand, target, source, monkeypatch):
    """Without the check, an accrual that does not see the merge credits an account that is no longer used."""
    monkeypatch.setattr("campaigns.accrual.decide.CLOSED", ())
    shop.send(brand, source, "order-complete", order(1))

    run_during_transaction(lambda: merge_accounts(brand, target, source), worker.drain)
    worker.drain()

    assert balances(brand, target, source) == [0, 10]
    assert [row[0] for row in shop.inconsistencies()] == ["merge is not what ledger and accounts say"]


def redemption_request(brand, member, reward):
    return RedemptionRequest(brand.pk, member.pk, reward.pk, uuid.uuid4(), timezone.now())


def test_redemption_waiting_for_a_merge_fails_and_takes_no_points(brand, target, source):
    factories.points(source, brand, 10)
    reward = factories.reward(brand, cost=10)

    result = run_during_transaction(
        lambda: merge_accounts(brand, target, source), lambda: redeem.redeem(redemption_request(brand, source, reward))
    )

    assert isinstance(result, MemberBlocked)
    assert balances(brand, target, source) == [10, 0]
    assert shop.inconsistencies() == []


def test_redemption_before_a_merge_moves_to_the_target(brand, target, source):
    factories.points(source, brand, 10)
    reward = factories.reward(brand, cost=10)

    account_merge = run_during_transaction(
        lambda: redeem.redeem(redemption_request(brand, source, reward)), lambda: merge_accounts(brand, target, source)
    )

    assert isinstance(account_merge, AccountMerge)
    assert (account_merge.points, len(account_merge.moved["redemptions"])) == (0, 1)
    assert balances(brand, target, source) == [0, 0]
    assert shop.inconsistencies() == []


def adjustment(brand, member, points):
    """An adjustment of the account as it is now."""
    account, context = factories.account(member, brand), AuditContext(None, timezone.now(), "", "For you")
    return lambda: adjust(account=account, points=Decimal(points), key=uuid.uuid4(), audit_context=context)


@pytest.mark.parametrize("points", [10, -10])
def test_adjustment_waiting_for_a_merge_changes_no_ended_account(brand, target, source, points):
    factories.points(source, brand, 10)

    result = run_during_transaction(lambda: merge_accounts(brand, target, source), adjustment(brand, source, points))

    assert isinstance(result, MemberMerged)
    assert balances(brand, target, source) == [10, 0]
    assert shop.inconsistencies() == []


def test_control_without_the_lock_an_adjustment_changes_the_ended_account(brand, target, source, monkeypatch):
    monkeypatch.setattr(accounts, "lock", lambda **_: None)
    factories.points(source, brand, 10)

    run_during_transaction(lambda: merge_accounts(brand, target, source), adjustment(brand, source, 10))

    assert balances(brand, target, source) == [10, 10]
    assert [row[0] for row in shop.inconsistencies()] == ["merge is not what ledger and accounts say"]


def test_cancellation_waiting_for_a_merge_returns_the_points_to_the_target(brand, target, source):
    factories.points(source, brand, 10)
    redemption = redeem.redeem(redemption_request(brand, source, factories.reward(brand, cost=10)))
    context = AuditContext(None, timezone.now(), "", "Sold out")

    result = run_during_transaction(
        lambda: merge_accounts(brand, target, source),
        lambda: cancellation.cancel(redemption=redemption, audit_context=context),
    )

    assert result is None
    assert balances(brand, target, source) == [10, 0]
    assert shop.inconsistencies() == []


@pytest.fixture
def without_locks(monkeypatch):
    """Switches off the locks of accounts, and pauses each merge between reading and writing."""
    make = merging.make

    def pause_and_make(*details):
        time.sleep(0.1)
        return make(*details)

    monkeypatch.setattr(merging, "make", pause_and_make)
    monkeypatch.setattr(accounts, "lock_many", lambda **_: None)


def merge_in_both_directions(brand, target, source):
    return run_concurrently(lambda pair: merge_accounts(brand, *pair), [(target, source), (source, target)])


def test_concurrent_merges_in_opposite_directions_succeed_once(brand, target, source):
    factories.points(source, brand, 10)
    factories.points(target, brand, 5)

    results = merge_in_both_directions(brand, target, source)

    assert sorted(type(each).__name__ for each in results) == ["AccountMerge", "MergeNotPossible"]
    assert sorted(balances(brand, target, source)) == [0, 15]
    assert shop.inconsistencies() == []


def test_control_without_the_locks_opposite_merges_both_succeed(brand, target, source, without_locks):
    """Neither of the two merges sees the other, so both accounts end."""
    factories.points(source, brand, 10)
    factories.points(target, brand, 5)

    results = merge_in_both_directions(brand, target, source)

    assert [type(each).__name__ for each in results] == ["AccountMerge", "AccountMerge"]
    assert [factories.account(each, brand).status for each in (target, source)] == ["merged", "merged"]
    assert {row[0] for row in shop.inconsistencies()} == {"merge is not what ledger and accounts say"}


def test_concurrent_merges_with_one_key_merge_once(brand, target, source):
    factories.points(source, brand, 10)
    key = uuid.uuid4()

    results = run_concurrently(lambda _: merge_accounts(brand, target, source, key=key), range(8))

    assert {each.pk for each in results} == {AccountMerge.objects.get().pk}
    assert balances(brand, target, source) == [10, 0]


def test_concurrent_merges_of_one_source_succeed_once(brand, target, source):
    third = factories.customer(brand)
    factories.points(source, brand, 10)

    results = run_concurrently(lambda other_target: merge_accounts(brand, other_target, source), [target, third])

    assert sum(isinstance(each, AccountMerge) for each in results) == 1
    assert sorted(balances(brand, target, source, third)) == [0, 0, 10]
    assert shop.inconsistencies() == []


def test_concurrent_undos_take_effect_once(brand, target, source):
    factories.points(source, brand, 10)
    account_merge = merge_accounts(brand, target, source)

    results = run_concurrently(lambda _: undo_merge(account_merge), range(8))

    assert {each.undone_at for each in results} == {AccountMerge.objects.get().undone_at}
    assert balances(brand, target, source) == [0, 10]
    assert shop.inconsistencies() == []


def test_concurrent_redemption_and_undo_do_not_both_succeed(brand, target, source):
    """Either the points go back, or they are spent and the undo fails."""
    factories.points(source, brand, 10)
    account_merge = merge_accounts(brand, target, source)
    reward = factories.reward(brand, cost=10)

    results = run_concurrently(
        lambda task: task(),
        [lambda: undo_merge(account_merge), lambda: redeem.redeem(redemption_request(brand, target, reward))],
    )

    assert sum(isinstance(each, Exception) for each in results) == 1, results
    assert sum(balances(brand, target, source)) in (0, 10)
    assert shop.inconsistencies() == []


def test_release_of_pending_points_during_a_merge_is_made_up_for_the_target(brand, target, source):
    type(brand).objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    shop.buy(brand, source)
    at = timezone.now() + timezone.timedelta(days=15)
    account = factories.account(source, brand).pk
    [entry] = LoyaltyTransaction.objects.filter(reason="pending").values_list("pk", flat=True)

    result = run_during_transaction(
        lambda: merge_accounts(brand, target, source), lambda: releases.release(DuePending(entry, account), at=at)
    )

    assert result is None
    assert releases.catch_up(at=at) == 1
    assert balances(brand, target, source) == [10, 0]
    assert shop.inconsistencies() == []
