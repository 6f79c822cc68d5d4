"""Campaigns that count money and products, and the ledger that must hold them."""

import pytest
from django.db import connection

from brands.models.tenants import Brand
from campaigns.models.campaigns import UserLoyaltyCampaign
from campaigns.progress import consistency
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import order
from tests.support import factories


@pytest.fixture
def nothing_contradicts():
    yield
    assert contradictions() == []


def contradictions():
    """What `check_ledger` would find of progress, read in the test's own transaction."""
    found = []
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            found += [(check, *each) for each in cursor.fetchall()]
    return found


def bought(brand, customer, number, subtotal, *items, **fields):
    return report(brand, customer, "order-complete", order(number, *items, subtotal=subtotal, **fields)).outcome


def scanned(brand, customer, product=None, **fields):
    code = factories.code(brand, product=product or factories.product(brand, **fields))
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    return report(brand, customer, "scan-auth", payload).outcome


def of_money(brand, target=100, **fields):
    return factories.campaign(brand, type="order", step_by="amount", target_value=target, **fields)


def progress_of(row=None):
    found = row or UserLoyaltyCampaign.objects.get()
    return (found.progress, found.round)


# --- Returns


@pytest.fixture
def recomputing(brand):
    Brand.objects.filter(pk=brand.pk).update(after_return=Brand.AfterReturn.RECOMPUTE)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
