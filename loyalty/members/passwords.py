"""A forgotten password: a link is requested by e-mail address, and sets a new password.

The link also proves the address.
"""

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

LINK_LIFE = timedelta(minutes=30)  # from when the mail is written


def send_reset_link(*, email: str, brand: Brand, at: datetime) -> None:
    """Send a link to a customer of the brand. Joins or owns a transaction.

    An unknown address takes the same steps without effect, so neither the response nor its timing reveals whether the
    address is known.
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
    """Set the password of the link's user, and end all their sessions. The link works once.

    Raises Invalid for an expired or used link, and for a weak password.
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
    """Raises Invalid with the messages of Django's validators."""
    if password_errors(password, user):
        languages.decide()
        result = password_errors(password, user)
        raise Invalid(" ".join(result), details={"fields": {"password": result}})


def password_errors(password: str, user: User) -> list[str]:
    """The validators' messages about a password."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return error.messages
    return []


def customers() -> QuerySet[User]:
    """Users who may set a password by mail. Staff may not: an owner or the operator sets theirs."""
    return User.objects.filter(is_active=True, is_staff=False, is_superuser=False)
