"""Expiry beside redemptions and accruals, on parallel connections."""

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
from tests.loyalty.points.test_expiry import DAY, NOON, earn, expiring
from tests.support import factories
from tests.support.concurrency import at_once, while_uncommitted
from tests.support.statements import altered

__all__ = ["expiring"]
pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(days=100)


@pytest.fixture
def brand(transactional_db, settings):
    settings.EXPIRY_CHUNK = 3
    made = factories.brand(points_expire="days", points_expire_after=10)
    factories.level(made)
    return made


def members(brand, count):
    customers = [factories.customer(brand) for _ in range(count)]
    for customer in customers:
        factories.points(customer, brand, 30, at=timezone.now() - LONG_AGO)
    return customers


def test_several_workers_share_a_night(brand):
    members(brand, 30)

    changed = at_once(lambda _number: expiry.run(brand=brand, at=timezone.now()), range(8))

    assert sum(changed) == 30
    assert UserPoints.objects.filter(points=0, points_expired=30).count() == 30
    assert ExpiryRun.objects.get(kind="expire").members == 30
    assert list(consistency.differences()) == []


def test_expiry_redemptions_and_accruals_at_once_keep_the_books(brand):
    customers, reward = members(brand, 12), factories.reward(brand, cost=20)

    def act(number):
        customer = customers[number % 12]
        if number % 3 == 0:
            return expiry.run(brand=brand, at=timezone.now())
        if number % 3 == 1:
            return redeem.redeem(RedemptionRequest(brand.pk, customer.pk, reward.pk, uuid.uuid4(), timezone.now()))
        account = factories.account(customer, brand).pk
        return ledger.credit(account=account, points=Decimal(5), reason_id=f"race:{number}", note="", at=timezone.now())

    at_once(act, range(120))
    expiry.run(brand=brand, at=timezone.now())

    assert list(consistency.differences()) == []
    members_left = UserPoints.objects.all()
    fresh = 5 * LoyaltyTransaction.objects.filter(reason_id__startswith="race:").count()
    spent = 20 * Redemption.objects.count()
    expired = sum(each.points_expired for each in members_left)
    assert fresh == 40 * 5
    assert sum(each.points for each in members_left) == 12 * 30 + fresh - spent - expired


def test_what_is_redeemed_between_look_and_lock_does_not_expire_too(brand, monkeypatch):
    """What an unlocked look found is decided again under the lock; by the look alone it would be taken twice."""
    [customer] = members(brand, 1)
    reward = factories.reward(brand, cost=30)
    lock = accounts.LOCK_ACCOUNTS.text
    seen = []
    execute = sql.execute

    def look_think_and_take(statement, parameters, fetch):
        if statement is lock:
            seen.append(UserPoints.objects.get().points)  # what an unlocked look would decide by
            time.sleep(0.3)
        return execute(statement, parameters, fetch)

    monkeypatch.setattr(sql, "execute", look_think_and_take)

    def act(number):
        if number:
            time.sleep(0.1)
            return redeem.redeem(RedemptionRequest(brand.pk, customer.pk, reward.pk, uuid.uuid4(), timezone.now()))
        return expiry.run(brand=brand, at=timezone.now())

    at_once(act, [0, 1])

    assert (seen, UserPoints.objects.get().points) == ([Decimal(30)], 0)
    assert UserPoints.objects.get().points_expired == 0  # decided again under the lock, by what is there then
    assert list(consistency.differences()) == []


def expire_while_redeeming(brand):
    """What comes of the night's work that begins before a redemption of 20 of 30 old points is committed."""
    [customer] = members(brand, 1)
    wish = RedemptionRequest(brand.pk, customer.pk, factories.reward(brand, cost=20).pk, uuid.uuid4(), timezone.now())
    return while_uncommitted(lambda: redeem.redeem(wish), lambda: expiry.run(brand=brand, at=timezone.now()))


def test_expiry_waits_for_a_redemption_and_takes_what_it_left(brand):
    assert expire_while_redeeming(brand) == 1

    assert UserPoints.objects.values_list("points", "points_redeemed", "points_expired").get() == (0, 20, 10)
    assert list(consistency.differences()) == []


def test_control_without_the_lock_it_would_take_what_was_just_spent(brand, monkeypatch):
    unlocked = altered(accounts.LOCK_ACCOUNTS, ("FOR NO KEY UPDATE", ""))
    monkeypatch.setattr(accounts, "LOCK_ACCOUNTS", unlocked)

    assert isinstance(expire_while_redeeming(brand), IntegrityError)  # 30 of the 10 that are left


# --- Turns of the brands ---------------------------------------------------------------------------------------------


def test_a_call_ends_with_its_time_and_the_next_goes_on(expiring, settings):
    settings.EXPIRY_CHUNK = 1
    brand, customer = expiring()
    members = [customer, factories.customer(brand)]
    for each in members:
        earn(each, brand, 5, 0)

    assert [expiry.catch_up(at=NOON + 20 * DAY, seconds=0) for _call in range(3)] == [1, 1, 0]


def test_a_brand_with_many_members_keeps_no_other_from_its_night(expiring, settings, monkeypatch):
    settings.EXPIRY_CHUNK = 1
    (busy, first), (brand, customer) = expiring(), expiring()
    for each in (first, *(factories.customer(busy) for _number in range(3))):
        earn(each, busy, 5, 0)
    earn(customer, brand, 5, 0)
    taken, take_chunk = [], expiry.take_chunk

    def noting(run_id, **rest):
        taken.append(ExpiryRun.objects.get(pk=run_id).brand_id)
        return take_chunk(run_id, **rest)

    monkeypatch.setattr(expiry, "take_chunk", noting)

    assert expiry.catch_up(at=NOON + 20 * DAY) == 5
    assert set(taken[:2]) == {busy.pk, brand.pk}
