"""Links of invitations: good once, for a while, stored as a hash, and ended by what ends the invitation."""

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
from tests.brands.staff_login.invitations.conftest import EMAIL, PASSWORDS, invite, invited, page_of
from tests.brands.staff_login.signing_in import links_sent
from tests.support.portal import browser, staff, text


def test_a_link_is_good_once(brand, owner, window):
    link = invited(owner, brand)
    window.post(link, PASSWORDS)

    assert "has expired or was already used" in text(Client().get(link))


def test_two_who_open_a_link_at_the_same_time_use_it_once(brand, owner):
    token = invited(owner, brand).split("/")[-2]
    found = [invitations.find_by_token(token=token, at=timezone.now()) for _window in range(2)]

    invitations.mark_accepted(found[0], at=timezone.now())

    with pytest.raises(Invalid):
        invitations.mark_accepted(found[1], at=timezone.now())


def test_a_renewed_invitation_has_no_link_before_its_next_mail(brand, owner):
    """Its digest is NULL then, which a comparison with None would find."""
    token = invited(owner, brand).split("/")[-2]
    invitation = invitations.find_by_token(token=token, at=timezone.now())
    invitations.renew(invitation=invitation, by=owner, at=timezone.now())

    with pytest.raises(Invalid):
        invitations.mark_accepted(invitation, at=timezone.now())


def test_an_old_link_has_ended(brand, owner, window, time_machine):
    link = invited(owner, brand)
    time_machine.move_to(Invitation.objects.get().expires_at, tick=True)

    assert "has expired" in text(window.post(link, PASSWORDS))
    assert not User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("token", ["x", "%F0%9F%92%A9", "A" * 3000])
def test_a_made_up_link_opens_nothing(db, window, token):
    assert "has expired" in text(window.get(f"/admin/invitation/{token}/"))


def test_only_the_hash_of_a_link_is_stored(brand, owner):
    token = invited(owner, brand).split("/")[-2]

    assert token not in str(
        [*Invitation.objects.values(), *StaffMail.objects.values(), *AuditLogEntry.objects.values()]
    )


def test_a_revoked_link_has_ended(brand, owner, window):
    link = invited(owner, brand)
    browser(owner).post(page_of(Invitation.objects.get(), "revoke"))

    assert "has expired" in text(window.post(link, PASSWORDS))
    assert Invitation.objects.get().state(at=timezone.now()) == "revoked"
    assert AuditLogEntry.objects.filter(brand=brand, action="Revoked").exists()


def test_sending_again_ends_the_link_before(brand, owner, window):
    first = invited(owner, brand)
    browser(owner).post(page_of(Invitation.objects.get(), "send"))
    second = links_sent()[-1]

    assert "has expired" in text(window.get(first))
    assert "Set a password" in text(window.get(second))


def test_the_links_of_an_owner_who_is_one_no_more_have_ended(brand, owner, window):
    """Or they could have a second account of their own wait in some mailbox."""
    staff(brand, role="owner")
    link = invited(owner, brand)
    change_role(staff_role=StaffRole.objects.get(user=owner), role="support")

    assert "has expired" in text(window.get(link))


def test_an_invitation_that_has_ended_before_its_mail_was_sent_is_not_mailed(brand, owner):
    invite(owner, brand)
    invitations.revoke(invitation=Invitation.objects.get(), at=timezone.now())

    assert mails.send_due(at=timezone.now()) == 1
    assert mail.outbox == []
