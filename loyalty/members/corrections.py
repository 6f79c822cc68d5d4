"""Corrections of a member by staff or the brand's own systems: the name at once, the address after confirmation.

A corrected name applies at this brand only. Other brands, and the name that the customer entered, are unchanged. So the
effect and the response are the same whether or not other brands know the customer.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.errors import UserNotFound
from brands.models.people import StaffRole
from core.errors import Invalid, raises
from loyalty.members import change_events, confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from loyalty.points.balance_events import update_passes

NAMES = ("first_name", "last_name")


@dataclass(frozen=True, slots=True)
class Identity:
    """The member's name and address at a brand. `unconfirmed_email` waits for the member's confirmation."""

    user_id: int
    first_name: str
    last_name: str
    email: str
    unconfirmed_email: str | None


def identity_of(member: UserPoints, *, at: datetime) -> Identity:
    first, last = accounts.names_of(member.user, member.brand_id)
    waiting = confirmations.waiting_change(user_id=member.user_id, brand_id=member.brand_id, at=at).first()
    return Identity(member.user_id, first, last, member.user.email, waiting.email if waiting else None)


@raises(UserNotFound)
def correct_name(*, account: UserPoints, first_name: str, last_name: str, audit_context: AuditContext) -> UserPoints:
    """Change a member's name at this brand. Owns the transaction. Raises UserNotFound for an erased member."""
    with transaction.atomic():
        member = locked(account)
        after = (first_name.strip(), last_name.strip())
        changes = {
            name: (old or None, new or None)
            for name, old, new in zip(NAMES, member.names, after, strict=True)
            if old != new
        }
        if changes:
            accounts.set_names(account=member, first_name=after[0], last_name=after[1], at=audit_context.at)
            audit_log.record(
                audit_context=audit_context,
                action=gettext_noop("Name corrected"),
                rows=[AuditedChange(member, member.brand_id, changes)],
            )
            update_passes(member=member, what="name", at=audit_context.at)
            change_events.publish(
                user_id=member.user_id, brand_id=member.brand_id, changed=list(changes), at=audit_context.at
            )
        member.first_name, member.last_name = after
    return member


@raises(UserNotFound)
def request_email_change(*, account: UserPoints, email: str, audit_context: AuditContext) -> EmailConfirmation:
    """Request that a member confirms `email` as the new address. Owns the transaction.

    Raises Invalid for the brand's own staff, who change their address themselves, and UserNotFound.
    """
    with transaction.atomic():
        member = locked(account)
        if StaffRole.objects.filter(user=member.user_id, brand=member.brand_id).exists():
            raise Invalid(_("This account belongs to a colleague. Only its owner can change the e-mail address."))
        email = email.strip().lower()
        made = confirmations.begin_change(user=member.user, brand=member.brand, email=email, at=audit_context.at)
        # Without the address: the change itself is logged when it is confirmed.
        audit_log.record(
            audit_context=audit_context,
            action=gettext_noop("New e-mail address requested"),
            rows=[AuditedChange(member, member.brand_id)],
        )
    return made


def locked(account: UserPoints) -> UserPoints:
    """The current account, locked. Raises UserNotFound if it was erased in the meantime."""
    accounts.lock_many(accounts=[account.pk])
    # Read in a statement of its own: one that waited for the lock would see the user as before an erasure.
    members = UserPoints.objects.select_related("user", "brand")
    member = members.filter(pk=account.pk, user__is_active=True).first()
    if member is None:
        raise UserNotFound
    return member
