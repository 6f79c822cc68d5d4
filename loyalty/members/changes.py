"""Changes to members by the brand's own systems: names, address, external id, birthday, and blocking.

Each locks the account first: a change decides by the current values, and an erased member gets no new data.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.errors import UserNotFound
from core.errors import raises
from core.redis import rate_limits
from loyalty.errors import MemberBlocked, MemberMerged
from loyalty.members import blocking, change_events, corrections
from loyalty.models.accounts import UserPoints
from loyalty.points import accounts, birthdays

NAMES = ("first_name", "last_name")


@raises(UserNotFound)
def change_identity(*, member: UserPoints, values: Mapping[str, Any], audit_context: AuditContext) -> UserPoints:
    """Correct the names among `values`, and have the member confirm a new `email`. Owns the transaction.

    Raises UserNotFound for an erased member, Invalid, and RateLimited for too many mails or corrections.
    """
    with transaction.atomic():
        member = corrections.locked(member)
        if email := values.get("email"):
            rate_limits.hit("account_mail", member.user.email, f"hub:{member.brand_id}")
            corrections.request_email_change(account=member, email=email, audit_context=audit_context)
        if values.keys() & set(NAMES):
            names = {name: values.get(name, old) for name, old in zip(NAMES, member.names, strict=True)}
            if tuple(name.strip() for name in names.values()) != member.names:
                rate_limits.hit("name_correction", member.brand_id, member.user_id)
            member = corrections.correct_name(account=member, audit_context=audit_context, **names)
    return member


@raises(UserNotFound)
def set_external_id(*, member: UserPoints, external_id: str, audit_context: AuditContext) -> None:
    """Store the member's id in the brand's own systems, or "" for none.

    Raises Invalid if another member has it, and UserNotFound for an erased member.
    """
    with transaction.atomic():
        member = corrections.locked(member)
        if member.external_id == external_id:
            return
        accounts.set_external_id(account=member, external_id=external_id, at=audit_context.at)
        # Without the value: an erased person's id must not remain in the audit log.
        record(member, gettext_noop("External id changed"), audit_context)
        change_events.publish(
            user_id=member.user_id, brand_id=member.brand_id, changed=["external_id"], at=audit_context.at
        )


@raises(UserNotFound)
def set_birthday(*, member: UserPoints, birthday: str, audit_context: AuditContext) -> None:
    """Store a member's birthday as `MM-DD`, or "" for none.

    Raises Invalid if it is not a valid day, and UserNotFound for an erased member.
    """
    with transaction.atomic():
        member = corrections.locked(member)
        before = birthdays.read(member.user_id, member.brand_id)
        after = birthdays.change(member.user_id, member.brand_id, text=birthday, at=audit_context.at)
        if after == before:
            return
        accounts.touch(account=member.pk, at=audit_context.at)
        record(member, gettext_noop("Birthday changed"), audit_context)  # without the value, because log entries remain
        change_events.publish(
            user_id=member.user_id, brand_id=member.brand_id, changed=["birthday"], at=audit_context.at
        )


@raises(MemberBlocked, UserNotFound)
def set_status(*, member: UserPoints, status: str, audit_context: AuditContext) -> None:
    """Block a member, who then earns and redeems nothing, or unblock them. Raises MemberMerged and UserNotFound."""
    with transaction.atomic():
        member = corrections.locked(member)
        if member.status == UserPoints.Status.MERGED:
            raise MemberMerged
        if blocking.set_status(accounts=[member], status=UserPoints.Status(status), at=audit_context.at):
            blocked = status == UserPoints.Status.BLOCKED
            record(member, gettext_noop("Blocked") if blocked else gettext_noop("Unblocked"), audit_context)


def record(member: UserPoints, action: str, audit_context: AuditContext) -> None:
    audit_log.record(audit_context=audit_context, action=action, rows=[AuditedChange(member, member.brand_id)])
