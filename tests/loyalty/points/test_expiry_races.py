"""Expiry concurrent with redemptions and accruals, on parallel connections."""

import time
import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError
from django.utils import timezone

from authcodes.scanning import consistency
from core.db import sql
from loyalty.models.accounts import UserPoints
from loyalty.models.expiry import ExpiryRun
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption
from loyalty.points import accounts, expiry, ledger
from loyalty.rewards import redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.loyalty.points.test_expiry import DAY, NOON, earn, new_brand
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.statements import with_replacements

__all__ = ["new_brand"]
pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(days=100)


@pytest.fixture
def brand(transactional_db, settings):
    settings.EXPIRY_CHUNK = 3
    brand = factories.brand(points_expire="days", points_expire_after=10)
    factories.level(brand)
    return brand


def members(brand, count):
    customers = [factories.customer(brand) for _ in range(count)]
    for customer in customers:
        factories.points(customer, brand, 30, at=timezone.now() - LONG_AGO)
    return customers


def test_concurrent_runs_expire_each_members_points_once(brand):
    members(brand, 30)

    expired = run_concurrently(lambda _number: expiry.run(brand=brand, at=timezone.now()), range(8))

    assert sum(expired) == 30
    assert UserPoints.objects.filter(points=0, points_expired=30).count() == 30
    assert ExpiryRun.objects.get(kind="expire").members == 30
    assert list(consistency.differences()) == []


def test_ledger_stays_consistent_with_concurrent_expiry_redemptions_and_accruals(brand):
    customers, reward = members(brand, 12), factories.reward(brand, cost=20)

    def run_action(number):
        customer = customers[number % 12]
        if number % 3 == 0:
            return expiry.run(brand=brand, at=timezone.now())
        if number % 3 == 1:
            return redeem.redeem(RedemptionRequest(brand.pk, customer.pk, reward.pk, uuid.uuid4(), timezone.now()))
        account = factories.account(customer, brand).pk
        return ledger.credit(account=account, points=Decimal(5), reason_id=f"race:{number}", note="", at=timezone.now())

    run_concurrently(run_action, range(120))
    expiry.run(brand=brand, at=timezone.now())

    assert list(consistency.differences()) == []
    accounts = UserPoints.objects.all()
    earned = 5 * LoyaltyTransaction.objects.filter(reason_id__startswith="race:").count()
    redeemed = 20 * Redemption.objects.count()
    expired = sum(account.points_expired for account in accounts)
    assert earned == 40 * 5
    assert sum(account.points for account in accounts) == 12 * 30 + earned - redeemed - expired


def test_points_redeemed_before_the_lock_do_not_expire(brand, monkeypatch):
    """Expiry decides again under the lock; a decision by the unlocked read would take the points twice."""
    [customer] = members(brand, 1)
    reward = factories.reward(brand, cost=30)
    lock = accounts.LOCK_ACCOUNTS.text
    unlocked_balances = []
    execute = sql.execute

    def pause_before_lock(statement, parameters, fetch):
        if statement is lock:
            unlocked_balances.append(UserPoints.objects.get().points)  # what a decision without the lock would use
            time.sleep(0.3)
        return execute(statement, parameters, fetch)

    monkeypatch.setattr(sql, "execute", pause_before_lock)

    def run_action(number):
        if number:
            time.sleep(0.1)
            return redeem.redeem(RedemptionRequest(brand.pk, customer.pk, reward.pk, uuid.uuid4(), timezone.now()))
        return expiry.run(brand=brand, at=timezone.now())

    run_concurrently(run_action, [0, 1])

    assert (unlocked_balances, UserPoints.objects.get().points) == ([Decimal(30)], 0)
    assert UserPoints.objects.get().points_expired == 0  # decided again under the lock, by the current balance
    assert list(consistency.differences()) == []


def expire_during_redemption(brand):
    """The result of an expiry run that begins before a redemption of 20 of 30 old points is committed."""
    [customer] = members(brand, 1)
    request = RedemptionRequest(
        brand.pk, customer.pk, factories.reward(brand, cost=20).pk, uuid.uuid4(), timezone.now()
    )
    return run_during_transaction(lambda: redeem.redeem(request), lambda: expiry.run(brand=brand, at=timezone.now()))


def test_expiry_waits_for_a_redemption_and_expires_only_the_remainder(brand):
    assert expire_during_redemption(brand) == 1

    assert UserPoints.objects.values_list("points", "points_redeemed", "points_expired").get() == (0, 20, 10)
    assert list(consistency.differences()) == []


def test_control_without_the_lock_expiry_would_take_redeemed_points(brand, monkeypatch):
    unlocked = with_replacements(accounts.LOCK_ACCOUNTS, ("FOR NO KEY UPDATE", ""))
    monkeypatch.setattr(accounts, "LOCK_ACCOUNTS", unlocked)

    assert isinstance(expire_during_redemption(brand), IntegrityError)  # it would take 30 of the remaining 10


# --- Turns of the brands ---------------------------------------------------------------------------------------------


def test_run_stops_when_its_time_is_over_and_the_next_run_continues(new_brand, settings):
    settings.EXPIRY_CHUNK = 1
    brand, customer = new_brand()
    members = [customer, factories.customer(brand)]
    for member in members:
        earn(member, brand, 5, 0)

    assert [expiry.catch_up(at=NOON + 20 * DAY, seconds=0) for _call in range(3)] == [1, 1, 0]


def test_brand_with_many_members_does_not_delay_another_brand(new_brand, settings, monkeypatch):
    settings.EXPIRY_CHUNK = 1
    (busy_brand, busy_customer), (brand, customer) = new_brand(), new_brand()
    for member in (busy_customer, *(factories.customer(busy_brand) for _number in range(3))):
        earn(member, busy_brand, 5, 0)
    earn(customer, brand, 5, 0)
    brands, take_chunk = [], expiry.take_chunk

    def record_brand(run_id, **arguments):
        brands.append(ExpiryRun.objects.get(pk=run_id).brand_id)
        return take_chunk(run_id, **arguments)

    monkeypatch.setattr(expiry, "take_chunk", record_brand)

    assert expiry.catch_up(at=NOON + 20 * DAY) == 5
    assert set(brands[:2]) == {busy_brand.pk, brand.pk}
