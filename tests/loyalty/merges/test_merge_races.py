"""Merges at the same time as what else changes the two accounts; each guard with a control without it."""

import time
import uuid

import pytest
from django.utils import timezone

from events import worker
from loyalty.errors import MergeNotPossible
from loyalty.merges import merge as merging
from loyalty.models.ledger import AccountMerge, LoyaltyTransaction
from loyalty.orders import releases
from loyalty.orders.releases import DuePending
from loyalty.points import accounts
from loyalty.rewards import redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.loyalty.merges.conftest import merged, undone
from tests.support import factories, shop
from tests.support.concurrency import at_once, while_uncommitted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    factories.earning_rule(made, "order-complete", value=10, reward_type="percentage")
    return made


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


def test_orders_of_the_old_user_while_the_accounts_are_merged(brand, target, source):
    """However many are under way: each is credited once, before the merge or after it."""
    for number in range(12):
        shop.send(brand, source, "order-complete", order(number))
    work = [*([worker.drain] * 4), lambda: merged(brand, target, source)]

    results = at_once(lambda do: do(), work)
    worker.drain()

    assert [each for each in results if isinstance(each, Exception)] == []
    assert balances(brand, target, source) == [120, 0]
    assert LoyaltyTransaction.objects.filter(reason_id__startswith="order:").count() == 12
    assert shop.contradictions() == []


def test_an_order_that_waits_for_the_merge_is_credited_to_the_other_account(brand, target, source):
    shop.send(brand, source, "order-complete", order(1))

    while_uncommitted(lambda: merged(brand, target, source), worker.drain)
    worker.drain()

    assert balances(brand, target, source) == [10, 0]
    assert shop.contradictions() == []


def test_without_the_look_at_the_status_it_is_credited_to_the_ended_account(brand, target, source, monkeypatch):
    """The control: an accrual that does not see the merge writes where nobody looks any more."""
    monkeypatch.setattr("campaigns.accrual.decide.CLOSED", ())
    shop.send(brand, source, "order-complete", order(1))

    while_uncommitted(lambda: merged(brand, target, source), worker.drain)
    worker.drain()

    assert balances(brand, target, source) == [0, 10]
    assert [row[0] for row in shop.contradictions()] == ["merge is not what ledger and accounts say"]


def wish(brand, member, reward):
    return RedemptionRequest(brand.pk, member.pk, reward.pk, uuid.uuid4(), timezone.now())


def test_a_redemption_that_waits_for_the_merge_takes_nothing(brand, target, source):
    factories.points(source, brand, 10)
    reward = factories.reward(brand, cost=10)

    result = while_uncommitted(
        lambda: merged(brand, target, source), lambda: redeem.redeem(wish(brand, source, reward))
    )

    assert isinstance(result, Exception)
    assert balances(brand, target, source) == [10, 0]
    assert shop.contradictions() == []


def test_a_redemption_before_the_merge_goes_over(brand, target, source):
    factories.points(source, brand, 10)
    reward = factories.reward(brand, cost=10)

    made = while_uncommitted(lambda: redeem.redeem(wish(brand, source, reward)), lambda: merged(brand, target, source))

    assert isinstance(made, AccountMerge)
    assert (made.points, len(made.moved["redemptions"])) == (0, 1)
    assert balances(brand, target, source) == [0, 0]
    assert shop.contradictions() == []


@pytest.fixture
def unlocked(monkeypatch):
    """Nobody waits for an account, and all think a moment between reading and writing."""
    make = merging.make

    def think_and_make(*details):
        time.sleep(0.1)
        return make(*details)

    monkeypatch.setattr(merging, "make", think_and_make)
    monkeypatch.setattr(accounts, "lock_many", lambda **_: None)


def both_ways(brand, target, source):
    return at_once(lambda pair: merged(brand, *pair), [(target, source), (source, target)])


def test_two_merges_in_opposite_directions_at_once(brand, target, source):
    factories.points(source, brand, 10)
    factories.points(target, brand, 5)

    results = both_ways(brand, target, source)

    assert sorted(type(each).__name__ for each in results) == ["AccountMerge", "MergeNotPossible"]
    assert sorted(balances(brand, target, source)) == [0, 15]
    assert shop.contradictions() == []


def test_without_the_locks_both_are_made_or_collide(brand, target, source, unlocked):
    """The control: the race is there."""
    factories.points(source, brand, 10)
    factories.points(target, brand, 5)

    results = both_ways(brand, target, source)

    assert not any(isinstance(each, MergeNotPossible) for each in results)


def test_one_merge_many_times_at_once(brand, target, source):
    factories.points(source, brand, 10)
    key = uuid.uuid4()

    results = at_once(lambda _: merged(brand, target, source, key=key), range(8))

    assert {each.pk for each in results} == {AccountMerge.objects.get().pk}
    assert balances(brand, target, source) == [10, 0]


def test_one_account_merged_into_two_at_once(brand, target, source):
    third = factories.customer(brand)
    factories.points(source, brand, 10)

    results = at_once(lambda into: merged(brand, into, source), [target, third])

    assert sum(isinstance(each, AccountMerge) for each in results) == 1
    assert sorted(balances(brand, target, source, third)) == [0, 0, 10]
    assert shop.contradictions() == []


def test_the_undo_many_times_at_once(brand, target, source):
    factories.points(source, brand, 10)
    made = merged(brand, target, source)

    results = at_once(lambda _: undone(made), range(8))

    assert {each.undone_at for each in results} == {AccountMerge.objects.get().undone_at}
    assert balances(brand, target, source) == [0, 10]
    assert shop.contradictions() == []


def test_a_redemption_and_the_undo_at_once(brand, target, source):
    """Either the points go back, or they are spent and the undo says so: never both."""
    factories.points(source, brand, 10)
    made = merged(brand, target, source)
    reward = factories.reward(brand, cost=10)

    results = at_once(lambda do: do(), [lambda: undone(made), lambda: redeem.redeem(wish(brand, target, reward))])

    assert sum(isinstance(each, Exception) for each in results) == 1, results
    assert sum(balances(brand, target, source)) in (0, 10)
    assert shop.contradictions() == []


def test_a_release_while_the_accounts_are_merged(brand, target, source):
    type(brand).objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    shop.buy(brand, source)
    at = timezone.now() + timezone.timedelta(days=15)
    account = factories.account(source, brand).pk
    [entry] = LoyaltyTransaction.objects.filter(reason="pending").values_list("pk", flat=True)

    result = while_uncommitted(
        lambda: merged(brand, target, source), lambda: releases.release(DuePending(entry, account), at=at)
    )

    assert result is None
    assert releases.catch_up(at=at) == 1
    assert balances(brand, target, source) == [10, 0]
    assert shop.contradictions() == []
