"""Proving an e-mail address: the only code that writes EmailConfirmation, and that says an address is verified.

A code of six digits and a link go to the address. Both follow from the confirmation's id and the installation's
secret, so nothing that is stored confirms anything.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from brands import sql
from brands.models import Brand, User
from brands.refusals import Invalid
from loyalty import events, members
from loyalty.events import Message
from loyalty.models import EmailConfirmation
from loyalty.notices import composing

LIFE = timedelta(minutes=30)
KEPT = timedelta(days=1)  # whoever comes a little late is answered like whoever comes too late
TRIES = 5  # of a million codes
MAIL = "account-mail"
RESERVE_USER = "SELECT nextval(pg_get_serial_sequence('brands_user', 'id'))"


@dataclass(frozen=True, slots=True)
class Begun:
    """A registration that waits for its code; `user_id` is what the account's id will be."""

    confirmation_id: uuid.UUID
    user_id: int
    expires_at: datetime


def begin_registration(*, email: str, password: str, brand: Brand, at: datetime, **names: str) -> Begun:
    """Keep what somebody wants to register with until they confirm the address. The password passed the validators.

    Nothing here asks whether the address is known, so neither the answer nor its time can tell.
    """
    reserved = sql.row(RESERVE_USER, {})
    assert reserved is not None  # noqa: S101 - a sequence always answers
    hashed = make_password(password)
    with transaction.atomic():
        made = EmailConfirmation.objects.create(
            brand=brand,
            email=email,
            reserved_user_id=reserved[0],
            password=hashed,
            created_at=at,
            expires_at=at + LIFE,
            **names,
        )
        _mail(made, at)
    return Begun(made.pk, reserved[0], made.expires_at)


def begin_verification(*, user: User, brand: Brand, at: datetime) -> EmailConfirmation:
    """Have a code sent to the address of a customer who is logged in."""
    with transaction.atomic():
        made = EmailConfirmation.objects.create(
            brand=brand, email=user.email, user=user, created_at=at, expires_at=at + LIFE
        )
        _mail(made, at)
    return made


def finish_registration(*, confirmation_id: uuid.UUID, code: str, at: datetime) -> tuple[User, Brand]:
    """The account of somebody who was sent `code`, made now. Raises Invalid, the same for every reason there is."""
    found = _tried(EmailConfirmation.objects.filter(pk=confirmation_id, user=None), at)
    if not constant_time_compare(code_of(found.pk), code):
        raise wrong_code()
    return _account_of(found, at), found.brand


def finish_registration_by_link(*, token: str, password: str, at: datetime) -> tuple[User, Brand]:
    """As finish_registration, for whoever opens the link and knows the password that the account was wanted with.

    Without that, somebody who opens the link of a registration that was not theirs would give a stranger an account
    in their name. Raises Invalid.
    """
    found = _tried(_of_link(composing.CONFIRM_REGISTRATION, token).filter(user=None), at)
    if not check_password(password, found.password):
        message = _("This is not the password that you registered with.")
        raise Invalid(message, details={"fields": {"password": [message]}})
    return _account_of(found, at), found.brand


def confirm(*, user: User, brand_id: int, code: str, at: datetime) -> User:
    """Verify the address of a customer who is logged in, by the mailed code. Raises Invalid."""
    rows = EmailConfirmation.objects.filter(user=user, brand_id=brand_id, email=user.email)
    found = _tried(rows, at)
    if not constant_time_compare(code_of(found.pk), code):
        raise wrong_code()
    return _verified(found, at)


def confirm_by_link(*, token: str, at: datetime) -> User:
    """As confirm, for whoever opens the link. Raises Invalid."""
    return _verified(_tried(_of_link(composing.CONFIRM_EMAIL, token).exclude(user=None), at), at)


def code_of(confirmation_id: uuid.UUID) -> str:
    digest = salted_hmac("email.confirmation.code", str(confirmation_id), algorithm="sha256").hexdigest()
    return f"{int(digest, 16) % 10**6:06}"


def verify_address(*, user: User, at: datetime) -> None:
    """The user has just shown that mail to their address reaches them; points that waited for it follow at all brands.

    Joins the caller's transaction.
    """
    unconfirmed = User.objects.filter(pk=user.pk, email=user.email, email_verified_at=None)
    if unconfirmed.update(email_verified_at=at):
        events.release(user_id=user.pk)


def wrong_code() -> Invalid:
    message = _("This code is wrong or has ended. Look at the newest e-mail, or ask for another one.")
    return Invalid(message, details={"fields": {"code": [message]}})


def forget_ended(*, at: datetime) -> int:
    """Delete what nobody can confirm any more. Returns how many."""
    deleted, _by_model = EmailConfirmation.objects.filter(expires_at__lte=at - KEPT).delete()
    return deleted


def forget_person(user_id: int, brand_id: int) -> None:
    """For the erasure of a person's data; call before their address is taken away."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    EmailConfirmation.objects.filter(brand_id=brand_id, email=email).delete()


def _mail(confirmation: EmailConfirmation, at: datetime) -> None:
    message = Message(
        kind=MAIL,
        payload={"confirmation_id": str(confirmation.pk)},
        arguments={"brand_id": confirmation.brand_id, "user_id": confirmation.user_id or 0},
        retry_hours=1,
    )
    events.publish(messages=[message], brand_id=confirmation.brand_id, at=at)


def _of_link(purpose: str, token: str) -> QuerySet[EmailConfirmation]:
    told = composing.read_link(purpose, token, max_age=LIFE + KEPT) or {}
    try:
        return EmailConfirmation.objects.filter(pk=uuid.UUID(str(told.get("c", ""))))
    except ValueError:
        return EmailConfirmation.objects.none()


def _tried(rows: QuerySet[EmailConfirmation], at: datetime) -> EmailConfirmation:
    """The one in `rows`, with one try fewer left. Counted before it is looked at: parallel tries are as many as serial
    ones. Raises Invalid where there is none to be had."""
    left = rows.filter(tries__lt=TRIES, confirmed_at=None, expires_at__gt=at)
    ids = list(left.values_list("pk", flat=True)[:1])  # the newest
    if not ids or not left.filter(pk__in=ids).update(tries=F("tries") + 1):
        raise wrong_code()
    return EmailConfirmation.objects.select_related("brand", "user").get(pk=ids[0])


def _account_of(found: EmailConfirmation, at: datetime) -> User:
    user = User(
        pk=found.reserved_user_id,
        email=found.email,
        password=found.password,
        first_name=found.first_name,
        last_name=found.last_name,
        registered_brand_id=found.brand_id,
        email_verified_at=at,
        date_joined=at,
    )
    try:
        with transaction.atomic():
            _close(found, at)
            user.save(force_insert=True)
            if found.brand.auto_enroll:
                members.enrol(user_id=user.pk, brand_id=found.brand_id, at=at)
    except IntegrityError as error:  # somebody has the address: the mail said so, and held no code
        raise wrong_code() from error
    return user


def _verified(found: EmailConfirmation, at: datetime) -> User:
    user = found.user
    if user is None or user.email != found.email or not user.is_active:
        raise wrong_code()
    with transaction.atomic():
        _close(found, at)
        verify_address(user=user, at=at)
    user.email_verified_at = user.email_verified_at or at
    return user


def _close(found: EmailConfirmation, at: datetime) -> None:
    """Good once: of two at the same time one is too late. Raises Invalid."""
    if not EmailConfirmation.objects.filter(pk=found.pk, confirmed_at=None).update(confirmed_at=at, password=""):
        raise wrong_code()
