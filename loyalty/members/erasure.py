"""The erasure of a person's data at a brand, in every topic of core.personal_data, in one transaction.

What the brand must retain, above all the ledger, stays under a pseudonym. That is the person's own emptied row, or a
new row if the person is also a customer elsewhere.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.errors import UserNotFound
from brands.identity import users
from brands.identity.users import StaffNotErased
from brands.models.people import User
from brands.models.tenants import Brand
from brands.user_mentions import Mentions
from core import personal_data
from core.db import row_guard
from core.errors import DomainError, raises
from events import erasure, publishing
from events.messages import NewEvent
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType
from loyalty.notifications import preferences
from loyalty.points import accounts, ledger

# Scans rejected for these reasons do not make the user a customer of the code's brand: any brand's app could scan it.
THROUGH_ANY_BRAND = ("bad_tag", "other_brand")


class PasswordWrong(DomainError, code="PASSWORD_WRONG", status=403):
    default_message = _("The password is wrong. Nothing was erased.")


@dataclass(frozen=True, slots=True)
class Erased:
    """The pseudonym's user, and whether the person is still a customer of other brands."""

    pseudonym_id: int
    stays_elsewhere: bool


@raises(PasswordWrong, StaffNotErased, UserNotFound)
def erase_own(*, user_id: int, brand_id: int, password: str, audit_context: AuditContext) -> Erased:
    """Like `erase`, at the person's own request, with their password. Raises PasswordWrong."""
    if not User.objects.get(pk=user_id).check_password(password):
        raise PasswordWrong
    return erase(user_id=user_id, brand_id=brand_id, audit_context=audit_context)


def erase(*, user_id: int, brand_id: int, audit_context: AuditContext) -> Erased:
    """Erase a person from everything that the brand holds. Raises StaffNotErased and UserNotFound.

    Accounts of theirs that were merged into this one are erased too.

    The lock order is: the account, as in accruals; the person; their waiting events; everything else. Event handlers
    also lock the event before anything else. So what a handler was about to write is either erased here or never
    written, and inserts of rows that reference the person are blocked only at the very end.
    """
    with row_guard.disabled("whether a person stays elsewhere decides what is erased"), transaction.atomic():
        account = accounts.account_of(brand_id=brand_id, user_id=user_id)
        if account:
            accounts.lock_many(accounts=account.ledger_accounts)
            account.refresh_from_db()
            for merged in accounts.users_merged_into(account=account):
                erase(user_id=merged, brand_id=brand_id, audit_context=audit_context)
        user = User.objects.select_for_update(no_key=True).filter(pk=user_id, is_active=True).first()
        if user is None:
            raise UserNotFound
        users.reject_staff(user)
        other = elsewhere(user, brand_id)
        pseudonym = users.create_pseudonym(brand_id=brand_id, at=audit_context.at) if other else user
        before = User(pk=user.pk, email=user.email, first_name=user.first_name, last_name=user.last_name)
        own_rows = [before, *([account] if account else [])]
        mentions = mentions_of(user, brand_id)
        erasure.drop_waiting(user_id=user_id, brand_id=brand_id, to=pseudonym.pk, at=audit_context.at)
        personal_data.erase(user_id=user_id, brand_id=brand_id, to=pseudonym.pk, at=audit_context.at)
        if other:
            users.leave_brand(user, brand_id=brand_id, other_brand_id=other)
        else:
            users.anonymise_user(user)
        if account:
            ledger.erase_user(account=account.pk, mentions=mentions, pseudonym=pseudonym.email)
        audit_log.erase_user(
            own_rows=own_rows, mentions=mentions, brand_id=None if not other else brand_id, pseudonym=pseudonym.email
        )
        note(pseudonym, brand_id, audit_context)
        # Last, because the erasure event does not touch later events.
        following = [
            erasure.later(user_id=user_id, brand_id=brand_id, to=pseudonym.pk),
            *erased_event(user_id=user_id, brand_id=brand_id, at=audit_context.at),
        ]
        publishing.publish(messages=following, brand_id=brand_id, at=audit_context.at)
    return Erased(pseudonym.pk, stays_elsewhere=bool(other))


def erased_event(*, user_id: int, brand_id: int, at: datetime) -> list[NewEvent]:
    """The webhook event member.erased, for the brand's other systems.

    It has only the id, which leads to no row here any longer.
    """
    kind = WebhookType.MEMBER_ERASED
    return webhook_events.events_for_subscribers(kind, {"user_id": user_id}, brand_id=brand_id, at=at)


def mentions_of(user: User, brand_id: int) -> Mentions:
    """The names and addresses by which staff may have mentioned the person. Call before they are erased."""
    phone = preferences.read(user.pk, brand_id).phone
    corrected = accounts.names_of(user, brand_id)
    return Mentions(user.email, user.first_name, user.last_name, phone, corrected)


def elsewhere(user: User, brand_id: int) -> int | None:
    """The id of another brand at which the person is a customer."""
    brands = Brand.objects.exclude(pk=brand_id)
    scanned = user.scans.exclude(reason__in=THROUGH_ANY_BRAND)
    result = (
        brands.filter(registered_users=user).first()
        or brands.filter(members__user=user).order_by("pk").first()
        or brands.filter(pk__in=scanned.values("brand")).order_by("pk").first()
    )
    return result.pk if result else None


def note(pseudonym: User, brand_id: int, audit_context: AuditContext) -> None:
    """Log the erasure, its time and its author in the audit log, without the person's identity."""
    row = accounts.account_of(brand_id=brand_id, user_id=pseudonym.pk) or pseudonym
    audit_log.record(
        audit_context=audit_context, action=gettext_noop("Personal data erased"), rows=[AuditedChange(row, brand_id)]
    )
