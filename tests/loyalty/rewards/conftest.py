"""What the tests of rewards take, and the books that must be right afterwards."""

import pytest
from django.db import connection
from django.utils import timezone

from brands.audit_log import AuditContext
from campaigns.progress import consistency as progress
from loyalty.models.accounts import UserPoints
from loyalty.points import consistency
from loyalty.wallets import passes
from tests.support import factories


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


@pytest.fixture
def books_are_right(db):
    yield
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **progress.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


def hold_a_pass(customer, brand):
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())


def balance(customer):
    return UserPoints.objects.get(user=customer).points


def undo(customer_api, redemption):
    return customer_api.post(f"customer/loyalty/redemptions/{redemption.pk}/undo")


@pytest.fixture
def redemption(brand, customer):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, name="A mug", cost=10, stock=3))


def deed(brand, reason="A mistake", at=None):
    return AuditContext(factories.user(is_staff=True), at or timezone.now(), "", reason)
