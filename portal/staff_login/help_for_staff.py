"""Lets an owner help a colleague who cannot log in: only by links to the colleague's own mailbox."""

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.models.people import StaffRole, User
from brands.staff_login import mails
from brands.staff_login.models import StaffMail
from core.db import row_guard
from core.redis import rate_limits
from portal.base.audit_mixin import audit_context

ACTIONS = {
    StaffMail.Kind.PASSWORD_LINK: "Link sent to set a new password",
    StaffMail.Kind.FACTORS_LINK: "Link sent to remove second factors",
}


def may_help(helper: User, colleague: User) -> bool:
    """Only superusers help superusers. Users cannot help themselves here; they have their own page."""
    able = colleague.is_active and colleague.is_staff and colleague.pk != helper.pk
    return able and (helper.is_superuser or not colleague.is_superuser)


def send_link(request: HttpRequest, staff_role: StaffRole, *, kind: StaffMail.Kind, reason: str) -> None:
    """Mail a colleague a link to set a new password or to remove their second factors, and record it.

    The colleague's other brands stay safe: only the colleague gets the link, and removing factors requires their
    password. Links are limited by brand, so that one brand does not use up another's.

    Raises RateLimited, and Invalid if the portal was opened at a brand's hostname.
    """
    rate_limits.hit("staff_mail", "help", staff_role.brand_id, staff_role.user_id)
    helper = audit_context(request, reason)
    names = {"name": helper.user, "brand": staff_role.brand}
    with (
        row_guard.disabled("mails to staff are no brand's, and every brand's hostnames are refused"),
        transaction.atomic(),
    ):
        mails.write(
            user=staff_role.user,
            kind=kind,
            origin=mails.origin_of(request),
            text=lambda: _("%(name)s of %(brand)s requested this link for you.") % names,
            brand_id=staff_role.brand_id,
        )
        audit_log.record(
            audit_context=helper, action=ACTIONS[kind], rows=[AuditedChange(staff_role.user, staff_role.brand_id)]
        )
