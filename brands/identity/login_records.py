"""Logins in the audit log: every portal login, and a few of the failed ones, so that a flood cannot fill it."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.identity.login_throttle import Attempt
from brands.models.people import User
from brands.models.tenants import Brand

# Which failed attempts of a day at one endpoint are recorded. The last allowed one always is.
RECORDED_ATTEMPTS = (1, 5, 10, 20)


def logged_in(*, user: User, audit_context: AuditContext, brand_id: int | None = None) -> None:
    """Record a login to the portal: an entry for each brand that the user works for, or only for `brand_id`."""
    brands = [brand_id] if brand_id is not None else _brands_of(user)
    rows = [AuditedChange(user, each) for each in brands or [None]]
    audit_log.record(audit_context=audit_context, action=gettext_noop("Logged in to the portal"), rows=rows)


def failed(*, attempt: Attempt, brand: Brand | None, at: datetime, request_id: str = "") -> None:
    """Record a failed password. The account's owner gets a mail about the day's last allowed attempt.

    `brand` is the API's. None means the portal, which records an entry for each brand that the user works for.
    Nothing is recorded for an address without an account, or for another brand's customer.
    """
    if attempt.number not in RECORDED_ATTEMPTS and not attempt.is_last:
        return
    user = User.objects.filter(email=attempt.email, is_active=True).first()
    brands = _brands_informed(user, brand) if user else []
    if user is None or not brands:
        return
    action = gettext_noop("Failed logins today: %(count)d")
    if attempt.is_last:
        action = gettext_noop("Failed logins today: %(count)d; new devices are blocked until tomorrow")
    action %= {"count": attempt.number}
    reason = gettext_noop("Through the API") if brand else gettext_noop("In the portal")
    context = AuditContext(None, at, request_id, reason)
    audit_log.record(audit_context=context, action=action, rows=[AuditedChange(user, brand_id) for brand_id in brands])
    if attempt.is_last:
        own = brand or Brand.objects.filter(pk__in=[each for each in brands if each]).order_by("pk").first()
        if own:
            import_string(settings.LOGIN_PAUSED_MAIL)(user=user, brand=own, at=at)


def failed_email_change(*, attempt: Attempt, brand: Brand, at: datetime, request_id: str = "") -> None:
    """Record a wrong password that was entered for a change of e-mail address. The brand had sent the link."""
    if attempt.number not in RECORDED_ATTEMPTS and not attempt.is_last:
        return
    user = User.objects.filter(email=attempt.email, is_active=True).first()
    if user is None:
        return
    message = gettext_noop("Wrong passwords for a new e-mail address today: %(count)d") % {"count": attempt.number}
    # Also for users who work elsewhere: the brand sent the link, and a missing entry would reveal that they do.
    audit_log.record(
        audit_context=AuditContext(None, at, request_id), action=message, rows=[AuditedChange(user, brand.pk)]
    )


def _brands_informed(user: User, brand: Brand | None) -> list[int | None]:
    works = user.is_staff or user.is_superuser
    if brand is None:
        return (_brands_of(user) or [None]) if works else []
    here = not works and (user.registered_brand_id == brand.pk or Brand.objects.filter(pk=brand.pk, members__user=user))
    return [brand.pk] if here else []


def _brands_of(user: User) -> list[int | None]:
    result: Iterable[int] = user.staff_roles.order_by("brand_id").values_list("brand_id", flat=True)
    return list(result)
