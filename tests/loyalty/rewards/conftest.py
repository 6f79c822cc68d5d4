"""Fixtures and helpers for tests of rewards, and the consistency checks that run after them."""

import pytest
from django.db import connection
from django.utils import timezone

from brands.audit_log import AuditContext
from campaigns.progress import consistency as progress_consistency
from loyalty.models.accounts import UserPoints
from loyalty.points import consistency
from loyalty.wallets import passes
from tests.support import factories


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


@pytest.fixture
def consistent_ledger(db):
    yield
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **progress_consistency.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


def issue_pass(customer, brand):
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())


def balance(customer):
    return UserPoints.objects.get(user=customer).points


def undo(customer_api, redemption):
    return customer_api.post(f"customer/loyalty/redemptions/{redemption.pk}/undo")


@pytest.fixture
def redemption(brand, customer):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, name="A mug", cost=10, stock=3))


def audit_context(brand, reason="A mistake", at=None):
    return AuditContext(factories.user(is_staff=True), at or timezone.now(), "", reason)
