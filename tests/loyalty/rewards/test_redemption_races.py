"""Concurrent redemptions on parallel connections, with controls that show the races without the guards."""

import time
import uuid
from collections import Counter
from types import SimpleNamespace

import pytest
from django.utils import timezone

from authcodes.scanning import consistency
from brands.models.audit import AuditLogEntry
from loyalty.admin.member_page import rewards as member_page
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts, ledger
from loyalty.rewards import redeem, returns, till
from loyalty.rewards import undo as undo_redemption
from loyalty.rewards.redeem import RedemptionRequest
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_concurrently_behind_lock
from tests.support.portal import address, browser, staff
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    return brand


def member(brand, points):
    customer = factories.customer(brand)
    factories.points(customer, brand, points)
    return customer


def count_outcomes(results):
    return Counter("taken" if isinstance(result, Redemption) else result.code for result in results)


def redemption_request(customer, reward, key=None):
    return RedemptionRequest(reward.brand_id, customer.pk, reward.pk, key or uuid.uuid4(), timezone.now())


def test_100_concurrent_redemptions_do_not_exceed_a_stock_of_10(brand):
    reward = factories.reward(brand, cost=10, stock=10)
    customers = [member(brand, 10) for _ in range(100)]

    results = run_concurrently(lambda customer: redeem.redeem(redemption_request(customer, reward)), customers)

    assert count_outcomes(results) == {"taken": 10, "OUT_OF_STOCK": 90}
    assert Reward.objects.get().stock == 0
    assert UserPoints.objects.filter(points=0).count() == 10
    assert list(consistency.differences()) == []


def test_100_concurrent_redemptions_do_not_exceed_a_balance_for_3(brand):
    reward, customer = factories.reward(brand, cost=10, stock=50), member(brand, 35)

    results = run_concurrently(lambda _number: redeem.redeem(redemption_request(customer, reward)), range(100))

    assert count_outcomes(results) == {"taken": 3, "NOT_ENOUGH_POINTS": 97}
    assert (UserPoints.objects.get().points, Reward.objects.get().stock) == (5, 47)
    assert list(consistency.differences()) == []


def test_100_concurrent_redemptions_do_not_exceed_stock_and_balances(brand):
    reward = factories.reward(brand, cost=10, stock=10)
    customers = [member(brand, 30) for _ in range(5)]

    results = run_concurrently(
        lambda number: redeem.redeem(redemption_request(customers[number % 5], reward)), range(100)
    )

    redeemed = count_outcomes(results)["taken"]
    assert redeemed == 10
    assert Reward.objects.get().stock == 0
    assert sorted(UserPoints.objects.values_list("points", flat=True))[0] >= 0
    assert list(consistency.differences()) == []


def test_concurrent_redemptions_do_not_exceed_the_limit_per_member(brand):
    reward, customer = factories.reward(brand, cost=1, limit_per_member=2), member(brand, 100)

    results = run_concurrently(lambda _number: redeem.redeem(redemption_request(customer, reward)), range(50))

    assert count_outcomes(results) == {"taken": 2, "REDEMPTION_LIMIT_REACHED": 48}


def test_concurrent_requests_with_the_same_key_create_one_redemption(brand):
    reward, customer, key = factories.reward(brand, cost=1), member(brand, 100), uuid.uuid4()

    results = run_concurrently(lambda _number: redeem.redeem(redemption_request(customer, reward, key)), range(50))

    assert len({result.pk for result in results}) == Redemption.objects.count() == 1
    assert UserPoints.objects.get().points == 99


@pytest.fixture
def without_lock(monkeypatch):
    """Skip the account lock, and pause between reading and writing."""
    read_snapshot = redeem.read_snapshot

    def read_and_pause(*arguments):
        snapshot = read_snapshot(*arguments)
        time.sleep(0.05)
        return snapshot

    monkeypatch.setattr(redeem, "read_snapshot", read_and_pause)
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


@pytest.fixture
def without_lock_and_condition(monkeypatch):
    """Skip the account lock and the condition on the status, and pause an undo between reading and writing."""
    undo_until = undo_redemption.undo_until

    def read_and_pause(*arguments):
        end = undo_until(*arguments)
        time.sleep(0.05)
        return end

    monkeypatch.setattr(undo_redemption, "undo_until", read_and_pause)
    unlocked = SimpleNamespace(select_for_update=lambda **_: UserPoints.objects)
    monkeypatch.setattr(undo_redemption, "UserPoints", SimpleNamespace(objects=unlocked))
    unconditional = SimpleNamespace(filter=lambda *, pk, **_: Redemption.objects.filter(pk=pk))
    monkeypatch.setattr(returns, "Redemption", SimpleNamespace(objects=unconditional, Status=Redemption.Status))


@pytest.mark.usefixtures("without_lock")
def test_control_without_the_lock_the_limit_per_member_is_exceeded(brand):
    reward, customer = factories.reward(brand, cost=1, limit_per_member=2), member(brand, 100)

    run_concurrently(lambda _number: redeem.redeem(redemption_request(customer, reward)), range(24))

    assert Redemption.objects.count() > 2


@pytest.mark.usefixtures("without_lock")
def test_balance_does_not_become_negative_even_without_the_lock(brand):
    """The database's constraint makes a redemption that would overdraw the balance fail as a whole."""
    reward, customer = factories.reward(brand, cost=10), member(brand, 35)

    run_concurrently(lambda _number: redeem.redeem(redemption_request(customer, reward)), range(24))

    assert UserPoints.objects.get().points == 5
    assert Redemption.objects.count() == 3
    assert list(consistency.differences()) == []


def test_control_without_the_condition_the_stock_is_oversold(brand, monkeypatch):
    unguarded = with_replacements(
        redeem.WRITE_REDEMPTION, (" AND stock > 0", ""), ("stock = stock - 1", "stock = greatest(stock - 1, 0)")
    )
    monkeypatch.setattr(redeem, "WRITE_REDEMPTION", unguarded)
    read_snapshot = redeem.read_snapshot

    def read_and_pause(*arguments):
        snapshot = read_snapshot(*arguments)
        time.sleep(0.05)
        return snapshot

    monkeypatch.setattr(redeem, "read_snapshot", read_and_pause)
    reward = factories.reward(brand, cost=10, stock=1)
    customers = [member(brand, 10) for _ in range(24)]

    run_concurrently(lambda customer: redeem.redeem(redemption_request(customer, reward)), customers)

    assert Redemption.objects.count() > 1


def test_code_used_many_times_concurrently_is_used_once(brand):
    redemption = factories.redemption(member(brand, 10), factories.reward(brand))

    def use(_number):
        own_copy = Redemption.objects.get(pk=redemption.pk)
        return till.use(redemption=own_copy, at=timezone.now(), request=uuid.uuid4())

    assert count_outcomes(run_concurrently(use, range(50))) == {"taken": 1, "REDEMPTION_USED": 49}


def test_ledger_stays_consistent_with_concurrent_redemptions_and_credits(brand):
    reward, customer = factories.reward(brand, cost=10), member(brand, 20)
    account = UserPoints.objects.get().pk

    def redeem_or_credit(number):
        if number % 2:
            return redeem.redeem(redemption_request(customer, reward))
        return ledger.credit(account=account, points=5, reason_id=f"shop:{number}", note="", at=timezone.now())

    run_concurrently(redeem_or_credit, range(60))

    account = UserPoints.objects.get()
    assert account.points == 20 + 30 * 5 - 10 * Redemption.objects.count() >= 0
    assert LoyaltyTransaction.objects.filter(reason="earned").count() == 31
    assert list(consistency.differences()) == []


def undo(redemption):
    account = redemption.user_point
    return undo_redemption.undo(
        brand_id=account.brand_id, user_id=account.user_id, redemption_id=redemption.pk, at=timezone.now()
    )


def test_50_concurrent_undos_return_points_and_stock_once(brand):
    reward, customer = factories.reward(brand, cost=10, stock=3), member(brand, 10)
    redemption = factories.redemption(customer, reward)

    results = run_concurrently(lambda _number: undo(redemption), range(50))

    assert {result.balance for result in results} == {10}
    assert (UserPoints.objects.get().points, Reward.objects.get().stock) == (10, 3)
    assert LoyaltyTransaction.objects.filter(reason_id=f"redeem-undo:{redemption.pk}").count() == 1
    assert list(consistency.differences()) == []


def test_code_is_either_used_or_undone_concurrently(brand):
    reward = factories.reward(brand, cost=10, stock=20)
    redemptions = [factories.redemption(member(brand, 10), reward) for _ in range(12)]

    def use_or_undo(number):
        redemption = redemptions[number // 2]
        if number % 2:
            return undo(redemption)
        return till.use(redemption=redemption, at=timezone.now(), request=uuid.uuid4())

    run_concurrently(use_or_undo, range(24))

    used = Redemption.objects.filter(status="used").count()
    assert used + Redemption.objects.filter(status="cancelled").count() == 12
    assert UserPoints.objects.filter(points=10).count() == 12 - used
    assert Reward.objects.get().stock == 20 - used
    assert list(consistency.differences()) == []


def test_control_without_the_condition_a_code_with_returned_points_is_used(brand, monkeypatch):
    def check_then_use(redemption, *, at, by, key_id, request):
        if Redemption.objects.get(pk=redemption.pk).status != "issued":
            return False
        time.sleep(0.1)
        Redemption.objects.filter(pk=redemption.pk).update(
            status="used", used_at=at, used_request=request, cancelled_at=None
        )
        return True

    monkeypatch.setattr(till, "mark_used", check_then_use)
    reward = factories.reward(brand, cost=10, stock=20)
    redemptions = [factories.redemption(member(brand, 10), reward) for _ in range(6)]

    def use_or_undo(number):
        redemption = redemptions[number // 2]
        if number % 2:
            return undo(redemption)
        return till.use(redemption=redemption, at=timezone.now(), request=uuid.uuid4())

    run_concurrently(use_or_undo, range(12))

    assert Redemption.objects.filter(status="used", user_point__points=10).exists()


@pytest.mark.usefixtures("without_lock_and_condition")
def test_control_without_lock_and_condition_stock_is_returned_repeatedly(brand, monkeypatch):
    """The ledger still accepts one return per redemption, so that guard is removed as well."""
    redemption = factories.redemption(member(brand, 10), factories.reward(brand, cost=10, stock=3))
    monkeypatch.setattr(returns, "return_points", lambda *_arguments: None)

    run_concurrently(lambda _number: undo(redemption), range(24))

    assert Reward.objects.get().stock > 3


@pytest.mark.usefixtures("without_lock_and_condition")
def test_points_are_returned_once_even_without_lock_and_condition(brand):
    """The ledger's constraint makes a second return of a redemption fail as a whole."""
    redemption = factories.redemption(member(brand, 10), factories.reward(brand, cost=10, stock=3))

    run_concurrently(lambda _number: undo(redemption), range(24))

    assert (UserPoints.objects.get().points, Reward.objects.get().stock) == (10, 3)
    assert list(consistency.differences()) == []


# --- A double click on a member's page

LOCK_ACCOUNT = "SELECT 1 FROM user_points WHERE user_point_id = %s FOR NO KEY UPDATE"
LOCK_REDEMPTION = "SELECT 1 FROM loyalty_redemption WHERE id = %s FOR NO KEY UPDATE"


def entries_after_double_click(brand, action, lock, **choice):
    """Two concurrent submits of one page. Returns the number of audit log entries."""
    client, account = browser(staff(brand)), UserPoints.objects.get()
    form_data = {"reason": "Broken parcel", "key": str(uuid.uuid4()), **choice}
    table, row = lock

    def submit(_number):
        return client.post(address("loyalty.userpoints", action, account.pk), form_data).status_code

    assert run_concurrently_behind_lock(table, [row or account.pk], submit, range(2)) == [302, 302]
    return AuditLogEntry.objects.filter(action__in=["Reward given", "Used at the till"]).count()


@pytest.mark.parametrize(("is_guarded", "entries"), [(True, 1), (False, 2)])
def test_double_click_gives_a_reward_once_and_logs_it_once(brand, monkeypatch, is_guarded, entries):
    reward = factories.reward(brand, cost=10)
    member(brand, 30)
    if not is_guarded:
        monkeypatch.setattr(member_page, "accounts", SimpleNamespace(lock=lambda **_account: None))

    assert entries_after_double_click(brand, "give_reward", (LOCK_ACCOUNT, None), reward=reward.pk) == entries
    assert Redemption.objects.count() == 1


@pytest.mark.parametrize(("is_guarded", "entries"), [(True, 1), (False, 2)])
def test_double_click_uses_a_code_once_and_logs_it_once(brand, monkeypatch, is_guarded, entries):
    customer = member(brand, 30)
    redemption = redeem.redeem(redemption_request(customer, factories.reward(brand, cost=10)))
    lock = (LOCK_ACCOUNT, None)
    if not is_guarded:
        monkeypatch.setattr(member_page, "accounts", SimpleNamespace(lock=lambda **_account: None))
        lock = (LOCK_REDEMPTION, redemption.pk)

    assert entries_after_double_click(brand, "use", lock, redemption=redemption.pk) == entries
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.USED
