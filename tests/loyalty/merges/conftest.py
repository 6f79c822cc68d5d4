"""Two members of one brand, who turn out to be one person."""

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


def merged(brand, target: User, source: User, *, key=None, at=None) -> AccountMerge:
    """The two accounts made one."""
    return merging.merge(
        target=factories.account(target, brand),
        source=factories.account(source, brand),
        key=key or uuid.uuid4(),
        audit_context=context(at=at),
    )


def undone(made: AccountMerge, *, at=None) -> AccountMerge:
    return undoing.undo(made=made, audit_context=context("A mistake", at=at))


@pytest.fixture
def target(brand):
    return factories.customer(brand)


@pytest.fixture
def source(brand):
    return factories.customer(brand)
