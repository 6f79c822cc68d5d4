"""Enrolment by staff, a file or the hub: makes customers of the brand members, once each, with an audit log entry.

Only people who registered with the brand can be enrolled. Any other address counts as unknown, even if another brand
has a customer with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.errors import UserNotFound
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Invalid, raises
from loyalty.models.accounts import UserPoints
from loyalty.points import accounts

MAX_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Result:
    """The members enrolled now, the number of existing members, and the addresses without a customer of the brand."""

    enrolled: list[UserPoints]
    already: int
    unknown: list[str]


def enrol_addresses(*, brand: Brand, addresses: Iterable[str], audit_context: AuditContext) -> Result:
    """Enrol the brand's customers with these e-mail addresses. Raises Invalid for too many. Owns the transaction."""
    unique = list(dict.fromkeys(address.strip().lower() for address in addresses if address.strip()))
    if len(unique) > MAX_AT_ONCE:
        raise Invalid(_("Enrol at most %(most)d customers at once.") % {"most": MAX_AT_ONCE})
    with transaction.atomic():
        users = customers_of(brand).filter(email__in=unique)
        enrolled, already = enrol_users(brand, users, audit_context)
        known = {user.email for user in users}
    return Result(enrolled, already, [address for address in unique if address not in known])


@raises(UserNotFound)
def enrol_one(
    *, brand: Brand, audit_context: AuditContext, user_id: int | None = None, address: str = ""
) -> tuple[UserPoints, bool]:
    """The member, and whether this call enrolled them. Raises UserNotFound. Owns the transaction."""
    chosen = Q(pk=user_id) if user_id is not None else Q(email=address.strip().lower())
    with transaction.atomic():
        user = customers_of(brand).filter(chosen).first()
        if user is None:
            raise UserNotFound
        enrolled, _already = enrol_users(brand, [user], audit_context)
        member = UserPoints.objects.filter(user=user, brand=brand).first()
        if member is None:  # erased in the meantime
            raise UserNotFound
    return member, bool(enrolled)


def customers_of(brand: Brand) -> QuerySet[User]:
    """Users who registered with the brand or are its members."""
    is_customer = Q(registered_brand=brand) | Q(pk__in=UserPoints.objects.filter(brand=brand).values("user"))
    return User.objects.filter(is_customer, is_active=True)


def enrol_users(brand: Brand, users: Iterable[User], audit_context: AuditContext) -> tuple[list[UserPoints], int]:
    """Enrol the users. Returns the new members and the number of existing ones. Locks the users."""
    ids = sorted(user.pk for user in users)
    locked = User.objects.select_for_update(no_key=True).filter(pk__in=ids, is_active=True).order_by("pk")
    rows = list(locked.values_list("pk", flat=True))
    before = set(UserPoints.objects.filter(brand=brand, user__in=rows).values_list("user_id", flat=True))
    numbers = [accounts.enrol(user_id=pk, brand_id=brand.pk, at=audit_context.at) for pk in rows if pk not in before]
    made = list(UserPoints.objects.filter(pk__in=numbers).select_related("brand"))
    audit_log.record(
        audit_context=audit_context,
        action=gettext_noop("Enrolled"),
        rows=[AuditedChange(member, brand.pk) for member in made],
    )
    return made, len(before)
