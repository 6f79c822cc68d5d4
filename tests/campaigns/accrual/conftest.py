"""Campaigns that count amounts and products, and the consistency checks of their progress."""

import pytest
from django.db import connection

from brands.models.tenants import Brand
from campaigns.models.campaigns import UserLoyaltyCampaign
from campaigns.progress import consistency
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import order
from tests.support import factories


@pytest.fixture
def progress_is_consistent():
    yield
    assert progress_inconsistencies() == []


def progress_inconsistencies():
    """Inconsistencies of progress that `check_ledger` would report, read in the test's own transaction."""
    inconsistencies = []
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            inconsistencies += [(check, *each) for each in cursor.fetchall()]
    return inconsistencies


def report_order(brand, customer, number, subtotal, *items, **fields):
    return report(brand, customer, "order-complete", order(number, *items, subtotal=subtotal, **fields)).outcome


def report_scan(brand, customer, product=None, **fields):
    code = factories.code(brand, product=product or factories.product(brand, **fields))
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    return report(brand, customer, "scan-auth", payload).outcome


def amount_campaign(brand, target=100, **fields):
    return factories.campaign(brand, type="order", step_by="amount", target_value=target, **fields)


def progress_of(row=None):
    member_progress = row or UserLoyaltyCampaign.objects.get()
    return (member_progress.progress, member_progress.round)


# --- Returns


@pytest.fixture
def recompute_after_return(brand):
    Brand.objects.filter(pk=brand.pk).update(after_return=Brand.AfterReturn.RECOMPUTE)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")
