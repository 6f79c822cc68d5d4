"""Returned orders of friends reverse the rewards of both sides."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.referrals import Referral
from loyalty.orders import releases
from loyalty.referrals import find
from tests.loyalty.referrals.conftest import states
from tests.support import factories, shop
from tests.support.referrals import balance, inconsistencies, referred_friend, settle

pytestmark = pytest.mark.django_db


def test_order_returned_while_its_points_are_pending_is_not_rewarded(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred_friend(customer, brand)
    shop.buy(brand, friend)
    shop.return_order(brand, friend)
    releases.catch_up(at=timezone.now() + timedelta(days=15))

    assert settle() == 0
    assert states() == [("waiting", "")]
    assert (balance(customer, brand), balance(friend, brand)) == (0, 0)


@pytest.mark.parametrize("return_or_cancel", [shop.return_order, shop.cancel])
def test_fully_returned_or_cancelled_order_reverses_both_rewards(
    brand, customer, terms, friend_with_order, return_or_cancel
):
    return_or_cancel(brand, friend_with_order)
    worker.drain()

    assert (balance(customer, brand), balance(friend_with_order, brand)) == (0, 0)
    assert states() == [("reversed", "return")]
    terms.refresh_from_db()
    assert terms.points_rewarded == 0
    entries = LoyaltyTransaction.objects.filter(reason_id__startswith="referral-return:").order_by("points_reversed")
    assert [entry.note for entry in entries] == ["Your first order was returned", "A friend's first order was returned"]
    assert inconsistencies() == []


def test_partial_returns_reverse_the_rewards_once_the_whole_order_is_returned(brand, customer, friend_with_order):
    shop.return_order(brand, friend_with_order, return_id="R-1", amount="60.00")
    worker.drain()
    assert balance(customer, brand) == 100
    shop.return_order(brand, friend_with_order, return_id="R-2", amount="40.00")
    worker.drain()

    assert (balance(customer, brand), balance(friend_with_order, brand)) == (0, 0)


def test_reversed_points_that_were_redeemed_are_owed(brand, customer, friend_with_order):
    factories.redemption(customer, factories.reward(brand, cost=70))
    shop.return_order(brand, friend_with_order)
    worker.drain()

    account = factories.account(customer, brand)
    assert (account.points, account.points_owed) == (0, 70)
    assert inconsistencies() == []


def test_next_order_is_rewarded_after_the_first_one_was_returned(brand, customer, terms):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred_friend(customer, brand)
    shop.buy(brand, friend)
    shop.return_order(brand, friend)
    assert settle() == 0
    shop.buy(brand, friend, "A-2")

    assert settle() == 1
    assert Referral.objects.get().action == "order:A-2"


def test_return_before_the_event_is_handled_leaves_the_referral_waiting(brand, customer, terms):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred_friend(customer, brand)
    shop.buy(brand, friend)
    find.publish_first_actions(at=timezone.now())
    shop.return_order(brand, friend)
    worker.drain()

    assert states() == [("waiting", "")]
    assert balance(customer, brand) == 0


def test_return_of_another_order_does_not_reverse_the_rewards(brand, customer, friend_with_order):
    shop.buy(brand, friend_with_order, "A-2")
    shop.return_order(brand, friend_with_order, "A-2")
    worker.drain()

    assert states() == [("rewarded", "")]
