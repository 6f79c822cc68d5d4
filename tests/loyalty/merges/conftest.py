"""Two members of a brand who are the same person, and helpers that merge their accounts."""

import uuid

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from loyalty.merges import merge as merging
from loyalty.merges import undo as undoing
from loyalty.models.ledger import AccountMerge
from tests.support import factories


def context(reason="One person", *, at=None, user=None):
    return AuditContext(user, at or timezone.now(), reason=reason)


def merge_accounts(brand, target: User, source: User, *, key=None, at=None) -> AccountMerge:
    """Merges the source account into the target account."""
    return merging.merge(
        target=factories.account(target, brand),
        source=factories.account(source, brand),
        key=key or uuid.uuid4(),
        audit_context=context(at=at),
    )


def undo_merge(account_merge: AccountMerge, *, at=None) -> AccountMerge:
    return undoing.undo(made=account_merge, audit_context=context("A mistake", at=at))


@pytest.fixture
def target(brand):
    return factories.customer(brand)


@pytest.fixture
def source(brand):
    return factories.customer(brand)
