"""Many redemptions at once, on parallel connections; each guard with a control that shows the race without it."""

import time
import uuid
from collections import Counter

import pytest
from django.db.models import F
from django.utils import timezone

from authcodes.scanning import consistency
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts, ledger
from loyalty.rewards import redeem, till
from loyalty.rewards import undo as redemptions
from loyalty.rewards.redeem import RedemptionRequest
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    return made


def member(brand, points):
    customer = factories.customer(brand)
    factories.points(customer, brand, points)
    return customer


def outcomes(results):
    return Counter("taken" if isinstance(each, Redemption) else each.code for each in results)


def wish(customer, reward, key=None):
    return RedemptionRequest(reward.brand_id, customer.pk, reward.pk, key or uuid.uuid4(), timezone.now())


def test_100_redemptions_against_stock_10(brand):
    reward = factories.reward(brand, cost=10, stock=10)
    customers = [member(brand, 10) for _ in range(100)]

    results = at_once(lambda customer: redeem.redeem(wish(customer, reward)), customers)

    assert outcomes(results) == {"taken": 10, "OUT_OF_STOCK": 90}
    assert Reward.objects.get().stock == 0
    assert UserPoints.objects.filter(points=0).count() == 10
    assert list(consistency.differences()) == []


def test_100_redemptions_against_a_balance_for_3(brand):
    reward, customer = factories.reward(brand, cost=10, stock=50), member(brand, 35)

    results = at_once(lambda _number: redeem.redeem(wish(customer, reward)), range(100))

    assert outcomes(results) == {"taken": 3, "NOT_ENOUGH_POINTS": 97}
    assert (UserPoints.objects.get().points, Reward.objects.get().stock) == (5, 47)
    assert list(consistency.differences()) == []


def test_100_redemptions_against_stock_10_and_balances_for_3(brand):
    reward = factories.reward(brand, cost=10, stock=10)
    customers = [member(brand, 30) for _ in range(5)]

    results = at_once(lambda number: redeem.redeem(wish(customers[number % 5], reward)), range(100))

    taken = outcomes(results)["taken"]
    assert taken == 10
    assert Reward.objects.get().stock == 0
    assert sorted(UserPoints.objects.values_list("points", flat=True))[0] >= 0
    assert list(consistency.differences()) == []


def test_limit_per_member_holds(brand):
    reward, customer = factories.reward(brand, cost=1, limit_per_member=2), member(brand, 100)

    results = at_once(lambda _number: redeem.redeem(wish(customer, reward)), range(50))

    assert outcomes(results) == {"taken": 2, "REDEMPTION_LIMIT_REACHED": 48}


def test_same_key_at_once_is_one_redemption(brand):
    reward, customer, key = factories.reward(brand, cost=1), member(brand, 100), uuid.uuid4()

    results = at_once(lambda _number: redeem.redeem(wish(customer, reward, key)), range(50))

    assert len({each.pk for each in results}) == Redemption.objects.count() == 1
    assert UserPoints.objects.get().points == 99


@pytest.fixture
def members_unguarded(monkeypatch):
    """Nobody waits for an account, and all think a moment between reading and writing."""
    read = redeem.read_snapshot

    def read_and_think(*arguments):
        facts = read(*arguments)
        time.sleep(0.05)
        return facts

    monkeypatch.setattr(redeem, "read_snapshot", read_and_think)
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


@pytest.mark.usefixtures("members_unguarded")
def test_control_without_the_lock_more_are_taken_than_the_member_may(brand):
    reward, customer = factories.reward(brand, cost=1, limit_per_member=2), member(brand, 100)

    at_once(lambda _number: redeem.redeem(wish(customer, reward)), range(24))

    assert Redemption.objects.count() > 2


@pytest.mark.usefixtures("members_unguarded")
def test_without_the_lock_no_balance_goes_below_zero(brand):
    """The database's own rule is the last word: whoever would overdraw fails, whole."""
    reward, customer = factories.reward(brand, cost=10), member(brand, 35)

    at_once(lambda _number: redeem.redeem(wish(customer, reward)), range(24))

    assert UserPoints.objects.get().points == 5
    assert Redemption.objects.count() == 3
    assert list(consistency.differences()) == []


def test_control_without_the_condition_stock_would_be_oversold(brand, monkeypatch):
    unguarded = altered(
        redeem.WRITE_REDEMPTION, (" AND stock > 0", ""), ("stock = stock - 1", "stock = greatest(stock - 1, 0)")
    )
    monkeypatch.setattr(redeem, "WRITE_REDEMPTION", unguarded)
    read = redeem.read_snapshot

    def read_and_think(*arguments):
        facts = read(*arguments)
        time.sleep(0.05)
        return facts

    monkeypatch.setattr(redeem, "read_snapshot", read_and_think)
    reward = factories.reward(brand, cost=10, stock=1)
    customers = [member(brand, 10) for _ in range(24)]

    at_once(lambda customer: redeem.redeem(wish(customer, reward)), customers)

    assert Redemption.objects.count() > 1


def test_code_used_by_many_at_once_is_used_once(brand):
    redemption = factories.redemption(member(brand, 10), factories.reward(brand))

    def use(_number):
        own_copy = Redemption.objects.get(pk=redemption.pk)
        return till.use(redemption=own_copy, at=timezone.now(), request=uuid.uuid4())

    assert outcomes(at_once(use, range(50))) == {"taken": 1, "REDEMPTION_USED": 49}


def test_redemptions_and_credits_at_once_keep_the_books(brand):
    reward, customer = factories.reward(brand, cost=10), member(brand, 20)
    account = UserPoints.objects.get().pk

    def act(number):
        if number % 2:
            return redeem.redeem(wish(customer, reward))
        return ledger.credit(account=account, points=5, reason_id=f"shop:{number}", note="", at=timezone.now())

    at_once(act, range(60))

    account = UserPoints.objects.get()
    assert account.points == 20 + 30 * 5 - 10 * Redemption.objects.count() >= 0
    assert LoyaltyTransaction.objects.filter(reason="earned").count() == 31
    assert list(consistency.differences()) == []


def undo(redemption):
    account = redemption.user_point
    return redemptions.undo(
        brand_id=account.brand_id, user_id=account.user_id, redemption_id=redemption.pk, at=timezone.now()
    )


def test_undone_50_times_at_once_points_and_stock_come_back_once(brand):
    reward, customer = factories.reward(brand, cost=10, stock=3), member(brand, 10)
    taken = factories.redemption(customer, reward)

    results = at_once(lambda _number: undo(taken), range(50))

    assert {each.balance for each in results} == {10}
    assert (UserPoints.objects.get().points, Reward.objects.get().stock) == (10, 3)
    assert LoyaltyTransaction.objects.filter(reason_id=f"redeem-undo:{taken.pk}").count() == 1
    assert list(consistency.differences()) == []


def test_a_code_is_either_used_or_undone(brand):
    reward = factories.reward(brand, cost=10, stock=20)
    taken = [factories.redemption(member(brand, 10), reward) for _ in range(12)]

    def work(number):
        redemption = taken[number // 2]
        if number % 2:
            return undo(redemption)
        return till.use(redemption=redemption, at=timezone.now(), request=uuid.uuid4())

    at_once(work, range(24))

    used = Redemption.objects.filter(status="used").count()
    assert used + Redemption.objects.filter(status="cancelled").count() == 12
    assert UserPoints.objects.filter(points=10).count() == 12 - used
    assert Reward.objects.get().stock == 20 - used
    assert list(consistency.differences()) == []


def test_control_without_the_condition_a_code_is_used_whose_points_came_back(brand, monkeypatch):
    def check_then_act(redemption, *, at, by, key_id, request):
        if Redemption.objects.get(pk=redemption.pk).status != "issued":
            return False
        time.sleep(0.1)
        Redemption.objects.filter(pk=redemption.pk).update(
            status="used", used_at=at, used_request=request, cancelled_at=None
        )
        return True

    monkeypatch.setattr(till, "mark_used", check_then_act)
    reward = factories.reward(brand, cost=10, stock=20)
    taken = [factories.redemption(member(brand, 10), reward) for _ in range(6)]

    def work(number):
        redemption = taken[number // 2]
        if number % 2:
            return undo(redemption)
        return till.use(redemption=redemption, at=timezone.now(), request=uuid.uuid4())

    at_once(work, range(12))

    assert Redemption.objects.filter(status="used", user_point__points=10).exists()


def test_control_without_lock_and_condition_stock_comes_back_more_than_once(brand):
    reward, customer = factories.reward(brand, cost=10, stock=3), member(brand, 10)
    taken = factories.redemption(customer, reward)

    def check_then_act(_number):
        if Redemption.objects.get(pk=taken.pk).status == "issued":
            time.sleep(0.05)
            Redemption.objects.filter(pk=taken.pk).update(status="cancelled", cancelled_at=timezone.now())
            Reward.objects.filter(pk=reward.pk).update(stock=F("stock") + 1)

    at_once(check_then_act, range(24))

    assert Reward.objects.get().stock > 3
