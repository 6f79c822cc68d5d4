"""A merged account is closed: staff cannot change it, and its member can neither redeem nor transfer points."""

import uuid
from decimal import Decimal

import pytest
from django.utils import timezone

from loyalty.errors import MemberBlocked, MemberMerged, ReceiverNotFound
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import PointTransfer
from loyalty.models.rewards import Redemption
from loyalty.points import accounts, adjustments, transfers
from loyalty.rewards import redeem
from tests.loyalty.merges.conftest import context, merge_accounts
from tests.support import factories, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    brand.transfers_allowed, brand.transfer_daily_limit = True, 1000
    brand.save()
    return brand


@pytest.fixture
def merged(brand, target, source):
    """The source's account after the merge, which gave its 10 points to the target."""
    factories.points(source, brand, 10)
    merge_accounts(brand, target, source)
    return factories.account(source, brand)


def transfer(brand, sender, receiver):
    receiving_account = factories.account(receiver, brand).pk
    request = transfers.TransferRequest(
        brand.pk, sender.pk, receiving_account, Decimal(1), uuid.uuid4(), timezone.now()
    )
    return transfers.transfer(request)


def test_merged_account_cannot_be_adjusted_or_activated(merged):
    for points in (5, -5):
        with pytest.raises(MemberMerged):
            adjustments.adjust(account=merged, points=Decimal(points), key=uuid.uuid4(), audit_context=context())
    assert accounts.set_status(accounts=[merged], status=UserPoints.Status.ACTIVE, at=timezone.now()) == []
    merged.refresh_from_db()
    assert merged.status == "merged"


def test_merged_account_can_neither_send_nor_receive_points(brand, target, source, merged):
    with pytest.raises(MemberMerged):
        transfer(brand, source, factories.customer(brand))
    with pytest.raises(ReceiverNotFound):
        transfer(brand, target, source)

    assert not PointTransfer.objects.exists()
    assert [factories.account(each, brand).points for each in (target, source)] == [10, 0]
    assert shop.inconsistencies() == []


def test_merged_account_cannot_redeem(brand, source, merged):
    reward = factories.reward(brand, cost=1)
    request = redeem.RedemptionRequest(brand.pk, source.pk, reward.pk, uuid.uuid4(), timezone.now())

    with pytest.raises(MemberBlocked):
        redeem.redeem(request)

    assert not Redemption.objects.exists()
