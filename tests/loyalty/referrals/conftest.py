"""Fixtures and helpers for tests of referrals."""

import pytest

from loyalty.models.programme.referrals import Referral
from tests.support import factories, shop
from tests.support.referrals import balance, programme, referred_friend, settle


@pytest.fixture
def terms(brand):
    return programme(brand)


def states():
    return list(Referral.objects.order_by("pk").values_list("state", "why"))


@pytest.fixture
def friend_with_order(brand, customer, terms):
    """A friend whose first order of 100 earned 10 points, and the rewards of both sides."""
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
    friend, _referral = referred_friend(customer, brand)
    shop.buy(brand, friend)
    settle()
    assert (balance(customer, brand), balance(friend, brand)) == (100, 60)
    return friend
