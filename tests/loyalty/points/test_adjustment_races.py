"""Concurrent adjustments by staff."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.scanning import consistency
from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts, adjustments, ledger
from tests.loyalty.points.adjusting import KEY, adjust, numbers
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.portal import staff
from tests.support.statements import with_replacements


@pytest.fixture
def account(customer: User, brand: Brand) -> UserPoints:
    return factories.account(customer, brand)


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def results(self, account: UserPoints, times: int, points: int, key: UUID | None = None) -> list[str]:
        results = run_concurrently(lambda _number: adjust(account, points, key=key), range(times))
        return [type(each).__name__ for each in results]

    def test_concurrent_deductions_do_not_exceed_the_balance(self, account: UserPoints) -> None:
        adjust(account, 35)

        results = self.results(account, 24, -10)

        assert results.count("Adjustment") == 3
        assert results.count("NotEnoughPoints") == 21
        assert numbers(account) == (5, 35, 30)
        assert list(consistency.differences()) == []

    def count_concurrent_additions(self, brand: Brand) -> int:
        """The number of successful additions when one user adds 100 points to each of twelve members concurrently."""
        brand.max_points_per_scan = 5
        brand.save()
        owner, accounts = staff(brand), [factories.account(factories.customer(brand), brand) for _ in range(12)]
        results = run_concurrently(lambda number: adjust(accounts[number], 100, by=owner), range(12))
        assert {type(each).__name__ for each in results} <= {"Adjustment", "Invalid"}
        return UserPoints.objects.filter(brand=brand, points=100).count()

    def test_concurrent_additions_do_not_exceed_the_daily_limit(self, brand: Brand) -> None:
        assert self.count_concurrent_additions(brand) == 5

    def test_control_without_turns_additions_exceed_the_daily_limit(
        self, brand: Brand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adjustments, "lock_additions", lambda **_arguments: None)

        assert self.count_concurrent_additions(brand) > 5

    def test_deduction_during_an_erasure_names_only_the_pseudonym(
        self, account: UserPoints, customer: User, brand: Brand
    ) -> None:
        adjust(account, 100)
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())  # so the user stays
        audit_context = AuditContext(None, timezone.now())

        run_during_transaction(
            lambda: erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=audit_context),
            lambda: adjust(account, -10),
        )

        pseudonym = UserPoints.objects.get(pk=account.pk).user_id
        event = Event.objects.filter(detail_type="balance-changed").latest("pk")
        assert event.detail["payload"]["points"] == 90
        assert (event.detail["arguments"]["user_id"], pseudonym == customer.pk) == (pseudonym, False)

    @pytest.fixture
    def without_lock(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Check the balance without locking the account, and drop the constraint on it."""
        monkeypatch.setattr(accounts, "lock", lambda **_: None)
        monkeypatch.setattr(ledger, "DEBIT_POINTS", with_replacements(ledger.DEBIT_POINTS, ("FOR NO KEY UPDATE", "")))
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE user_points DROP CONSTRAINT points_not_negative")
        yield
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute("TRUNCATE user_points CASCADE")
            cursor.execute(
                "ALTER TABLE user_points ADD CONSTRAINT points_not_negative CHECK (points >= 0 AND points_earned >= 0"
                " AND points_redeemed >= 0 AND points_expired >= 0)"
            )

    @pytest.mark.usefixtures("transactional_db", "without_lock")
    def test_control_without_the_lock_deductions_exceed_the_balance(self, account: UserPoints) -> None:
        adjust(account, 35)

        self.results(account, 24, -10)

        assert numbers(account)[0] < 0

    @pytest.mark.parametrize("points", [10, -10])
    def test_adjustment_sent_many_times_concurrently_counts_once(self, account: UserPoints, points: int) -> None:
        adjust(account, 100)

        results = self.results(account, 24, points, key=KEY)

        assert results.count("Adjustment") == 1
        assert results.count("PointsAlreadyClaimed") == 23
        assert numbers(account)[0] == 100 + points
        assert LoyaltyTransaction.objects.count() == AuditLogEntry.objects.count() == Event.objects.count() == 2
