"""Concurrent transfers of points between members."""

import time
import uuid
from decimal import Decimal

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.ledger import PointTransfer
from loyalty.points import accounts, transfers
from tests.loyalty.points.conftest import balances, contradictions
from tests.support import factories
from tests.support.concurrency import run_concurrently

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(transfers_allowed=True, transfer_daily_limit=100)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def brand_and_members(transactional_db):
    """A brand whose members may transfer 100 points a day, and two members with 200 points each."""
    brand = factories.brand(transfers_allowed=True, transfer_daily_limit=100)
    members = [factories.customer(brand) for _ in range(2)]
    for member in members:
        factories.points(member, brand, 200)
    return brand, *members


def transfer_request(brand, sender, receiver, points, key):
    return transfers.TransferRequest(
        brand.pk,
        sender.pk,
        factories.account(receiver, brand).pk,
        Decimal(points),
        uuid.UUID(int=key),
        timezone.now(),
    )


def run_transfers_concurrently(brand_and_members, monkeypatch, *, points=20, number=10):
    """Run concurrent transfers of one member, each pausing between reading and writing; return how many succeeded."""
    brand, sender, receiver = brand_and_members
    move = transfers.move

    def pause_and_move(*arguments):
        time.sleep(0.05)
        return move(*arguments)

    monkeypatch.setattr(transfers, "move", pause_and_move)
    requests = [transfer_request(brand, sender, receiver, points, key) for key in range(number)]
    results = run_concurrently(transfers.transfer, requests, threads=number)
    return sum(isinstance(result, PointTransfer) for result in results)


@pytest.mark.django_db(transaction=True)
def test_concurrent_transfers_do_not_exceed_the_daily_limit(brand_and_members, monkeypatch):
    assert run_transfers_concurrently(brand_and_members, monkeypatch) == 5
    assert contradictions() == []


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_transfers_exceed_the_daily_limit(brand_and_members, monkeypatch):
    monkeypatch.setattr(accounts, "lock_many", lambda **_arguments: None)

    assert run_transfers_concurrently(brand_and_members, monkeypatch) > 5


@pytest.mark.django_db(transaction=True)
def test_concurrent_transfers_in_both_directions_all_succeed(brand_and_members):
    brand, first, second = brand_and_members
    requests = [
        transfer_request(brand, *((first, second) if number % 2 else (second, first)), 5, number)
        for number in range(20)
    ]

    results = run_concurrently(transfers.transfer, requests, threads=10)

    assert all(isinstance(result, PointTransfer) for result in results), results
    assert sum(balances(first, second)) == 400
    assert contradictions() == []


@pytest.mark.django_db(transaction=True)
def test_request_sent_many_times_concurrently_is_executed_once(brand_and_members):
    brand, first, second = brand_and_members
    request = transfer_request(brand, first, second, 5, 1)

    results = run_concurrently(transfers.transfer, [request] * 8)

    assert {result.pk for result in results} == {PointTransfer.objects.get().pk}
    assert balances(first, second) == [195, 205]
