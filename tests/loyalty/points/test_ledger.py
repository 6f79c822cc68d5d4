"""The ledger: credited once, never edited, never out of balance."""

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


def test_a_credit_writes_a_line_and_moves_balance_and_lifetime(account):
    line = credit(account, "12.50")

    assert (line.balance, line.lifetime, line.current_level) == (Decimal("12.50"), Decimal("12.50"), "Bronze")
    assert LoyaltyTransaction.objects.get().points_earned == Decimal("12.50")


def test_a_line_is_the_brands_whose_account_it_is_of_also_where_nobody_says_so(account):
    credit(account)
    account.transactions.create(points_earned=1, reason="earned", reason_id="by hand")

    assert set(LoyaltyTransaction.objects.values_list("brand", flat=True)) == {account.brand_id}


def test_the_same_reason_is_refused_and_changes_nothing(account):
    credit(account)

    with pytest.raises(PointsAlreadyClaimed):
        credit(account, "99")

    account.refresh_from_db()
    assert (account.points, LoyaltyTransaction.objects.count()) == (10, 1)


@pytest.mark.parametrize("statement", ["UPDATE loyalty_transaction SET note = 'x'", "DELETE FROM loyalty_transaction"])
def test_the_database_refuses_to_edit_a_line(account, statement):
    credit(account)

    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.as_owner(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.parametrize(
    "change",
    [{"points": 5}, {"points_earned": 5}, {"points": -1, "points_redeemed": 1}, {"status": "vip"}],
)
def test_the_database_refuses_numbers_that_do_not_add_up(account, change):
    with pytest.raises(IntegrityError), transaction.atomic():
        UserPoints.objects.filter(pk=account.pk).update(**change)


@pytest.mark.parametrize(
    "line",
    [
        {"reason": "earned", "points_redeemed": 1},
        {"reason": "earned", "points_earned": -1},
        {"reason": "redeemed", "points_earned": 1},
        {"reason": "redeemed", "points_redeemed": 0},
        {"reason": "gift", "points_earned": 1},
        {"reason": "earned", "points_earned": 1, "reason_id": ""},
    ],
)
def test_the_database_refuses_lines_that_mean_nothing(account, line):
    with pytest.raises(IntegrityError), transaction.atomic():
        LoyaltyTransaction.objects.create(user_point=account, **{"reason_id": "X", **line})
