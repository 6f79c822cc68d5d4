"""Accepting an invitation: the link proves the address, and the password or the session proves the account."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import invitations, mails, staff
from brands.staff_login.models import Invitation, StaffMail
from core.db import row_guard
from core.errors import Invalid

ACCEPTED = "Invitation accepted"


def account_of(invitation: Invitation) -> User | None:
    """The account with the invited address: a colleague's, a customer's, or None.

    Raises Invalid for an account that the operator deactivated, or whose access to the portal the operator ended: an
    invitation does not bring back the roles for other brands that the account still has.
    """
    user = User.objects.filter(email=invitation.email).first()
    if user is not None and not (user.is_active and (user.is_staff or not _has_role(user))):
        raise Invalid(_("The account with this address is deactivated. Contact the operator of the portal."))
    return user


def _has_role(user: User) -> bool:
    with row_guard.disabled("access to the portal is one for all brands"):
        return user.staff_roles.exists()


@sensitive_variables("password")
def join(
    invitation: Invitation, *, password: str, first_name: str, last_name: str, origin: str, audit_context: AuditContext
) -> tuple[User, StaffRole]:
    """Let a person in who could not log in to the portal before. They set a password, which passed the validators.

    The account is created, or it is a customer's. A customer's password is replaced and all sessions of the account
    end, because it is not known who registered it; the name is kept. Raises Invalid for an invitation that has
    ended, or an account that can use the portal already.
    """
    try:
        with transaction.atomic():
            staff.lock_ownership()
            invitations.mark_accepted(invitation, at=audit_context.at)
            user = account_of(invitation)
            if user is None:
                user = User.objects.create_user(invitation.email, first_name=first_name, last_name=last_name)
            elif user.is_staff:
                raise Invalid(_("This address now has a portal account. Log in to accept."))
            staff.prove_address(user=user, at=audit_context.at)
            staff_role = _give_role(
                invitation, user, AuditContext(user, audit_context.at, audit_context.request_id), password=password
            )
            mails.write(
                user=user,
                kind=StaffMail.Kind.NOTIFICATION,
                origin=origin,
                text=lambda: _("You now work for %(brand)s, and your password is set.") % {"brand": invitation.brand},
                brand_id=invitation.brand_id,
            )
    except IntegrityError:
        raise Invalid(_("The account has changed in the meantime. Open the link in the e-mail again.")) from None
    return user, staff_role


def accept(invitation: Invitation, *, user: User, origin: str, audit_context: AuditContext) -> StaffRole:
    """Give the role to a colleague who is logged in with the invited address. Their password stays.

    Raises Invalid for an invitation that has ended, and for any other account.
    """
    if user.email != invitation.email or not (user.is_active and user.is_staff):
        raise Invalid(_("This invitation is for another account."))
    with transaction.atomic():
        staff.lock_ownership()
        invitations.mark_accepted(invitation, at=audit_context.at)
        staff_role = _give_role(invitation, user, audit_context)
        mails.write(
            user=user,
            kind=StaffMail.Kind.NOTIFICATION,
            origin=origin,
            text=lambda: _("You now work for %(brand)s.") % {"brand": invitation.brand},
            brand_id=invitation.brand_id,
        )
    return staff_role


def _may_invite(inviter: User | None, brand: Brand) -> bool:
    """Whether the inviter still may invite. Their invitations end with their role, but one may be in progress."""
    if inviter is None or not inviter.is_active:
        return False
    owns = StaffRole.objects.filter(user=inviter, brand=brand, role=StaffRole.Role.OWNER)
    return inviter.is_superuser or owns.exists()


def _give_role(invitation: Invitation, user: User, audit_context: AuditContext, *, password: str = "") -> StaffRole:
    if not _may_invite(invitation.invited_by, invitation.brand):
        raise Invalid(_("This invitation has expired. Ask for a new one."))
    if StaffRole.objects.filter(user=user, brand=invitation.brand).exists():
        raise Invalid(_("You already work for %(brand)s.") % {"brand": invitation.brand})
    staff_role = staff.assign_role(
        user=user, brand=invitation.brand, role=invitation.role, password=password, at=audit_context.at
    )
    brand_id = invitation.brand_id
    audit_log.record(audit_context=audit_context, action=ACCEPTED, rows=[AuditedChange(invitation, brand_id)])
    added = AuditedChange(staff_role, brand_id, audit_log.changes(None, staff_role))
    audit_log.record(audit_context=audit_context, action=audit_log.ADDED, rows=[added])
    return staff_role
