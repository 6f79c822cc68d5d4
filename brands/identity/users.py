"""Users who did not register: those that a brand imports, and pseudonyms for erased people."""

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


class StaffNotErased(DomainError, code="STAFF_NOT_ERASED", status=409):
    default_message = _("This person has staff roles. Remove them before erasing the personal data.")


def reject_staff(user: User) -> None:
    """Raises StaffNotErased: the audit log must keep what staff did."""
    if user.is_staff or user.is_superuser or user.staff_roles.exists():
        raise StaffNotErased


def create_pseudonym(*, brand_id: int, at: datetime) -> User:
    """Create a pseudonym that takes over the rows an erased person leaves at a brand."""
    return User.objects.create(
        email=new_address(),
        password=make_password(None),
        registered_brand_id=brand_id,
        is_active=False,
        date_joined=at,
    )


def add_people(*, addresses: Sequence[str], at: datetime) -> None:
    """Ensure a user for each of these lowercase addresses, which a brand imports. Call outside the guard.

    The users have not registered and have no password: a mailed link sets one, and proves the address.
    """
    INSERT_PEOPLE.run(addresses=list(addresses), at=at)


def imported_user(email: str) -> QuerySet[User]:
    """The user with the address if a brand imported them: they have not registered, have no password and no access to
    the portal. Call outside the guard."""
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
    """Reduce a user to an inactive row without personal data. All their sessions and tokens end."""
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
    """Detach a person who stays with other brands: sessions here end, and their registration moves to another brand."""
    LoginSession.objects.filter(user=user, brand_id=brand_id).delete()
    if user.registered_brand_id == brand_id:
        user.registered_brand_id = other_brand_id
        user.save(update_fields=["registered_brand"])


def new_address() -> str:
    return f"erased-{uuid.uuid4().hex}@{DOMAIN}"


def lock_user(*, user_id: int) -> User:
    """Lock the user against concurrent changes of their personal data, above all erasure. Call in a transaction.

    Raises TokenInvalid for a user who was erased or deactivated while this waited.
    """
    user = User.objects.select_for_update(no_key=True).filter(pk=user_id, is_active=True).first()
    if user is None:
        raise TokenInvalid
    return user
