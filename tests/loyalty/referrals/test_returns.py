"""Orders of friends that go back take the rewards of both sides with them."""

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
from tests.support.referrals import balance, contradictions, referred, settle

pytestmark = pytest.mark.django_db


def test_an_order_that_went_back_while_its_points_were_pending_does_not_count(brand, customer, terms):
    Brand.objects.filter(pk=brand.pk).update(order_points="after_days", order_points_days=14)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred(customer, brand)
    shop.buy(brand, friend)
    shop.give_back(brand, friend)
    releases.catch_up(at=timezone.now() + timedelta(days=15))

    assert settle() == 0


@pytest.mark.parametrize("give_back", [shop.give_back, shop.cancel])
def test_a_whole_order_that_goes_back_takes_both_sides_points(brand, customer, terms, bought, give_back):
    give_back(brand, bought)
    worker.drain()

    assert (balance(customer, brand), balance(bought, brand)) == (0, 0)
    assert states() == [("reversed", "return")]
    terms.refresh_from_db()
    assert terms.points_rewarded == 0
    notes = LoyaltyTransaction.objects.filter(reason_id__startswith="referral-return:").order_by("points_reversed")
    assert [line.note for line in notes] == ["Your first order was returned", "A friend's first order was returned"]
    assert contradictions() == []


def test_partial_returns_take_them_once_the_whole_order_is_back(brand, customer, bought):
    shop.give_back(brand, bought, return_id="R-1", amount="60.00")
    worker.drain()
    assert balance(customer, brand) == 100
    shop.give_back(brand, bought, return_id="R-2", amount="40.00")
    worker.drain()

    assert (balance(customer, brand), balance(bought, brand)) == (0, 0)


def test_what_was_spent_is_owed(brand, customer, bought):
    factories.redemption(customer, factories.reward(brand, cost=70))
    shop.give_back(brand, bought)
    worker.drain()

    account = factories.account(customer, brand)
    assert (account.points, account.points_owed) == (0, 70)
    assert contradictions() == []


def test_an_order_that_went_back_first_does_not_count_and_the_next_one_does(brand, customer, terms):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred(customer, brand)
    shop.buy(brand, friend)
    shop.give_back(brand, friend)
    assert settle() == 0
    shop.buy(brand, friend, "A-2")

    assert settle() == 1
    assert Referral.objects.get().action == "order:A-2"


def test_a_return_between_finding_and_deciding_leaves_the_referral_waiting(brand, customer, terms):
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred(customer, brand)
    shop.buy(brand, friend)
    find.publish_first_actions(at=timezone.now())
    shop.give_back(brand, friend)
    worker.drain()

    assert states() == [("waiting", "")]
    assert balance(customer, brand) == 0


def test_another_order_that_goes_back_changes_nothing(brand, customer, bought):
    shop.buy(brand, bought, "A-2")
    shop.give_back(brand, bought, "A-2")
    worker.drain()

    assert states() == [("rewarded", "")]
