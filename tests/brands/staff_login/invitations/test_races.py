"""An invitation is accepted while the one who invited loses their role: one comes after the other."""

from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import invitations, joining
from brands.staff_login import staff as staff_accounts
from brands.staff_login.models import Invitation
from core.errors import Invalid
from tests.brands.staff_login.invitations.conftest import EMAIL, NEW_PASSWORD
from tests.support.concurrency import run_during_transaction
from tests.support.portal import staff

pytestmark = pytest.mark.django_db(transaction=True)

take_ownership_lock = staff_accounts.lock_ownership


def join(invitation: Invitation) -> Any:
    return joining.join(
        invitation,
        password=NEW_PASSWORD,
        first_name="",
        last_name="",
        origin="",
        audit_context=AuditContext(None, timezone.now()),
    )


def join_during_removal(brand: Brand) -> Any:
    """Accept an invitation while a removal of its owner's role is in progress. Returns the result, or the error."""
    [inviter, _other_owner] = [staff(brand), staff(brand)]
    now = timezone.now()
    made = invitations.create(brand=brand, email=EMAIL, role="owner", by=inviter, at=now)
    token = invitations.new_token(invitation_id=made.pk, at=now)
    invitation = invitations.find_by_token(token=token, at=now)
    staff_role = StaffRole.objects.get(user=inviter)
    return run_during_transaction(
        take_ownership_lock,
        lambda: join(invitation),
        lambda: staff_accounts.remove_staff_role(staff_role=staff_role),
    )


def test_invitation_that_is_accepted_during_the_removal_of_its_owner_has_ended(brand: Brand) -> None:
    assert isinstance(join_during_removal(brand), Invalid)
    assert not User.objects.filter(email=EMAIL).exists()


def test_control_without_the_lock_at_the_beginning_both_wait_for_each_other(
    brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def take_the_lock_later() -> None:
        calls.append(1)
        if len(calls) > 1:
            take_ownership_lock()

    monkeypatch.setattr(staff_accounts, "lock_ownership", take_the_lock_later)

    assert isinstance(join_during_removal(brand), OperationalError)
