"""The Undo button of a message: the right person's, once, for ten minutes, within their role and brand."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string

from authcodes.models.codes import AuthCode
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
class TestWhoAndWhen:
    @pytest.fixture
    def code(self, brand: Brand) -> Any:
        return factories.code(brand)

    @pytest.fixture
    def offered(self, owner: Client, code: Any) -> UndoOffer:
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        return UndoOffer.objects.get()

    def is_off(self) -> bool:
        return AuthCode.objects.get().deactivated_at is not None

    def test_once(self, owner: Client, offered: UndoOffer, code: Any) -> None:
        where = reverse("admin:undo", args=[offered.pk])
        owner.post(where)
        owner.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Again"})
        owner.post(where)

        assert self.is_off()
        assert "This can no longer be undone here" in messages_of(owner)

    def test_by_nobody_else(self, brand: Brand, offered: UndoOffer) -> None:
        for other in (staff(brand), staff(factories.brand()), factories.user(is_staff=True, is_superuser=True)):
            browser(other).post(reverse("admin:undo", args=[offered.pk]))

        assert self.is_off()
        assert UndoOffer.objects.exists()

    @pytest.mark.usefixtures("offered")
    def test_not_after_ten_minutes(self, owner: Client) -> None:
        UndoOffer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        undo(owner)

        assert self.is_off()

    @pytest.mark.usefixtures("offered")
    def test_not_when_the_role_is_gone(self, owner: Client) -> None:
        StaffRole.objects.update(role="support")

        undo(owner)

        assert self.is_off()
        assert "your role no longer allows it" in text(owner.get(address("authcodes.authcode")))

    def test_not_of_another_brand_than_the_one_that_is_looked_at(self, brand: Brand, code: Any) -> None:
        other = factories.brand()
        client = browser(staff(brand, other))
        client.post(address("authcodes.authcode", "deactivate", code.pk), {"reason": "Lost"})
        client.post(reverse("admin:choose_brand"), {"viewed": other.pk, "next": "/admin/"})

        undo(client)

        assert self.is_off()

    def test_only_by_post(self, owner: Client, offered: UndoOffer) -> None:
        assert owner.get(reverse("admin:undo", args=[offered.pk])).status_code == 405
        assert self.is_off()

    def test_an_anonymous_visitor_is_sent_to_the_login(self, offered: UndoOffer) -> None:
        answer = Client().post(reverse("admin:undo", args=[offered.pk]))

        assert answer.status_code == 302
        assert "/login/" in answer["Location"]
        assert self.is_off()

    @pytest.mark.parametrize(
        ("where", "leads_to"),
        [
            ("/admin/authcodes/authcode/?q=x", "/admin/authcodes/authcode/?q=x"),
            ("https://evil.example.com/admin/", "/admin/"),
            ("//evil.example.com/admin/", "/admin/"),
            ("/admin/\\evil", "/admin/%5Cevil"),
            ("/api/v1/", "/admin/"),
            ("", "/admin/"),
        ],
    )
    @pytest.mark.usefixtures("offered")
    def test_goes_back_to_a_page_of_the_portal(self, owner: Client, where: str, leads_to: str) -> None:
        assert undo(owner, where=where)["Location"] == leads_to

    @pytest.mark.usefixtures("offered")
    def test_a_kind_that_is_gone_is_over(self, owner: Client) -> None:
        UndoOffer.objects.update(kind="of another version")

        undo(owner)

        assert self.is_off()

    def test_what_is_gone_is_over(self, owner: Client, brand: Brand) -> None:
        reward = factories.reward(brand)
        where = address("loyalty.reward", "change", reward.pk)
        sent = form_of(owner.get(where))
        sent.pop("is_active")
        owner.post(where, sent)
        reward.delete()

        undo(owner)

        assert "This can no longer be undone here" in messages_of(owner)

    @pytest.mark.usefixtures("offered")
    def test_offers_that_have_ended_are_deleted(self) -> None:
        UndoOffer.objects.update(expires_at=timezone.now())

        purge_ended_sessions()

        assert not UndoOffer.objects.exists()


@pytest.mark.django_db
def test_what_tells_of_a_customer_is_erased_with_them(brand: Brand, owner: Client) -> None:
    customer = factories.customer(brand)
    where = address("loyalty.userpoints", "note", factories.account(customer, brand).pk)
    owner.post(where, {"text": "Prefers tea"})
    owner.post(where, {"delete": MemberNote.objects.get().pk})
    [exported] = UNDO_OFFERS.export(customer.pk, brand.pk)
    assert exported["kind"] == "member-note"
    assert "Prefers tea" not in str(exported), "a note is not exported while it stands either"

    UNDO_OFFERS.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())

    assert not UndoOffer.objects.exists()


def test_every_kind_has_a_page_whose_roles_may_undo_it() -> None:
    for name, path in settings.UNDO_KINDS.items():
        kind = import_string(path)
        assert isinstance(kind, UndoKind), name
        assert len(name) <= UndoOffer._meta.get_field("kind").max_length
