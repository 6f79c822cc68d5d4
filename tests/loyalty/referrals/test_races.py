"""Concurrent referrals: one reward for two first actions, limits and budgets, and a return during the reward."""

import time
from types import SimpleNamespace

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from events import leases, publishing, worker
from events.messages import NewEvent
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.referrals import Referral, ReferralCode, ReferralProgramme
from loyalty.points import accounts, ledger
from loyalty.referrals import codes, find, handlers, referrals, rewards
from tests.support import factories, shop
from tests.support.concurrency import run_concurrently
from tests.support.referrals import balance, code_of, inconsistencies, programme, referred_friend, scan

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 8


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


@pytest.fixture
def member(brand):
    return factories.customer(brand)


@pytest.fixture
def slow_decisions(monkeypatch):
    """Make each decision pause between reading and writing."""
    take = rewards.take_from_budget

    def pause_and_take(terms):
        time.sleep(0.05)
        return take(terms)

    monkeypatch.setattr(rewards, "take_from_budget", pause_and_take)


def deliver_concurrently(referral_ids):
    """Publish an event for each referral and handle them concurrently, each on its own connection."""
    brand_id = Brand.objects.get().pk
    events = [
        NewEvent(kind=find.KIND, arguments={"brand_id": brand_id}, payload={"referral": referral_id})
        for referral_id in referral_ids
    ]
    publishing.publish(messages=events, brand_id=brand_id, at=timezone.now())
    leased = leases.claim(limit=len(events))
    assert len(leased) == len(events)
    return run_concurrently(handlers.on_referral_action, leased, threads=len(leased))


def count_reward_entries():
    return LoyaltyTransaction.objects.filter(reason_id__startswith=ledger.REFERRED).count()


@pytest.fixture
def referral_with_two_actions(brand, member):
    """A friend whose scan and order were credited at the same moment."""
    programme(brand)
    friend, referral = referred_friend(member, brand)
    run_concurrently(
        lambda reason: factories.points(friend, brand, 10, reason_id=reason), ["CODE1", "order:A"], threads=2
    )
    return referral


def test_two_concurrent_first_actions_are_rewarded_once(brand, member, referral_with_two_actions, slow_decisions):
    results = deliver_concurrently([referral_with_two_actions.pk] * WORKERS)

    assert [result for result in results if result is not None] == []
    assert (count_reward_entries(), balance(member, brand)) == (2, 100)
    assert ReferralProgramme.objects.get().points_rewarded == 150
    assert inconsistencies() == []


def test_control_without_the_locks_concurrent_actions_are_rewarded_repeatedly(
    brand, member, referral_with_two_actions, slow_decisions, monkeypatch
):
    """Ledger and events still pay once per reason, so that guard is removed as well."""
    unlocked = Referral.objects.select_related("referrer__user", "friend__user", "brand")
    monkeypatch.setattr(handlers, "locked", lambda _brand, number: unlocked.get(pk=number))
    credit = ledger.credit

    def credit_with_unique_reason(*, reason_id, **terms):
        return credit(reason_id=f"{reason_id}:{time.monotonic_ns()}", **terms)

    monkeypatch.setattr(ledger, "credit", credit_with_unique_reason)
    monkeypatch.setattr(rewards, "consequences", lambda *_credit, **_arguments: [])
    deliver_concurrently([referral_with_two_actions.pk] * WORKERS)

    assert count_reward_entries() > 2


def friends_of(member, brand, count):
    referral_ids = []
    for _friend in range(count):
        friend, referral = referred_friend(member, brand)
        scan(friend, brand)
        referral_ids.append(referral.pk)
    return referral_ids


def test_concurrent_rewards_do_not_exceed_the_monthly_limit(brand, member, slow_decisions):
    programme(brand, monthly_limit=3)
    deliver_concurrently(friends_of(member, brand, WORKERS))

    assert Referral.objects.filter(state="rewarded").count() == 3
    assert balance(member, brand) == 300
    assert inconsistencies() == []


def test_control_without_the_members_lock_the_monthly_limit_is_exceeded(brand, member, slow_decisions, monkeypatch):
    programme(brand, monthly_limit=3)
    referral_ids = friends_of(member, brand, WORKERS)
    monkeypatch.setattr(accounts, "lock_many", lambda **_arguments: None)
    deliver_concurrently(referral_ids)

    assert Referral.objects.filter(state="rewarded").count() > 3


def test_concurrent_rewards_do_not_exceed_the_budget(brand, slow_decisions):
    programme(brand, budget=450)
    referral_ids = [
        referral_id for _each in range(WORKERS) for referral_id in friends_of(factories.customer(brand), brand, 1)
    ]
    deliver_concurrently(referral_ids)

    assert Referral.objects.filter(state="rewarded").count() == 3
    assert ReferralProgramme.objects.get().points_rewarded == 450
    assert inconsistencies() == []


def test_control_with_the_condition_before_the_update_the_budget_is_exceeded(brand, monkeypatch):
    programme(brand, budget=450)
    programmes = ReferralProgramme.objects

    def filter_and_pause(*conditions, **fields):
        matching = list(programmes.filter(*conditions, **fields).values_list("pk", flat=True))
        time.sleep(0.05)
        return programmes.filter(pk__in=matching)

    monkeypatch.setattr(rewards, "ReferralProgramme", SimpleNamespace(objects=SimpleNamespace(filter=filter_and_pause)))
    referral_ids = [
        referral_id for _each in range(WORKERS) for referral_id in friends_of(factories.customer(brand), brand, 1)
    ]
    deliver_concurrently(referral_ids)

    assert Referral.objects.filter(state="rewarded").count() > 3
    assert programmes.get().points_rewarded > 450


@pytest.mark.parametrize("_attempt", range(5))
def test_order_returned_during_the_reward_leaves_no_points(brand, member, _attempt):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    programme(brand)
    friend, _referral = referred_friend(member, brand)
    shop.buy(brand, friend)
    find.publish_first_actions(at=timezone.now())

    run_concurrently(lambda action: action(), [worker.drain, lambda: shop.return_order(brand, friend)], threads=2)
    worker.drain()

    assert (balance(member, brand), balance(friend, brand)) == (0, 0)
    assert Referral.objects.get().state in {"waiting", "reversed"}
    assert inconsistencies() == []


def test_concurrent_beats_publish_one_event(brand, member, referral_with_two_actions):
    published = run_concurrently(lambda _n: find.publish_first_actions(at=timezone.now()), range(4), threads=4)

    assert sum(published) == 1


def test_codes_given_concurrently_create_one_referral(brand, member):
    programme(brand)
    referrers = [member, *(factories.customer(brand) for _each in range(5))]
    referral_codes = [code_of(each, brand) for each in referrers]
    friend = factories.customer(brand)

    run_concurrently(
        lambda code: referrals.begin(brand_id=brand.pk, user_id=friend.pk, code=code, at=timezone.now()),
        referral_codes,
        threads=len(referral_codes),
    )

    assert Referral.objects.count() == 1


def test_concurrent_requests_of_a_member_get_the_same_code(brand, member):
    account = factories.account(member, brand)

    issued_codes = run_concurrently(lambda _n: codes.code_of(account), range(8), threads=8)

    assert len(set(issued_codes)) == 1 == ReferralCode.objects.count()
