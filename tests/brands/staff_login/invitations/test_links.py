"""Links of invitations: usable once, for a limited time, stored as a hash, and ended with the invitation."""

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from brands.staff_login import invitations, mails
from brands.staff_login.models import Invitation, StaffMail
from brands.staff_login.staff import change_role
from core.errors import Invalid
from tests.brands.staff_login.invitations.conftest import EMAIL, PASSWORDS, invitation_link, invite, page_of
from tests.brands.staff_login.signing_in import links_sent
from tests.support.portal import browser, staff, text


def test_link_can_be_used_once(brand, owner, web_client):
    link = invitation_link(owner, brand)
    web_client.post(link, PASSWORDS)

    assert "has expired or was already used" in text(Client().get(link))


def test_link_opened_twice_at_the_same_time_can_be_used_once(brand, owner):
    token = invitation_link(owner, brand).split("/")[-2]
    opened = [invitations.find_by_token(token=token, at=timezone.now()) for _ in range(2)]

    invitations.mark_accepted(opened[0], at=timezone.now())

    with pytest.raises(Invalid):
        invitations.mark_accepted(opened[1], at=timezone.now())


def test_renewed_invitation_has_no_link_before_its_next_mail(brand, owner):
    """Its digest is NULL until then, which a comparison with None would match."""
    token = invitation_link(owner, brand).split("/")[-2]
    invitation = invitations.find_by_token(token=token, at=timezone.now())
    invitations.renew(invitation=invitation, by=owner, at=timezone.now())

    with pytest.raises(Invalid):
        invitations.mark_accepted(invitation, at=timezone.now())


def test_expired_link_is_rejected(brand, owner, web_client, time_machine):
    link = invitation_link(owner, brand)
    time_machine.move_to(Invitation.objects.get().expires_at, tick=True)

    assert "has expired" in text(web_client.post(link, PASSWORDS))
    assert not User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("token", ["x", "%F0%9F%92%A9", "A" * 3000])
def test_unknown_link_is_rejected(db, web_client, token):
    assert "has expired" in text(web_client.get(f"/admin/invitation/{token}/"))


def test_only_the_hash_of_a_link_is_stored(brand, owner):
    token = invitation_link(owner, brand).split("/")[-2]

    assert token not in str(
        [*Invitation.objects.values(), *StaffMail.objects.values(), *AuditLogEntry.objects.values()]
    )


def test_revoked_link_is_rejected(brand, owner, web_client):
    link = invitation_link(owner, brand)
    browser(owner).post(page_of(Invitation.objects.get(), "revoke"))

    assert "has expired" in text(web_client.post(link, PASSWORDS))
    assert Invitation.objects.get().state(at=timezone.now()) == "revoked"
    assert AuditLogEntry.objects.filter(brand=brand, action="Revoked").exists()


def test_sending_again_invalidates_the_previous_link(brand, owner, web_client):
    first = invitation_link(owner, brand)
    browser(owner).post(page_of(Invitation.objects.get(), "send"))
    second = links_sent()[-1]

    assert "has expired" in text(web_client.get(first))
    assert "Set a password" in text(web_client.get(second))


def test_link_sent_by_a_former_owner_is_rejected(brand, owner, web_client):
    """Otherwise former owners could return with an invitation to another address of theirs."""
    staff(brand, role="owner")
    link = invitation_link(owner, brand)
    change_role(staff_role=StaffRole.objects.get(user=owner), role="support")

    assert "has expired" in text(web_client.get(link))


def test_invitation_revoked_before_its_mail_is_not_mailed(brand, owner):
    invite(owner, brand)
    invitations.revoke(invitation=Invitation.objects.get(), at=timezone.now())

    assert mails.send_due(at=timezone.now()) == 1
    assert mail.outbox == []
