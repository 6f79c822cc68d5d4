"""Adjustments by hand: under the ledger's rules, once however often they are sent, and never below zero."""

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
    def test_points_are_added_and_taken_by_ledger_lines(self, account: UserPoints) -> None:
        adjust(account, 30)
        made = adjust(account, "-12.5", key=KEY)

        assert made.new_balance == Decimal("17.5")
        assert numbers(account) == (Decimal("17.5"), 30, Decimal("12.5"))
        line = LoyaltyTransaction.objects.get(pk=made.transaction_id)
        assert (line.reason, line.reason_id, line.note) == ("redeemed", f"adjust:{KEY}", "Goodwill")

    def test_same_key_counts_once(self, account: UserPoints) -> None:
        adjust(account, 30, key=KEY)

        for points in (30, -30):
            with pytest.raises(PointsAlreadyClaimed):
                adjust(account, points, key=KEY)

        assert numbers(account)[0] == 30
        assert (LoyaltyTransaction.objects.count(), AuditLogEntry.objects.count(), Event.objects.count()) == (1, 1, 1)

    def test_nobody_but_the_operator_adds_more_than_a_hundred_scans_earn(
        self, account: UserPoints, brand: Brand
    ) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        operator = factories.user(is_staff=True, is_superuser=True)

        for person in (staff(brand), None):
            with pytest.raises(Invalid, match="at most 500 points a day") as refusal:
                adjust(account, "500.01", by=person)
            assert refusal.value.details == {"field": "amount"}

        assert adjust(account, 500, by=staff(brand)).points == 500
        assert adjust(account, 99_000, by=operator).points == 99_000
        assert adjust(account, -50_000, by=staff(brand)).points == -50_000

    def test_ten_adjustments_add_no_more_in_a_day_than_one(self, account: UserPoints, brand: Brand) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        person, elsewhere = staff(brand), factories.brand(max_points_per_scan=5)
        StaffRole.objects.create(user=person, brand=elsewhere, role="owner")
        adjust(account, 450, by=person, key=KEY)
        adjust(account, -300, by=person)  # gives nothing back

        with pytest.raises(Invalid, match=r"at most 500 points a day. .* You have added 450\.00 today\."):
            adjust(factories.account(factories.customer(brand), brand), "50.01", by=person)

        assert numbers(account)[0] == 150
        assert AuditLogEntry.objects.filter(user=person).count() == 2
        with pytest.raises(PointsAlreadyClaimed):
            adjust(account, 450, by=person, key=KEY)
        assert adjust(account, 50, by=person).points == 50
        assert adjust(account, 500, by=staff(brand)).points == 500
        assert adjust(factories.account(factories.customer(elsewhere), elsewhere), 500, by=person).points == 500

    def test_tomorrow_there_is_room_again(self, account: UserPoints, brand: Brand) -> None:
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=5)
        account.refresh_from_db()
        person = staff(brand)
        adjust(account, 500, by=person)

        tomorrow = AuditContext(person, timezone.now() + timedelta(days=1), "req-2", "Goodwill")
        made = adjustments.adjust(account=account, points=Decimal(500), key=uuid4(), audit_context=tomorrow)

        assert made.new_balance == 1000

    def test_balance_is_never_negative(self, account: UserPoints) -> None:
        adjust(account, 10)

        with pytest.raises(NotEnoughPoints):
            adjust(account, "-10.01")
        adjust(account, -10)

        assert numbers(account) == (0, 10, 10)

    @pytest.mark.parametrize("points", ["0", "0.001", "-0.005"])
    def test_amount_is_in_hundredths(self, account: UserPoints, points: str) -> None:
        with pytest.raises(Invalid):
            adjust(account, points)

    def test_reason_is_needed(self, account: UserPoints) -> None:
        with pytest.raises(Invalid, match="Enter a reason"):
            adjustments.adjust(
                account=account,
                points=Decimal(1),
                key=KEY,
                audit_context=AuditContext(None, timezone.now(), reason=" \n"),
            )

    def test_blocked_member_only_loses_points(self, account: UserPoints) -> None:
        adjust(account, 30)
        account.status = "blocked"
        account.save(update_fields=["status"])

        with pytest.raises(MemberBlocked):
            adjust(account, 1)
        adjust(account, -30)

        assert numbers(account)[0] == 0

    def test_wallets_hear_of_it_as_of_an_accrual(self, account: UserPoints) -> None:
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

    def test_added_points_lift_the_level_and_taken_ones_leave_it(self, account: UserPoints, brand: Brand) -> None:
        factories.level(brand, "Silver", threshold=100)

        assert adjust(account, 100).level_updated
        assert not adjust(account, -100).level_updated

        account.refresh_from_db()
        assert account.current_level == "Silver"
        assert AuditLogEntry.objects.last().changes["current_level"] == ["Bronze", "Silver"]

    def test_trail_which_cannot_forget_does_not_know_the_address(self, account: UserPoints) -> None:
        adjust(account, 5)

        entry = AuditLogEntry.objects.get()
        assert account.user.email in str(account)
        assert account.user.email not in json.dumps([entry.row_name, entry.action, entry.changes])

    def test_trail_tells_who_how_much_and_why(self, account: UserPoints, brand: Brand) -> None:
        owner = staff(brand)
        made = adjust(account, 30, by=owner)

        entry = AuditLogEntry.objects.get()
        assert (entry.user, entry.brand, entry.reason, entry.request_id) == (owner, brand, "Goodwill", "req-1")
        assert (entry.kind, entry.row_id) == ("loyalty.userpoints", str(account.pk))
        assert entry.changes == {"points": ["0.00", "30.00"], "ledger line": [None, made.transaction_id]}


@pytest.mark.django_db
class TestPage:
    @pytest.fixture
    def owner(self, brand: Brand) -> User:
        return staff(brand)

    @pytest.fixture
    def client(self, owner: User) -> Client:
        return browser(owner)

    def send(self, client: Client, account: UserPoints, **fields: Any) -> Any:
        plain = {"direction": "add", "amount": "25", "reason": "Goodwill", "key": KEY}
        return client.post(address("loyalty.userpoints", "adjust", account.pk), {**plain, **fields})

    def test_member_page_leads_to_it(self, client: Client, account: UserPoints) -> None:
        its = address("loyalty.userpoints", "adjust", account.pk)

        assert its in text(client.get(address("loyalty.userpoints", "change", account.pk)))
        keys = {client.get(its).context["form"].initial["key"] for _ in range(2)}
        assert len(keys) == 2

    def test_adjustment_is_made_and_shown_in_the_history(
        self, client: Client, owner: User, account: UserPoints
    ) -> None:
        assert self.send(client, account).status_code == 302

        assert numbers(account)[0] == 25
        assert AuditLogEntry.objects.get().user == owner
        assert "Goodwill" in text(client.get(address("loyalty.userpoints", "history", account.pk)))

    def test_its_buttons_say_what_is_done_and_the_page_what_that_means_for_the_level(
        self, client: Client, account: UserPoints
    ) -> None:
        factories.level(account.brand, "Gold", 100)
        page = text(client.get(address("loyalty.userpoints", "adjust", account.pk)))

        added = [text(client.get(self.send(client, account, key=uuid4())["Location"])) for _twice in range(4)]
        taken = self.send(client, account, direction="take", amount="50", key=uuid4())

        assert 'name="direction" value="add"' in page
        assert 'name="direction" value="take"' in page
        assert "Points that you deduct never lower it." in page
        assert ["The level is now Gold." in each for each in added] == [False, False, False, True]
        assert "The level is now" not in text(client.get(taken["Location"]))
        account.refresh_from_db()
        assert account.current_level == "Gold"

    def test_form_sent_twice_counts_once(self, client: Client, account: UserPoints) -> None:
        self.send(client, account)
        again = self.send(client, account)

        assert again.status_code == 302
        assert numbers(account)[0] == 25
        assert "already been made" in text(client.get(again["Location"]))

    @pytest.mark.parametrize(
        ("wrong", "field"),
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
    def test_what_cannot_be_is_refused(
        self, client: Client, account: UserPoints, wrong: dict[str, str], field: str
    ) -> None:
        refused = self.send(client, account, **wrong)

        assert list(refused.context["form"].errors) == [field]
        assert not LoyaltyTransaction.objects.exists()

    def test_a_form_sent_without_a_button_says_so(self, client: Client, account: UserPoints) -> None:
        assert "Choose Add points or Deduct points." in text(self.send(client, account, direction=""))
        assert not LoyaltyTransaction.objects.exists()

    def test_large_amount_is_asked_about(self, client: Client, account: UserPoints, settings: Any) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100
        assert self.send(client, account, amount="100").status_code == 302

        confirmation = self.send(client, account, amount="100.01", key=uuid4())
        assert "would be 200.01" in text(confirmation)
        assert numbers(account)[0] == 100

        form = confirmation.context["form"]
        sent = {field.name: field.value() for field in form}
        assert client.post(address("loyalty.userpoints", "adjust", account.pk), sent).status_code == 302
        assert numbers(account)[0] == Decimal("200.01")

    def test_an_amount_that_is_asked_about_can_no_longer_be_typed(
        self, client: Client, account: UserPoints, settings: Any
    ) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100

        page = text(self.send(client, account, amount="101"))

        assert '<input type="hidden" name="amount" value="101"' in page
        assert page.count('name="amount"') == 1
        assert page.count('name="direction"') == 1

    def test_amount_above_the_limit_is_refused_in_words(self, client: Client, account: UserPoints) -> None:
        refused = self.send(client, account, amount="100000.01", confirmed="100000.01")

        assert "You can add at most 100,000 points a day. Ask the operator to add more." in text(refused)
        assert not LoyaltyTransaction.objects.exists()

    def test_confirmation_is_of_one_amount(self, client: Client, account: UserPoints, settings: Any) -> None:
        settings.ADJUSTMENT_CONFIRM_ABOVE = 100

        for wrong in ("101", "-5000", "yes"):
            assert self.send(client, account, amount="5000", confirmed=wrong).context["asks"]

        assert not LoyaltyTransaction.objects.exists()

    @pytest.mark.parametrize(("role", "status"), [("manager", 302), ("support", 403), ("printer", 404)])
    def test_only_owners_and_managers_adjust(self, brand: Brand, account: UserPoints, role: str, status: int) -> None:
        assert self.send(browser(staff(brand, role=role)), account).status_code == status
        assert LoyaltyTransaction.objects.exists() is (status == 302)

    def test_another_brands_member_does_not_exist(self, client: Client) -> None:
        elsewhere = factories.brand()
        foreign_account = factories.account(factories.customer(elsewhere), elsewhere)

        assert self.send(client, foreign_account).status_code == 404
        assert client.get(address("loyalty.userpoints", "adjust", foreign_account.pk)).status_code == 404
        assert not LoyaltyTransaction.objects.exists()
