"""The Undo button takes back each kind of change whole."""

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
    def test_codes_that_were_switched_off(self, brand: Brand, owner: Client) -> None:
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

    def test_codes_that_were_assigned_one_by_one(self, brand: Brand, owner: Client) -> None:
        product = factories.product(brand)
        factories.batch(brand, quantity=2, assigned=False)
        codes = AuthCode.objects.order_by("code")
        typed = {"codes": "\n".join(code.code for code in codes), "product": product.pk}

        owner.post(address("authcodes.authcode", "assign"), {**typed, "confirm": "1"})
        assert codes.filter(product=product).count() == 2
        undo(owner)

        assert codes.filter(product=None).count() == 2

    def test_a_range_that_was_assigned_unless_one_was_scanned_since(self, brand: Brand, owner: Client) -> None:
        product = factories.product(brand)
        batch = factories.batch(brand, quantity=5, assigned=False)
        where = address("authcodes.batchrange", "assign", batch.pk)
        chosen = {"first": batch.first_code, "last": batch.last_code, "product": product.pk, "confirm": "1"}
        owner.post(where, chosen)
        AuthCode.objects.filter(code=batch.first_code).update(scan_count=1)

        undo(owner)
        assert AuthCode.objects.filter(product=product).count() == 5
        assert "1 of the codes has been scanned and cannot be unassigned." in messages_of(owner)

        AuthCode.objects.update(scan_count=0)
        undo(owner)
        assert AuthCode.objects.filter(product=None).count() == 5

    def test_not_codes_that_a_colleague_has_changed_since(self, brand: Brand, owner: Client) -> None:
        first, second = factories.product(brand), factories.product(brand)
        batch = factories.batch(brand, quantity=5, assigned=False)
        chosen = {"first": batch.first_code, "last": batch.last_code, "confirm": "1"}
        owner.post(address("authcodes.batchrange", "assign", batch.pk), {**chosen, "product": first.pk})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("authcodes.batchrange", "unassign", batch.pk), {**chosen, "reason": "Other tea"})
        colleague.post(address("authcodes.batchrange", "assign", batch.pk), {**chosen, "product": second.pk})
        assert AuthCode.objects.filter(product=second).count() == 5

        owner.post(reverse("admin:undo", args=[offer.pk]))

        assert AuthCode.objects.filter(product=second).count() == 5
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_not_codes_that_a_colleague_switched_on_and_off_again(self, brand: Brand, owner: Client) -> None:
        code = factories.code(brand)
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("authcodes.authcode", "reactivate", code.pk), {"reason": "Found"})
        colleague.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Counterfeit"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        code.refresh_from_db()
        assert code.deactivated_at

    @pytest.mark.parametrize(
        "given", [{"notes": "Shelf 4"}, {"inventory_location": "Hall 2"}, {"points_per_scan": "7"}], ids=str
    )
    def test_nothing_is_offered_where_more_than_the_product_was_given(
        self, brand: Brand, owner: Client, given: dict[str, str]
    ) -> None:
        batch = factories.batch(brand, quantity=5, assigned=False)
        product = factories.product(brand)
        chosen = {"first": batch.first_code, "last": batch.last_code, "product": product.pk, "confirm": "1", **given}

        owner.post(address("authcodes.batchrange", "assign", batch.pk), chosen)

        assert AuthCode.objects.filter(product=product).count() == 5
        assert not UndoOffer.objects.exists()

    def test_codes_keep_points_that_they_had_before_they_were_assigned(self, brand: Brand, owner: Client) -> None:
        batch = factories.batch(brand, quantity=5, assigned=False)
        AuthCode.objects.update(points_per_scan=9)
        product = factories.product(brand)
        chosen = {"first": batch.first_code, "last": batch.last_code, "product": product.pk, "confirm": "1"}
        owner.post(address("authcodes.batchrange", "assign", batch.pk), chosen)

        undo(owner)

        assert AuthCode.objects.filter(product=None, points_per_scan=9).count() == 5

    def test_nothing_is_offered_where_some_were_so_before(self, brand: Brand, owner: Client) -> None:
        batch = factories.batch(brand, quantity=3)
        AuthCode.objects.filter(code=batch.first_code).update(deactivated_at=timezone.now())
        chosen = {"first": batch.first_code, "last": batch.last_code, "reason": "Lost", "confirm": "1"}

        owner.post(address("authcodes.batchrange", "deactivate", batch.pk), chosen)

        assert AuthCode.objects.filter(deactivated_at=None).count() == 0
        assert not UndoOffer.objects.exists()

    def test_members_who_were_blocked(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        owner.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "Fraud"})
        account.refresh_from_db()
        assert account.status == UserPoints.Status.BLOCKED

        undo(owner)

        account.refresh_from_db()
        assert account.status == UserPoints.Status.ACTIVE
        assert AuditLogEntry.objects.latest("id").action == "Undone"

    def test_not_members_whom_a_colleague_has_blocked_again(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        owner.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "Fraud"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("loyalty.userpoints", "unblock_one", account.pk), {"reason": "Mistake"})
        colleague.post(address("loyalty.userpoints", "block_one", account.pk), {"reason": "No mistake"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        account.refresh_from_db()
        assert account.status == UserPoints.Status.BLOCKED
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_not_a_campaign_that_a_colleague_has_paused_again(self, brand: Brand, owner: Client) -> None:
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

    def test_not_a_rule_that_a_colleague_has_paused_again(self, brand: Brand, owner: Client) -> None:
        rule = factories.earning_rule(brand, "log-user-login", state="active")
        owner.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "Too dear"})
        offer, colleague = UndoOffer.objects.get(), browser(staff(brand))
        colleague.post(address("campaigns.earningrule", "activate", rule.pk), {"reason": "Back"})
        assert EarningRule.objects.get().state == "active"
        colleague.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "For good"})

        owner.post(reverse("admin:undo", args=[offer.pk]))

        assert EarningRule.objects.get().state == "paused"
        assert "somebody has changed it in the meantime" in messages_of(owner)

    def test_a_campaign_that_was_paused(self, brand: Brand, owner: Client) -> None:
        campaign = factories.campaign(brand)
        factories.milestone(campaign, 3)
        owner.post(address("campaigns.campaign", "pause", campaign.pk), {"reason": "Stock"})
        assert not Campaign.objects.get().is_active

        undo(owner)

        assert Campaign.objects.get().is_active

    def test_an_earning_rule_that_was_paused(self, brand: Brand, owner: Client) -> None:
        rule = factories.earning_rule(brand, "log-user-login", state="active")
        owner.post(address("campaigns.earningrule", "pause", rule.pk), {"reason": "Too dear"})
        assert EarningRule.objects.get().state == "paused"

        undo(owner)

        assert EarningRule.objects.get().state == "active"

    def test_a_reward_that_was_switched_off_in_its_form(self, brand: Brand, owner: Client) -> None:
        reward = factories.reward(brand)
        where = address("loyalty.reward", "change", reward.pk)
        sent = form_of(owner.get(where))
        sent.pop("is_active")
        owner.post(where, sent)
        assert not Reward.objects.get().is_active

        undo(owner)

        assert Reward.objects.get().is_active

    def test_not_a_form_that_changed_something_else_too(self, brand: Brand, owner: Client) -> None:
        reward = factories.reward(brand)
        where = address("loyalty.reward", "change", reward.pk)
        sent = {**form_of(owner.get(where)), "name": "Another mug"}
        sent.pop("is_active")

        owner.post(where, sent)

        assert not Reward.objects.get().is_active
        assert not UndoOffer.objects.exists()

    def test_a_note_that_was_deleted_comes_back_as_it_was(self, brand: Brand, owner: Client) -> None:
        account = factories.account(factories.customer(brand), brand)
        where = address("loyalty.userpoints", "note", account.pk)
        owner.post(where, {"text": "Prefers tea"})
        before = MemberNote.objects.values("text", "author", "account", "created_at").get()
        owner.post(where, {"delete": MemberNote.objects.get().pk})
        assert not MemberNote.objects.exists()

        undo(owner)

        assert MemberNote.objects.values("text", "author", "account", "created_at").get() == before

    def test_a_code_of_a_reward_that_was_used(self, brand: Brand, owner: Client) -> None:
        customer = factories.customer(brand)
        factories.points(customer, brand, 50)
        redemption = factories.redemption(customer, factories.reward(brand))
        where = address("loyalty.userpoints", "use", redemption.user_point_id)
        owner.post(where, {"redemption": redemption.pk, "key": uuid4()})
        assert Redemption.objects.get().status == "used"

        undo(owner)

        assert Redemption.objects.get().status == "issued"
