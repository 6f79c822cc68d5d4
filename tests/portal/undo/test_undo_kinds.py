"""The Undo button for each kind of change."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from authcodes.models.codes import AuthCode
from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from brands.models.undo_offers import UndoOffer
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from loyalty.models.accounts import UserPoints
from loyalty.models.members.member_notes import MemberNote
from loyalty.models.rewards import Redemption, Reward
from tests.portal.undo.conftest import messages_of, undo
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


@pytest.mark.django_db
class TestEachKind:
    def test_deactivation_of_a_code_can_be_undone(self, brand: Brand, owner: Client) -> None:
        code = factories.code(brand)
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        code.refresh_from_db()
        assert code.deactivated_at

        page = text(owner.get(address("authcodes.authcode", "change", code.pk)))
        assert reverse("admin:undo", args=[UndoOffer.objects.get().pk]) in page
        undo(owner)

        code.refresh_from_db()
        assert code.deactivated_at is None
        assert "Undone." in messages_of(owner)
        assert not UndoOffer.objects.exists()

    def test_assignment_of_listed_codes_can_be_undone(self, brand: Brand, owner: Client) -> None:
        product = factories.product(brand)
        factories.batch(brand, quantity=2, assigned=False)
        codes = AuthCode.objects.order_by("code")
        form_data = {"codes": "\n".join(code.code for code in codes), "product": product.pk}

        owner.post(address("authcodes.authcode", "assign"), {**form_data, "confirm": "1"})
        assert codes.filter(product=product).count() == 2
        undo(owner)

        assert codes.filter(product=None).count() == 2

    def test_assignment_of_a_range_can_be_undone_unless_a_code_was_scanned(self, brand: Brand, owner: Client) -> None:
        product = factories.product(brand)
        batch = factories.batch(brand, quantity=5, assigned=False)
        url = address("authcodes.batchrange", "assign", batch.pk)
        form_data = {"first": batch.first_code, "last": batch.last_code, "product": product.pk, "confirm": "1"}
        owner.post(url, form_data)
        AuthCode.objects.filter(code=batch.first_code).update(scan_count=1)

        undo(owner)
        assert AuthCode.objects.filter(product=product).count() == 5
        assert "1 of the codes has been scanned and cannot be unassigned." in messages_of(owner)

        AuthCode.objects.update(scan_count=0)
        undo(owner)
        assert AuthCode.objects.filter(product=None).count() == 5

    def test_assignment_cannot_be_undone_after_a_colleague_changed_the_codes(self, brand: Brand, owner: Client) -> None:
        first, second = factories.product(brand), factories.product(brand)
        batch = factories.batch(brand, quantity=5, assigned=False)
        form_data = {"first": batch.first_code, "last": batch.last_code, "confirm": "1"}
        owner.post(address("authcodes.batchrange", "assign", batch.pk), {**form_data, "product": first.pk})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("authcodes.batchrange", "unassign", batch.pk), {**form_data, "reason": "Other tea"})
        colleague.post(address("authcodes.batchrange", "assign", batch.pk), {**form_data, "product": second.pk})
        assert AuthCode.objects.filter(product=second).count() == 5

        owner.post(reverse("admin:undo", args=[offer.pk]))

        assert AuthCode.objects.filter(product=second).count() == 5
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_deactivation_cannot_be_undone_after_a_colleague_repeated_it(self, brand: Brand, owner: Client) -> None:
        code = factories.code(brand)
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("authcodes.authcode", "reactivate", code.pk), {"reason": "Found"})
        colleague.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Counterfeit"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        code.refresh_from_db()
        assert code.deactivated_at

    @pytest.mark.parametrize(
        "extra_fields", [{"notes": "Shelf 4"}, {"inventory_location": "Hall 2"}, {"points_per_scan": "7"}], ids=str
    )
    def test_assignment_with_more_than_a_product_offers_no_undo(
        self, brand: Brand, owner: Client, extra_fields: dict[str, str]
    ) -> None:
        batch = factories.batch(brand, quantity=5, assigned=False)
        product = factories.product(brand)
        form_data = {
            "first": batch.first_code,
            "last": batch.last_code,
            "product": product.pk,
            "confirm": "1",
            **extra_fields,
        }

        owner.post(address("authcodes.batchrange", "assign", batch.pk), form_data)

        assert AuthCode.objects.filter(product=product).count() == 5
        assert not UndoOffer.objects.exists()

    def test_undo_of_an_assignment_keeps_earlier_points_of_the_codes(self, brand: Brand, owner: Client) -> None:
        batch = factories.batch(brand, quantity=5, assigned=False)
        AuthCode.objects.update(points_per_scan=9)
        product = factories.product(brand)
        form_data = {"first": batch.first_code, "last": batch.last_code, "product": product.pk, "confirm": "1"}
        owner.post(address("authcodes.batchrange", "assign", batch.pk), form_data)

        undo(owner)

        assert AuthCode.objects.filter(product=None, points_per_scan=9).count() == 5

    def test_deactivation_with_inactive_codes_in_the_range_offers_no_undo(self, brand: Brand, owner: Client) -> None:
        batch = factories.batch(brand, quantity=3)
        AuthCode.objects.filter(code=batch.first_code).update(deactivated_at=timezone.now())
        form_data = {"first": batch.first_code, "last": batch.last_code, "reason": "Lost", "confirm": "1"}

        owner.post(address("authcodes.batchrange", "deactivate", batch.pk), form_data)

        assert AuthCode.objects.filter(deactivated_at=None).count() == 0
        assert not UndoOffer.objects.exists()

    def test_block_of_a_member_can_be_undone(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        owner.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "Fraud"})
        account.refresh_from_db()
        assert account.status == UserPoints.Status.BLOCKED

        undo(owner)

        account.refresh_from_db()
        assert account.status == UserPoints.Status.ACTIVE
        assert AuditLogEntry.objects.latest("id").action == "Undone"

    def test_block_cannot_be_undone_after_a_colleague_repeated_it(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        owner.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "Fraud"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("loyalty.userpoints", "unblock_one", account.pk), {"reason": "Mistake"})
        colleague.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "No mistake"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        account.refresh_from_db()
        assert account.status == UserPoints.Status.BLOCKED
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_pause_of_a_campaign_cannot_be_undone_after_a_colleague_repeated_it(
        self, brand: Brand, owner: Client
    ) -> None:
        campaign = factories.campaign(brand)
        factories.milestone(campaign, 3)
        owner.post(address("campaigns.campaign", "pause", campaign.pk), {"reason": "Stock"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("campaigns.campaign", "resume", campaign.pk), {"reason": "Back"})
        assert Campaign.objects.get().is_active
        colleague.post(address("campaigns.campaign", "pause", campaign.pk), {"reason": "For good"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        assert not Campaign.objects.get().is_active
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_pause_of_a_rule_cannot_be_undone_after_a_colleague_repeated_it(self, brand: Brand, owner: Client) -> None:
        rule = factories.earning_rule(brand, "log-user-login", state="active")
        owner.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "Too dear"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("campaigns.earningrule", "activate", rule.pk), {"reason": "Back"})
        assert EarningRule.objects.get().state == "active"
        colleague.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "For good"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        assert EarningRule.objects.get().state == "paused"
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_pause_of_a_campaign_can_be_undone(self, brand: Brand, owner: Client) -> None:
        campaign = factories.campaign(brand)
        factories.milestone(campaign, 3)
        owner.post(address("campaigns.campaign", "pause", campaign.pk), {"reason": "Stock"})
        assert not Campaign.objects.get().is_active

        undo(owner)

        assert Campaign.objects.get().is_active

    def test_pause_of_an_earning_rule_can_be_undone(self, brand: Brand, owner: Client) -> None:
        rule = factories.earning_rule(brand, "log-user-login", state="active")
        owner.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "Too dear"})
        assert EarningRule.objects.get().state == "paused"

        undo(owner)

        assert EarningRule.objects.get().state == "active"

    def test_deactivation_of_a_reward_in_its_form_can_be_undone(self, brand: Brand, owner: Client) -> None:
        reward = factories.reward(brand)
        url = address("loyalty.reward", "change", reward.pk)
        form_data = form_of(owner.get(url))
        form_data.pop("is_active")
        owner.post(url, form_data)
        assert not Reward.objects.get().is_active

        undo(owner)

        assert Reward.objects.get().is_active

    def test_form_that_also_changes_another_field_offers_no_undo(self, brand: Brand, owner: Client) -> None:
        reward = factories.reward(brand)
        url = address("loyalty.reward", "change", reward.pk)
        form_data = {**form_of(owner.get(url)), "name": "Another mug"}
        form_data.pop("is_active")

        owner.post(url, form_data)

        assert not Reward.objects.get().is_active
        assert not UndoOffer.objects.exists()

    def test_deleted_note_is_restored_unchanged(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        url = address("loyalty.userpoints", "note", account.pk)
        owner.post(url, {"text": "Prefers tea"})
        before = MemberNote.objects.values("text", "author", "account", "created_at").get()
        owner.post(url, {"delete": MemberNote.objects.get().pk})
        assert not MemberNote.objects.exists()

        undo(owner)

        assert MemberNote.objects.values("text", "author", "account", "created_at").get() == before

    def test_use_of_a_redemption_code_can_be_undone(self, brand: Brand, owner: Client) -> None:
        customer = factories.customer(brand)
        factories.points(customer, brand, 50)
        redemption = factories.redemption(customer, factories.reward(brand))
        url = address("loyalty.userpoints", "use", redemption.user_point_id)
        owner.post(url, {"redemption": redemption.pk, "key": uuid4()})
        assert Redemption.objects.get().status == "used"

        undo(owner)

        assert Redemption.objects.get().status == "issued"
