"""A change of a balance is kept for wallets alone: for an account without a pass nobody waits for it."""

from decimal import Decimal

import pytest
from django.utils import timezone

from loyalty.points.balance_events import balance_changed, with_pass
from loyalty.wallets import passes
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(brand):
    return factories.account(factories.customer(brand), brand)


@pytest.fixture
def holder(brand):
    made = factories.account(factories.customer(brand), brand)
    passes.issue(account=made, platform="google", at=timezone.now())
    return made


def event_of(account, **more):
    common = {"brand_id": account.brand_id, "user_id": account.user_id, "account": account.pk}
    return balance_changed(**common, points=Decimal(5), level="", cause="test", **more)


def test_who_has_a_pass_is_looked_up_once_for_each_event(account, holder, django_assert_num_queries):
    with django_assert_num_queries(2):
        assert [event_of(each).has_consumer for each in (account, holder)] == [False, True]


def test_what_the_caller_knows_is_not_looked_up(account, holder, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert [event_of(account, has_consumer=known).has_consumer for known in (True, False)] == [True, False]


def test_many_accounts_are_asked_about_at_once_and_none_not_at_all(account, holder, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert with_pass({account.pk: "a", holder.pk: "b"}) == {holder.pk}
    with django_assert_num_queries(0):
        assert with_pass([]) == set()
