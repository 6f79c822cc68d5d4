"""The user of a registration whose address is confirmed: a new one, or one that a brand imported."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from brands.identity import users
from brands.models.people import User
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts


class AddressTakenError(Exception):
    """Another user registered with the address."""


def save_user(confirmation: EmailConfirmation, at: datetime) -> User:
    """The registered user. Call in a transaction, without the row guard. Raises AddressTakenError.

    An imported user keeps their id, instead of the reserved one, and their accounts at all brands.
    """
    known = users.imported_user(confirmation.email).values_list("pk", flat=True).first()
    return _claim(known, confirmation, at) if known else _create(confirmation, at)


def _create(confirmation: EmailConfirmation, at: datetime) -> User:
    user = User(pk=confirmation.reserved_user_id, email=confirmation.email, **_values(confirmation, at))
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise AddressTakenError from error
    return user


def _claim(user_id: int, confirmation: EmailConfirmation, at: datetime) -> User:
    """Raises AddressTakenError if the user got a password, or registered elsewhere, in the meantime."""
    names = {name for name in ("first_name", "last_name") if getattr(confirmation, name)}
    locked = accounts.lock_named(user_id=user_id, brand_id=confirmation.brand_id)
    user = users.imported_user(confirmation.email).select_for_update(of=("self",), no_key=True).first()
    if user is None:
        raise AddressTakenError
    values = _values(confirmation, at)
    for name, value in values.items():
        setattr(user, name, value)
    user.save(update_fields=list(values))
    accounts.clear_names(accounts=locked, names=names, at=at)
    return user


def _values(confirmation: EmailConfirmation, at: datetime) -> dict[str, Any]:
    return {
        "password": confirmation.password,
        "first_name": confirmation.first_name,
        "last_name": confirmation.last_name,
        "registered_brand_id": confirmation.brand_id,
        "email_verified_at": at,
        "date_joined": at,
    }
