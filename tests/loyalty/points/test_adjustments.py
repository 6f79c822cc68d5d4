"""Adjustments by staff follow the ledger's rules, count once per key and never make a balance negative."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from core.errors import Invalid
from events.models import Event
from loyalty.errors import MemberBlocked, NotEnoughPoints, PointsAlreadyClaimed
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import adjustments
from tests.loyalty.points.adjusting import KEY, adjust, numbers
from tests.support import factories
from tests.support.portal import address, browser, staff, text


@pytest.fixture
def account(customer: User, brand: Brand) -> UserPoints:
    return factories.account(customer, brand)


@pytest.mark.django_db
class TestRules:
    def test_points_are_added_and_deducted_by_ledger_entries(self, account: UserPoints) -> None:
        adjust(account, 30)
        adjustment = adjust(account, "-12.5", key=KEY)

        assert adjustment.new_balance == Decimal("17.5")
        assert numbers(account) == (Decimal("17.5"), 30, Decimal("12.5"))
        entry = LoyaltyTransaction.objects.get(pk=adjustment.transaction_id)
        assert (entry.reason, entry.reason_id, entry.note) == ("redeemed", f"adjust:{KEY}", "Goodwill")

    def test_same_key_counts_once(self, account: UserPoints) -> None:
        adjust(account, 30, key=KEY)

        for points in (30, -30):
            with pytest.raises(PointsAlreadyClaimed):
                adjust(account, points, key=KEY)

        assert numbers(account)[0] == 30
        assert (LoyaltyTransaction.objects.count(), AuditLogEntry.objects.count(), Event.objects.count()) == (1, 1, 1)

    def test_only_operators_can_add_more_than_a_hundred_scans_earn(self, account: UserPoints, brand: Brand) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        operator = factories.user(is_staff=True, is_superuser=True)

        for user in (staff(brand), None):
            with pytest.raises(Invalid, match="at most 500 points a day") as raised:
                adjust(account, "500.01", by=user)
            assert raised.value.details == {"field": "amount"}

        assert adjust(account, 500, by=staff(brand)).points == 500
        assert adjust(account, 99_000, by=operator).points == 99_000
        assert adjust(account, -50_000, by=staff(brand)).points == -50_000

    def test_daily_limit_applies_to_the_sum_of_a_users_additions(self, account: UserPoints, brand: Brand) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        owner, other_brand = staff(brand), factories.brand(max_points_per_scan=5)
        StaffRole.objects.create(user=owner, brand=other_brand, role="owner")
        adjust(account, 450, by=owner, key=KEY)
        adjust(account, -300, by=owner)  # does not raise the remaining daily limit

        with pytest.raises(Invalid, match=r"at most 500 points a day. .* You have added 450\.00 today\."):
            adjust(factories.account(factories.customer(brand), brand), "50.01", by=owner)

        assert numbers(account)[0] == 150
        assert AuditLogEntry.objects.filter(user=owner).count() == 2
        with pytest.raises(PointsAlreadyClaimed):
            adjust(account, 450, by=owner, key=KEY)
        assert adjust(account, 50, by=owner).points == 50
        assert adjust(account, 500, by=staff(brand)).points == 500
        assert adjust(factories.account(factories.customer(other_brand), other_brand), 500, by=owner).points == 500

    def test_daily_limit_resets_on_the_next_day(self, account: UserPoints, brand: Brand) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        owner = staff(brand)
        adjust(account, 500, by=owner)

        tomorrow = AuditContext(owner, timezone.now() + timedelta(days=1), "req-2", "Goodwill")
        adjustment = adjustments.adjust(account=account, points=Decimal(500), key=uuid4(), audit_context=tomorrow)

        assert adjustment.new_balance == 1000

    def test_balance_is_never_negative(self, account: UserPoints) -> None:
        adjust(account, 10)

        with pytest.raises(NotEnoughPoints):
            adjust(account, "-10.01")
        adjust(account, -10)

        assert numbers(account) == (0, 10, 10)

    @pytest.mark.parametrize("points", ["0", "0.001", "-0.005"])
    def test_amount_must_be_at_least_one_hundredth(self, account: UserPoints, points: str) -> None:
        with pytest.raises(Invalid):
            adjust(account, points)

    def test_reason_is_required(self, account: UserPoints) -> None:
        with pytest.raises(Invalid, match="Enter a reason"):
            adjustments.adjust(
                account=account,
                points=Decimal(1),
                key=KEY,
                audit_context=AuditContext(None, timezone.now(), reason=" \n"),
            )

    def test_points_of_a_blocked_member_can_only_be_deducted(self, account: UserPoints) -> None:
        adjust(account, 30)
        account.status = "blocked"
        account.save(update_fields=["status"])

        with pytest.raises(MemberBlocked):
            adjust(account, 1)
        adjust(account, -30)

        assert numbers(account)[0] == 0

    def test_adjustment_publishes_a_balance_event_like_an_accrual(self, account: UserPoints) -> None:
        adjust(account, 30, key=KEY)

        event = Event.objects.get()
        assert event.detail_type == "balance-changed"
        assert event.detail["arguments"] == {"brand_id": account.brand_id, "user_id": account.user_id}
        assert event.detail["payload"] == {
            "user_point_id": account.pk,
            "points": 30,
            "current_level": "Bronze",
            "level_updated": False,
            "cause": f"adjust:{KEY}",
        }

    def test_added_points_raise_the_level_and_deducted_ones_do_not_lower_it(
        self, account: UserPoints, brand: Brand
    ) -> None:
        factories.level(brand, "Silver", threshold=100)

        assert adjust(account, 100).level_updated
        assert not adjust(account, -100).level_updated

        account.refresh_from_db()
        assert account.current_level == "Silver"
        assert AuditLogEntry.objects.last().changes["current_level"] == ["Bronze", "Silver"]

    def test_audit_log_entry_does_not_contain_the_email_address(self, account: UserPoints) -> None:
        adjust(account, 5)

        entry = AuditLogEntry.objects.get()
        assert account.user.email in str(account)
        assert account.user.email not in json.dumps([entry.row_name, entry.action, entry.changes])

    def test_audit_log_entry_has_user_amount_and_reason(self, account: UserPoints, brand: Brand) -> None:
        owner = staff(brand)
        adjustment = adjust(account, 30, by=owner)

        entry = AuditLogEntry.objects.get()
        assert (entry.user, entry.brand, entry.reason, entry.request_id) == (owner, brand, "Goodwill", "req-1")
        assert (entry.kind, entry.row_id) == ("loyalty.userpoints", str(account.pk))
        assert entry.changes == {"points": ["0.00", "30.00"], "ledger line": [None, adjustment.transaction_id]}


@pytest.mark.django_db
class TestPage:
    @pytest.fixture
    def owner(self, brand: Brand) -> User:
        return staff(brand)

    @pytest.fixture
    def client(self, owner: User) -> Client:
        return browser(owner)

    def send(self, client: Client, account: UserPoints, **fields: Any) -> Any:
        valid = {"direction": "add", "amount": "25", "reason": "Goodwill", "key": KEY}
        return client.post(address("loyalty.userpoints", "adjust", account.pk), {**valid, **fields})

    def test_member_page_links_to_the_form_which_gets_a_new_key_each_time(
        self, client: Client, account: UserPoints
    ) -> None:
        url = address("loyalty.userpoints", "adjust", account.pk)

        assert url in text(client.get(address("loyalty.userpoints", "change", account.pk)))
        keys = {client.get(url).context["form"].initial["key"] for _ in range(2)}
        assert len(keys) == 2

    def test_form_makes_an_adjustment_that_appears_in_the_history(
        self, client: Client, owner: User, account: UserPoints
    ) -> None:
        assert self.send(client, account).status_code == 302

        assert numbers(account)[0] == 25
        assert AuditLogEntry.objects.get().user == owner
        assert "Goodwill" in text(client.get(address("loyalty.userpoints", "history", account.pk)))

    def test_form_has_a_button_per_direction_and_reports_a_new_level(self, client: Client, account: UserPoints) -> None:
        factories.level(account.brand, "Gold", 100)
        page = text(client.get(address("loyalty.userpoints", "adjust", account.pk)))

        added = [text(client.get(self.send(client, account, key=uuid4())["Location"])) for _ in range(4)]
        deducted = self.send(client, account, direction="take", amount="50", key=uuid4())

        assert 'name="direction" value="add"' in page
        assert 'name="direction" value="take"' in page
        assert "Points that you deduct never lower it." in page
        assert ["The level is now Gold." in each for each in added] == [False, False, False, True]
        assert "The level is now" not in text(client.get(deducted["Location"]))
        account.refresh_from_db()
        assert account.current_level == "Gold"

    def test_form_sent_twice_counts_once(self, client: Client, account: UserPoints) -> None:
        self.send(client, account)
        response = self.send(client, account)

        assert response.status_code == 302
        assert numbers(account)[0] == 25
        assert "already been made" in text(client.get(response["Location"]))

    @pytest.mark.parametrize(
        ("invalid_fields", "field"),
        [
            ({"reason": ""}, "reason"),
            ({"reason": "  "}, "reason"),
            ({"amount": "0"}, "amount"),
            ({"amount": "-5"}, "amount"),
            ({"amount": "0.001"}, "amount"),
            ({"amount": "NaN"}, "amount"),
            ({"amount": "1e9"}, "amount"),
            ({"direction": "steal"}, "direction"),
            ({"key": "x"}, "key"),
            ({"direction": "take", "amount": "1"}, "__all__"),
        ],
    )
    def test_invalid_input_is_an_error_of_its_field(
        self, client: Client, account: UserPoints, invalid_fields: dict[str, str], field: str
    ) -> None:
        response = self.send(client, account, **invalid_fields)

        assert list(response.context["form"].errors) == [field]
        assert not LoyaltyTransaction.objects.exists()

    def test_form_without_a_direction_asks_to_choose_one(self, client: Client, account: UserPoints) -> None:
        assert "Choose Add points or Deduct points." in text(self.send(client, account, direction=""))
        assert not LoyaltyTransaction.objects.exists()

    def test_large_amount_must_be_confirmed(self, client: Client, account: UserPoints, settings: Any) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100
        assert self.send(client, account, amount="100").status_code == 302

        confirmation = self.send(client, account, amount="100.01", key=uuid4())
        assert "would be 200.01" in text(confirmation)
        assert numbers(account)[0] == 100

        form = confirmation.context["form"]
        form_data = {field.name: field.value() for field in form}
        assert client.post(address("loyalty.userpoints", "adjust", account.pk), form_data).status_code == 302
        assert numbers(account)[0] == Decimal("200.01")

    def test_amount_cannot_be_edited_in_the_confirmation(
        self, client: Client, account: UserPoints, settings: Any
    ) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100

        page = text(self.send(client, account, amount="101"))

        assert '<input type="hidden" name="amount" value="101"' in page
        assert page.count('name="amount"') == 1
        assert page.count('name="direction"') == 1

    def test_amount_above_the_limit_is_rejected_with_an_explanation(self, client: Client, account: UserPoints) -> None:
        response = self.send(client, account, amount="100000.01", confirmed="100000.01")

        assert "You can add at most 100,000 points a day. Ask the operator to add more." in text(response)
        assert not LoyaltyTransaction.objects.exists()

    def test_confirmation_is_valid_for_the_confirmed_amount_only(
        self, client: Client, account: UserPoints, settings: Any
    ) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100

        for confirmed in ("101", "-5000", "yes"):
            assert self.send(client, account, amount="5000", confirmed=confirmed).context["asks"]

        assert not LoyaltyTransaction.objects.exists()

    @pytest.mark.parametrize(("role", "status"), [("manager", 302), ("support", 403), ("printer", 404)])
    def test_only_owners_and_managers_can_adjust_points(
        self, brand: Brand, account: UserPoints, role: str, status: int
    ) -> None:
        assert self.send(browser(staff(brand, role=role)), account).status_code == status
        assert LoyaltyTransaction.objects.exists() is (status == 302)

    def test_member_of_another_brand_is_not_found(self, client: Client) -> None:
        other_brand = factories.brand()
        foreign_account = factories.account(factories.customer(other_brand), other_brand)

        assert self.send(client, foreign_account).status_code == 404
        assert client.get(address("loyalty.userpoints", "adjust", foreign_account.pk)).status_code == 404
        assert not LoyaltyTransaction.objects.exists()
