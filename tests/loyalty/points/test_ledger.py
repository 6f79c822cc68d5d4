"""The ledger credits a reason once, is append-only and always adds up."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from loyalty.errors import PointsAlreadyClaimed
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import ledger
from tests.support import factories


@pytest.fixture
def account(brand, customer):
    return factories.account(customer, brand)


def credit(account, points="10", reason_id="CODE-1"):
    return ledger.credit(
        account=account.pk, points=Decimal(points), reason_id=reason_id, note="For a test", at=timezone.now()
    )


def test_credit_writes_an_entry_and_raises_balance_and_lifetime(account):
    entry = credit(account, "12.50")

    assert (entry.balance, entry.lifetime, entry.current_level) == (Decimal("12.50"), Decimal("12.50"), "Bronze")
    assert LoyaltyTransaction.objects.get().points_earned == Decimal("12.50")
    account.refresh_from_db()
    assert (account.points, account.lifetime) == (Decimal("12.50"), Decimal("12.50"))


def test_entry_gets_the_brand_of_its_account_by_default(account):
    credit(account)
    account.transactions.create(points_earned=1, reason="earned", reason_id="by hand")

    assert set(LoyaltyTransaction.objects.values_list("brand", flat=True)) == {account.brand_id}


def test_repeated_reason_is_rejected_and_changes_nothing(account):
    credit(account)

    with pytest.raises(PointsAlreadyClaimed):
        credit(account, "99")

    account.refresh_from_db()
    assert (account.points, LoyaltyTransaction.objects.count()) == (10, 1)


@pytest.mark.parametrize("statement", ["UPDATE loyalty_transaction SET note = 'x'", "DELETE FROM loyalty_transaction"])
def test_database_rejects_changes_to_an_entry(account, statement):
    credit(account)

    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.as_owner(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.parametrize(
    "fields",
    [{"points": 5}, {"points_earned": 5}, {"points": -1, "points_redeemed": 1}, {"status": "vip"}],
)
def test_database_rejects_invalid_account_values(account, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        UserPoints.objects.filter(pk=account.pk).update(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "earned", "points_redeemed": 1},
        {"reason": "earned", "points_earned": -1},
        {"reason": "redeemed", "points_earned": 1},
        {"reason": "redeemed", "points_redeemed": 0},
        {"reason": "gift", "points_earned": 1},
        {"reason": "earned", "points_earned": 1, "reason_id": ""},
    ],
)
def test_database_rejects_invalid_entries(account, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        LoyaltyTransaction.objects.create(user_point=account, **{"reason_id": "X", **fields})
