"""A forgotten password: asked for by e-mail address, and set anew by whoever opens the link that is sent there.

The link proves the address too."""

from datetime import datetime, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from brands.models.people import User
from brands.models.tenants import Brand
from brands.staff_login import staff
from core import languages
from core.errors import Invalid
from events import publishing
from events.messages import NewEvent
from loyalty.members import confirmations
from loyalty.models.notifications import Template
from loyalty.notifications import rendering

LINK_LIFE = timedelta(minutes=30)  # from the moment when the mail is written


def forgot(*, email: str, brand: Brand, at: datetime) -> None:
    """Have a link sent to a customer of the brand. Joins or owns a transaction.

    For an address that the brand does not know, the same is done and comes to nothing, so that neither the answer nor
    its time tells which are known.
    """
    known = customers().filter(Q(registered_brand=brand) | Q(points_rows__brand=brand), email=email)
    user_id = known.values_list("pk", flat=True).first() or 0
    message = NewEvent(
        kind="notify",
        payload={"template": Template.PASSWORD_RESET.value},
        arguments={"brand_id": brand.pk, "user_id": user_id},
        retry_hours=1,
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=at)


def reset(*, token: str, password: str, at: datetime) -> User:
    """Set the password of whose link `token` is from, and end all their sessions. The link is good once.

    Raises Invalid for a link that has ended or was used, and for a password that is too weak.
    """
    claims = rendering.read_link(rendering.NEW_PASSWORD, token, max_age=LINK_LIFE) or {}
    with transaction.atomic():
        user = customers().select_for_update(no_key=True).filter(pk=claims.get("u", 0)).first()
        if user is None or not constant_time_compare(str(claims.get("p", "")), rendering.password_mark(user)):
            message = _("This link has expired or was already used. Request a new one.")
            raise Invalid(message, details={"fields": {"token": [message]}})
        check(password, user)
        staff.set_password(user=user, password=password, at=at)
        confirmations.verify_address(user=user, at=at)
    return user


def check(password: str, user: User) -> None:
    """Raises Invalid, in the words of Django's validators."""
    if complaints(password, user):
        languages.decide()
        result = complaints(password, user)
        raise Invalid(" ".join(result), details={"fields": {"password": result}})


def complaints(password: str, user: User) -> list[str]:
    """What the validators have against a password."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return error.messages
    return []


def customers() -> QuerySet[User]:
    """Who may set a password by mail. Staff may not: an owner or the operator gives them theirs."""
    return User.objects.filter(is_active=True, is_staff=False, is_superuser=False)
