"""Users who did not come by themselves: those whom a brand brings along, and pseudonyms, which stand for who left."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, make_password
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from brands.models.credentials import LoginSession
from brands.models.people import StaffRole, User
from core.db.statements import command
from core.errors import DomainError, TokenInvalid

INSERT_PEOPLE = command("brands/identity/sql/insert_people.sql")
DOMAIN = "erased.invalid"  # RFC 2606: no mail can ever reach it


class StaffNotErased(DomainError):
    code = "STAFF_NOT_ERASED"
    status = 409
    default_message = _("This person has staff roles. Remove them before erasing the personal data.")


def reject_staff(user: User) -> None:
    """Raises StaffNotErased: what staff did stays told in the audit log."""
    if user.is_staff or user.is_superuser or user.staff_roles.exists():
        raise StaffNotErased


def make(*, brand_id: int, at: datetime) -> User:
    """Somebody who is nobody, to hold what a person leaves behind at a brand."""
    return User.objects.create(
        email=new_address(),
        password=make_password(None),
        registered_brand_id=brand_id,
        is_active=False,
        date_joined=at,
    )


def add_people(*, addresses: Sequence[str], at: datetime) -> None:
    """Have somebody for each of these lowercase addresses, whom a brand brings along. Call outside of the guard.

    They registered nowhere and have no password: a mailed link gives them one, and proves the address.
    """
    INSERT_PEOPLE.run(addresses=list(addresses), at=at)


def brought_along(email: str) -> QuerySet[User]:
    """Whoever has the address because a brand brought them along: they registered nowhere, have no password and open no
    portal. Call outside of the guard."""
    roles = StaffRole.objects.filter(user=OuterRef("pk"))
    return User.objects.filter(
        ~Exists(roles),
        email=email,
        registered_brand=None,
        password__startswith=UNUSABLE_PASSWORD_PREFIX,
        is_active=True,
        is_staff=False,
        is_superuser=False,
    )


def anonymise_user(user: User) -> None:
    """Leave of a user an inactive row that says nothing of them; every session and token of theirs ends with it."""
    LoginSession.objects.filter(user=user).delete()
    user.email = new_address()
    user.first_name = user.last_name = ""
    user.is_active = False
    user.last_login = user.email_verified_at = None
    user.set_unusable_password()
    user.save(
        update_fields=["email", "first_name", "last_name", "is_active", "last_login", "email_verified_at", "password"]
    )


def leave_brand(user: User, *, brand_id: int, other_brand_id: int | None) -> None:
    """The person stays elsewhere: sessions here end, and who registered here is another brand's from now on."""
    LoginSession.objects.filter(user=user, brand_id=brand_id).delete()
    if user.registered_brand_id == brand_id:
        user.registered_brand_id = other_brand_id
        user.save(update_fields=["registered_brand"])


def new_address() -> str:
    return f"erased-{uuid.uuid4().hex}@{DOMAIN}"


def lock_user(*, user_id: int) -> User:
    """Take turns with whatever else changes what is known of a person, their erasure above all. Call in a transaction.

    Raises TokenInvalid for who was erased or switched off while this waited.
    """
    user = User.objects.select_for_update(no_key=True).filter(pk=user_id, is_active=True).first()
    if user is None:
        raise TokenInvalid
    return user
