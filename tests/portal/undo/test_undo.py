"""The Undo button of a message: usable once, for ten minutes, by its user, within their role and brand."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string

from authcodes.models.codes import AuthCode
from brands.identity.roles import ROLES, may
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from brands.models.undo_offers import UndoOffer
from brands.personal_data import UNDO_OFFERS
from brands.tasks import purge_ended_sessions
from loyalty.models.members.member_notes import MemberNote
from portal.undo.offers import UndoKind
from tests.portal.undo.conftest import messages_of, undo
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


@pytest.mark.django_db
class TestPermissionsAndExpiry:
    @pytest.fixture
    def code(self, brand: Brand) -> Any:
        return factories.code(brand)

    @pytest.fixture
    def offer(self, owner: Client, code: Any) -> UndoOffer:
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        return UndoOffer.objects.get()

    def is_deactivated(self) -> bool:
        return AuthCode.objects.get().deactivated_at is not None

    def test_offer_can_be_used_only_once(self, owner: Client, offer: UndoOffer, code: Any) -> None:
        undo_url = reverse("admin:undo", args=[offer.pk])
        owner.post(undo_url)
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Again"})
        owner.post(undo_url)

        assert self.is_deactivated()
        assert "This can no longer be undone here" in messages_of(owner)

    def test_offer_cannot_be_used_by_other_users(self, brand: Brand, offer: UndoOffer) -> None:
        for other_user in (staff(brand), staff(factories.brand()), factories.user(is_staff=True, is_superuser=True)):
            browser(other_user).post(reverse("admin:undo", args=[offer.pk]))

        assert self.is_deactivated()
        assert UndoOffer.objects.exists()

    @pytest.mark.usefixtures("offer")
    def test_expired_offer_cannot_be_used(self, owner: Client) -> None:
        UndoOffer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        undo(owner)

        assert self.is_deactivated()

    @pytest.mark.usefixtures("offer")
    def test_offer_cannot_be_used_after_the_role_was_lowered(self, owner: Client) -> None:
        StaffRole.objects.update(role="support")

        undo(owner)

        assert self.is_deactivated()
        assert "your role no longer allows it" in text(owner.get(address("authcodes.authcode")))

    def test_offer_cannot_be_used_while_another_brand_is_chosen(self, brand: Brand, code: Any) -> None:
        other_brand = factories.brand()
        client = browser(staff(brand, other_brand))
        client.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        client.post(reverse("admin:choose_brand"), {"viewed": other_brand.pk, "next": "/admin/"})

        undo(client)

        assert self.is_deactivated()

    def test_offer_cannot_be_used_by_get(self, owner: Client, offer: UndoOffer) -> None:
        assert owner.get(reverse("admin:undo", args=[offer.pk])).status_code == 405
        assert self.is_deactivated()

    def test_anonymous_user_is_redirected_to_the_login(self, offer: UndoOffer) -> None:
        response = Client().post(reverse("admin:undo", args=[offer.pk]))

        assert response.status_code == 302
        assert "/login/" in response["Location"]
        assert self.is_deactivated()

    @pytest.mark.parametrize(
        ("next_url", "location"),
        [
            ("/admin/authcodes/authcode/?q=x", "/admin/authcodes/authcode/?q=x"),
            ("https://evil.example.com/admin/", "/admin/"),
            ("//evil.example.com/admin/", "/admin/"),
            ("/admin/\\evil", "/admin/%5Cevil"),
            ("/api/v1/", "/admin/"),
            ("", "/admin/"),
        ],
    )
    @pytest.mark.usefixtures("offer")
    def test_redirects_only_to_pages_of_the_portal(self, owner: Client, next_url: str, location: str) -> None:
        assert undo(owner, next_url=next_url)["Location"] == location

    @pytest.mark.usefixtures("offer")
    def test_offer_of_an_unknown_kind_changes_nothing(self, owner: Client) -> None:
        UndoOffer.objects.update(kind="of another version")

        undo(owner)

        assert self.is_deactivated()

    def test_offer_for_a_deleted_row_can_no_longer_be_used(self, owner: Client, brand: Brand) -> None:
        reward = factories.reward(brand)
        url = address("loyalty.reward", "change", reward.pk)
        form_data = form_of(owner.get(url))
        form_data.pop("is_active")
        owner.post(url, form_data)
        reward.delete()

        undo(owner)

        assert "This can no longer be undone here" in messages_of(owner)

    @pytest.mark.usefixtures("offer")
    def test_expired_offers_are_purged(self) -> None:
        UndoOffer.objects.update(expires_at=timezone.now())

        purge_ended_sessions()

        assert not UndoOffer.objects.exists()


@pytest.mark.django_db
def test_offers_about_a_customer_are_exported_and_erased(brand: Brand, owner: Client) -> None:
    customer = factories.customer(brand)
    url = address("loyalty.userpoints", "note", factories.account(customer, brand).pk)
    owner.post(url, {"text": "Prefers tea"})
    owner.post(url, {"delete": MemberNote.objects.get().pk})
    [exported] = UNDO_OFFERS.export(customer.pk, brand.pk)
    assert exported["kind"] == "member-note"
    assert "Prefers tea" not in str(exported), "the text of a note is never exported"

    UNDO_OFFERS.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())

    assert not UndoOffer.objects.exists()


def test_every_registered_kind_can_be_used_by_a_role_and_fits_its_column() -> None:
    for name, path in settings.UNDO_KINDS.items():
        kind = import_string(path)
        assert isinstance(kind, UndoKind), name
        assert kind.verbs, name
        for verb in kind.verbs:
            assert any(may(role, verb, kind.label) for role in ROLES), (name, verb)
        assert len(name) <= UndoOffer._meta.get_field("kind").max_length
