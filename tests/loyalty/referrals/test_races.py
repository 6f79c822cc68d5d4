"""Referrals at once: one reward for two first actions, limits and budgets that hold, and a return in the midst."""

import time
from decimal import Decimal

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
from tests.support.concurrency import at_once
from tests.support.referrals import balance, code_of, contradictions, programme, referred, scan

pytestmark = pytest.mark.django_db(transaction=True)
RACERS = 8


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


@pytest.fixture
def member(brand):
    return factories.customer(brand)


@pytest.fixture
def slowly(monkeypatch):
    """Whoever decides thinks a moment between reading and writing."""
    take = rewards.take_from_budget

    def think_and_take(terms):
        time.sleep(0.05)
        return take(terms)

    monkeypatch.setattr(rewards, "take_from_budget", think_and_take)


def deliver_at_once(numbers):
    """An event for each number of a referral, each delivered by a worker of its own at the same moment."""
    brand_id = Brand.objects.get().pk
    new = [NewEvent(kind=find.KIND, arguments={"brand_id": brand_id}, payload={"referral": each}) for each in numbers]
    publishing.publish(messages=new, brand_id=brand_id, at=timezone.now())
    held = leases.claim(limit=len(new))
    assert len(held) == len(new)
    return at_once(handlers.on_referral_action, held, threads=len(held))


def entries():
    return LoyaltyTransaction.objects.filter(reason_id__startswith=ledger.REFERRED).count()


@pytest.fixture
def acted(brand, member):
    """A friend whose scan and order were credited at the same moment."""
    programme(brand)
    friend, referral = referred(member, brand)
    at_once(lambda reason: factories.points(friend, brand, 10, reason_id=reason), ["CODE1", "order:A"], threads=2)
    return referral


def test_two_first_actions_at_once_are_rewarded_once(brand, member, acted, slowly):
    results = deliver_at_once([acted.pk] * RACERS)

    assert [each for each in results if each is not None] == []
    assert (entries(), balance(member, brand)) == (2, 100)
    assert ReferralProgramme.objects.get().points_rewarded == 150
    assert contradictions() == []


def test_without_the_locks_they_are_rewarded_more_than_once(brand, member, acted, slowly, monkeypatch):
    """The control. Even then ledger and events pay once for a reason, which is taken away here too."""
    unlocked = Referral.objects.select_related("referrer__user", "friend__user", "brand")
    monkeypatch.setattr(handlers, "locked", lambda _brand, number: unlocked.get(pk=number))
    credit = ledger.credit

    def credit_each_time(*, reason_id, **terms):
        return credit(reason_id=f"{reason_id}:{time.monotonic_ns()}", **terms)

    monkeypatch.setattr(ledger, "credit", credit_each_time)
    monkeypatch.setattr(rewards, "consequences", lambda *_credit, **_about: [])
    deliver_at_once([acted.pk] * RACERS)

    assert entries() > 2


def friends_of(member, brand, number):
    result = []
    for _friend in range(number):
        friend, referral = referred(member, brand)
        scan(friend, brand)
        result.append(referral.pk)
    return result


def test_the_limit_of_a_member_holds_at_once(brand, member, slowly):
    programme(brand, monthly_limit=3)
    deliver_at_once(friends_of(member, brand, RACERS))

    assert Referral.objects.filter(state="rewarded").count() == 3
    assert balance(member, brand) == 300
    assert contradictions() == []


def test_without_the_member_s_lock_the_limit_is_passed(brand, member, slowly, monkeypatch):
    """The control."""
    programme(brand, monthly_limit=3)
    waiting = friends_of(member, brand, RACERS)
    monkeypatch.setattr(accounts, "lock_many", lambda **_accounts: None)
    deliver_at_once(waiting)

    assert Referral.objects.filter(state="rewarded").count() > 3


def test_the_budget_holds_at_once(brand, slowly):
    programme(brand, budget=450)
    waiting = [number for _each in range(RACERS) for number in friends_of(factories.customer(brand), brand, 1)]
    deliver_at_once(waiting)

    assert Referral.objects.filter(state="rewarded").count() == 3
    assert ReferralProgramme.objects.get().points_rewarded == 450
    assert contradictions() == []


def test_without_the_condition_the_budget_is_passed(brand, monkeypatch):
    """The control."""
    programme(brand, budget=450)

    def look_and_take(terms):
        current = ReferralProgramme.objects.get(pk=terms.pk)
        time.sleep(0.05)
        current.points_rewarded += terms.points
        has_room = current.points_rewarded <= (terms.budget or Decimal(0))
        if has_room:
            current.save(update_fields=["points_rewarded"])
        return has_room

    monkeypatch.setattr(rewards, "take_from_budget", look_and_take)
    waiting = [number for _each in range(RACERS) for number in friends_of(factories.customer(brand), brand, 1)]
    deliver_at_once(waiting)

    assert Referral.objects.filter(state="rewarded").count() > 3


@pytest.mark.parametrize("_time", range(5))
def test_an_order_that_goes_back_while_it_is_rewarded_leaves_nothing(brand, member, _time):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    programme(brand)
    friend, _referral = referred(member, brand)
    shop.buy(brand, friend)
    find.publish_first_actions(at=timezone.now())

    at_once(lambda step: step(), [worker.drain, lambda: shop.give_back(brand, friend)], threads=2)
    worker.drain()

    assert (balance(member, brand), balance(friend, brand)) == (0, 0)
    assert Referral.objects.get().state in {"waiting", "reversed"}
    assert contradictions() == []


def test_beats_at_once_publish_one_event(brand, member, acted):
    published = at_once(lambda _n: find.publish_first_actions(at=timezone.now()), range(4), threads=4)

    assert sum(published) == 1


def test_two_codes_at_once_make_one_referral(brand, member):
    programme(brand)
    others = [member, *(factories.customer(brand) for _each in range(5))]
    given = [code_of(each, brand) for each in others]
    friend = factories.customer(brand)

    at_once(
        lambda code: referrals.begin(brand_id=brand.pk, user_id=friend.pk, code=code, at=timezone.now()),
        given,
        threads=len(given),
    )

    assert Referral.objects.count() == 1


def test_a_member_who_asks_at_once_has_one_code(brand, member):
    account = factories.account(member, brand)

    drawn = at_once(lambda _n: codes.code_of(account), range(8), threads=8)

    assert len(set(drawn)) == 1 == ReferralCode.objects.count()
