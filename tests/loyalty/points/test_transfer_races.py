"""Points that members give to each other at the same time."""

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
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(transfers_allowed=True, transfer_daily_limit=100)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def pair(transactional_db):
    """A brand whose members give 100 a day, and two members with 200 points each."""
    brand = factories.brand(transfers_allowed=True, transfer_daily_limit=100)
    members = [factories.customer(brand) for _ in range(2)]
    for member in members:
        factories.points(member, brand, 200)
    return brand, *members


def wish(brand, sender, receiver, points, key):
    return transfers.TransferRequest(
        brand.pk,
        sender.pk,
        factories.account(receiver, brand).pk,
        Decimal(points),
        uuid.UUID(int=key),
        timezone.now(),
    )


def race(pair, monkeypatch, *, points=20, number=10):
    """Many gifts of one member at once, each thinking a moment between reading and writing; how many were made."""
    brand, sender, receiver = pair
    move = transfers.move

    def think_and_move(*details):
        time.sleep(0.05)
        return move(*details)

    monkeypatch.setattr(transfers, "move", think_and_move)
    requests = [wish(brand, sender, receiver, points, key) for key in range(number)]
    results = at_once(transfers.transfer, requests, threads=number)
    return sum(isinstance(each, PointTransfer) for each in results)


@pytest.mark.django_db(transaction=True)
def test_the_daily_limit_holds_at_once(pair, monkeypatch):
    assert race(pair, monkeypatch) == 5
    assert contradictions() == []


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_more_is_given(pair, monkeypatch):
    """The control: the race is there."""
    monkeypatch.setattr(accounts, "lock_many", lambda **_accounts: None)

    assert race(pair, monkeypatch) > 5


@pytest.mark.django_db(transaction=True)
def test_both_directions_at_once_wait_for_each_other(pair):
    brand, first, second = pair
    requests = [wish(brand, *((first, second) if at % 2 else (second, first)), 5, at) for at in range(20)]

    results = at_once(transfers.transfer, requests, threads=10)

    assert all(isinstance(each, PointTransfer) for each in results), results
    assert sum(balances(first, second)) == 400
    assert contradictions() == []


@pytest.mark.django_db(transaction=True)
def test_the_same_request_many_times_at_once_is_made_once(pair):
    brand, first, second = pair
    request = wish(brand, first, second, 5, 1)

    results = at_once(transfers.transfer, [request] * 8)

    assert {each.pk for each in results} == {PointTransfer.objects.get().pk}
    assert balances(first, second) == [195, 205]
