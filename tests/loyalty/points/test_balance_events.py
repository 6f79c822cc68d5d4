"""Balance events are for wallets only: the event of an account without a pass has no consumer."""

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
def account_with_pass(brand):
    account = factories.account(factories.customer(brand), brand)
    passes.issue(account=account, platform="google", at=timezone.now())
    return account


def balance_event(account, **fields):
    account_fields = {"brand_id": account.brand_id, "user_id": account.user_id, "account": account.pk}
    return balance_changed(**account_fields, points=Decimal(5), level="", cause="test", **fields)


def test_pass_is_looked_up_with_one_query_per_event(account, account_with_pass, django_assert_num_queries):
    with django_assert_num_queries(2):
        assert [balance_event(each).has_consumer for each in (account, account_with_pass)] == [False, True]


def test_known_consumer_needs_no_query(account, account_with_pass, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert [balance_event(account, has_consumer=known).has_consumer for known in (True, False)] == [True, False]


def test_with_pass_needs_one_query_for_many_accounts_and_none_for_no_account(
    account, account_with_pass, django_assert_num_queries
):
    with django_assert_num_queries(1):
        assert with_pass({account.pk: "a", account_with_pass.pk: "b"}) == {account_with_pass.pk}
    with django_assert_num_queries(0):
        assert with_pass([]) == set()
