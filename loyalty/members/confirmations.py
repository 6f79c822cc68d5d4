"""E-mail confirmation: the only code that writes EmailConfirmation and marks addresses as verified.

A six-digit code and a link are sent to the address. Both are derived from the confirmation's id and the installation's
secret, so stored data alone cannot confirm an address.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import check_password, make_password
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.identity import tokens
from brands.models.people import User
from brands.models.tenants import Brand
from core.db import row_guard, sql
from core.errors import Invalid
from events import holds, publishing
from events.messages import NewEvent
from loyalty.members import change_events, consents
from loyalty.members.moving_in import opening_balances, registrations
from loyalty.members.moving_in.registrations import AddressTakenError
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.notifications import rendering
from loyalty.points import accounts
from loyalty.referrals import referrals

LIFE = timedelta(minutes=30)
GRACE = timedelta(days=1)  # expired confirmations are kept this long and get the same answer as deleted ones
TRIES = 5  # guesses at a code, out of a million codes
MAIL = "account-mail"
RESERVE_USER = "SELECT nextval(pg_get_serial_sequence('brands_user', 'id'))"


@dataclass(frozen=True, slots=True)
class Begun:
    """A registration that waits for its code. `user_id` is the future account's id."""

    confirmation_id: uuid.UUID
    user_id: int
    expires_at: datetime


def begin_registration(
    *, email: str, password: str, brand: Brand, at: datetime, consent: dict[str, Any] | None = None, **names: str
) -> Begun:
    """Store a registration until the address is confirmed. The caller has validated the password.

    `consent` is what consents.requested_consent returns. This does not check whether the address is known, so neither
    the response nor its timing reveals it.
    """
    reserved = sql.row(RESERVE_USER, {})
    assert reserved is not None  # noqa: S101 - a sequence always returns a value
    hashed = make_password(password)
    with transaction.atomic():
        made = EmailConfirmation.objects.create(
            brand=brand,
            email=email,
            reserved_user_id=reserved[0],
            password=hashed,
            created_at=at,
            expires_at=at + LIFE,
            **(consent or {}),
            **names,
        )
        _mail(made, at)
    return Begun(made.pk, reserved[0], made.expires_at)


def begin_verification(*, user: User, brand: Brand, at: datetime) -> EmailConfirmation:
    """Send a code to the address of a logged-in customer."""
    with transaction.atomic():
        made = EmailConfirmation.objects.create(
            brand=brand, email=user.email, user=user, created_at=at, expires_at=at + LIFE
        )
        _mail(made, at)
    return made


def begin_change(*, user: User, brand: Brand, email: str, at: datetime) -> EmailConfirmation:
    """Send a link to the customer's new address, and a notification to the current one.

    Does not check whether the address is taken or which brands know the customer: the answer is always the same. Ends
    an earlier pending change at the brand. Joins or owns a transaction. Raises Invalid for the customer's current
    address.
    """
    if email == user.email:
        raise Invalid(_("This is already the customer's address."), details={"field": "email"})
    with transaction.atomic():
        waiting_change(user_id=user.pk, brand_id=brand.pk, at=at).update(expires_at=at)
        made = EmailConfirmation.objects.create(
            brand=brand, email=email, user=user, previous_email=user.email, created_at=at, expires_at=at + LIFE
        )
        _mail(made, at)
        _mail(made, at, is_notification=True)
    return made


def waiting_change(*, user_id: int, brand_id: int, at: datetime) -> QuerySet[EmailConfirmation]:
    """A customer's pending address changes at a brand."""
    rows = EmailConfirmation.objects.filter(user=user_id, brand=brand_id, confirmed_at=None, expires_at__gt=at)
    return rows.exclude(previous_email="")


class WrongPassword(Invalid):
    """The link is valid, but the password is wrong."""

    def __init__(self) -> None:
        message = _("The password of the account is wrong.")
        super().__init__(message, details={"fields": {"password": [message]}})


def finish_change(*, token: str, password: str, at: datetime, request_id: str = "") -> User:
    """Change a customer's address to the one that the link was sent to. Raises Invalid and WrongPassword.

    Staff of one brand may have requested it, but the account opens other brands too. So it also needs the customer's
    password. It never changes an account that can sign in to the portal.
    """
    result = _tried(_of_link(rendering.CHANGE_EMAIL, token).exclude(previous_email=""), at, error=link_ended)
    with transaction.atomic():
        user = User.objects.select_for_update(no_key=True).filter(pk=result.user_id or 0, is_active=True).first()
        if user is None or user.email != result.previous_email:
            raise link_ended()
        if not user.check_password(password):
            raise WrongPassword
        if user.is_staff or user.is_superuser or has_role(user):  # last, to reveal it only with the password
            raise link_ended()
        _close(result, at, error=link_ended)
        user.email, user.email_verified_at = result.email, at
        try:
            with transaction.atomic():
                user.save(update_fields=["email", "email_verified_at"])
        except IntegrityError as error:  # another account has the address, which must not be revealed
            raise link_ended() from error
        release_points(user_id=user.pk)
        tokens.revoke_all(user=user, at=at)
        change = {"email": (result.previous_email, result.email)}
        row = accounts.account_of(brand_id=result.brand_id, user_id=user.pk) or user
        context = AuditContext(None, at, request_id)
        audit_log.record(
            audit_context=context,
            action=gettext_noop("E-mail address changed"),
            rows=[AuditedChange(row, result.brand_id, change)],
        )
        if row is not user:
            change_events.publish(user_id=user.pk, brand_id=result.brand_id, changed=["email"], at=at)
    # Last, because other code locks the account before the person.
    accounts.touch_member(user_id=user.pk, brand_id=result.brand_id, at=at)
    return user


def has_role(user: User) -> bool:
    with row_guard.disabled("who works for any brand signs in to the portal with this address"):
        return user.staff_roles.exists()


def open_change(token: str, *, at: datetime) -> EmailConfirmation:
    """The pending change of a link, for limiting the password attempts on its account. Raises Invalid."""
    result = _left(_of_link(rendering.CHANGE_EMAIL, token).exclude(previous_email=""), at).select_related("brand")
    change = result.first()
    if change is None:
        raise link_ended()
    return change


def finish_registration(*, confirmation_id: uuid.UUID, code: str, at: datetime) -> tuple[User, Brand]:
    """Create the account for a registration by its mailed code. Raises the same Invalid for every reason."""
    pending = _tried(EmailConfirmation.objects.filter(pk=confirmation_id, user=None), at)
    if not constant_time_compare(code_of(pending.pk), code):
        raise wrong_code()
    return _account_of(pending, at), pending.brand


def finish_registration_by_link(*, token: str, password: str, at: datetime) -> tuple[User, Brand]:
    """Like finish_registration, with the link's token and the password of the registration.

    Without the password, a person who opens the link of a stranger's registration would give the stranger an account
    under their own address. Raises Invalid.
    """
    pending = _tried(_of_link(rendering.CONFIRM_REGISTRATION, token).filter(user=None), at)
    if not check_password(password, pending.password):
        message = _("This is not the password you registered with.")
        raise Invalid(message, details={"fields": {"password": [message]}})
    return _account_of(pending, at), pending.brand


def confirm(*, user: User, brand_id: int, code: str, at: datetime) -> User:
    """Verify the address of a logged-in customer by the mailed code. Raises Invalid."""
    rows = EmailConfirmation.objects.filter(user=user, brand_id=brand_id, email=user.email)
    result = _tried(rows, at)
    if not constant_time_compare(code_of(result.pk), code):
        raise wrong_code()
    return _verified(result, at)


def confirm_by_link(*, token: str, at: datetime) -> User:
    """Like confirm, with the link's token. Raises Invalid."""
    return _verified(_tried(_of_link(rendering.CONFIRM_EMAIL, token).exclude(user=None), at), at)


def code_of(confirmation_id: uuid.UUID) -> str:
    digest = salted_hmac("email.confirmation.code", str(confirmation_id), algorithm="sha256").hexdigest()
    return f"{int(digest, 16) % 10**6:06}"


def verify_address(*, user: User, at: datetime) -> None:
    """Mark the address as verified after its user proved that mail reaches it. Credits held points at all brands.

    Joins the caller's transaction.
    """
    unconfirmed = User.objects.filter(pk=user.pk, email=user.email, email_verified_at=None)
    if unconfirmed.update(email_verified_at=at):
        release_points(user_id=user.pk)


def release_points(*, user_id: int) -> None:
    """Credit what was held until the person's address is confirmed, at all brands.

    Joins the transaction of the confirmation. Named by settings.ADDRESS_CONFIRMED.
    """
    holds.release(user_id=user_id)
    opening_balances.release(user_id=user_id, at=timezone.now())


def link_ended() -> Invalid:
    message = _("This link has expired or was already used. Request a new one.")
    return Invalid(message, details={"fields": {"token": [message]}})


def wrong_code() -> Invalid:
    message = _("This code is wrong or has expired. Use the newest e-mail or request a new code.")
    return Invalid(message, details={"fields": {"code": [message]}})


def purge_ended(*, at: datetime) -> int:
    """Delete confirmations that expired at least GRACE ago. Returns how many."""
    deleted, _by_model = EmailConfirmation.objects.filter(expires_at__lte=at - GRACE).delete()
    return deleted


def erase_user(user_id: int, brand_id: int) -> None:
    """For the erasure of personal data. Call before the person's address is removed."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    EmailConfirmation.objects.filter(Q(email=email) | Q(user=user_id), brand_id=brand_id).delete()


def _mail(confirmation: EmailConfirmation, at: datetime, *, is_notification: bool = False) -> None:
    message = NewEvent(
        kind=MAIL,
        payload={"confirmation_id": str(confirmation.pk), **({"is_notification": True} if is_notification else {})},
        arguments={"brand_id": confirmation.brand_id, "user_id": confirmation.user_id or 0},
        retry_hours=1,
    )
    publishing.publish(messages=[message], brand_id=confirmation.brand_id, at=at)


def _of_link(purpose: str, token: str) -> QuerySet[EmailConfirmation]:
    claims = rendering.read_link(purpose, token, max_age=LIFE + GRACE) or {}
    try:
        return EmailConfirmation.objects.filter(pk=uuid.UUID(str(claims.get("c", ""))))
    except ValueError:
        return EmailConfirmation.objects.none()


def _left(rows: QuerySet[EmailConfirmation], at: datetime) -> QuerySet[EmailConfirmation]:
    return rows.filter(tries__lt=TRIES, confirmed_at=None, expires_at__gt=at)


def _tried(
    rows: QuerySet[EmailConfirmation], at: datetime, *, error: Callable[[], Invalid] = wrong_code
) -> EmailConfirmation:
    """The newest open confirmation in `rows`, with one try used up.

    Counts the try before the check, so parallel tries cannot exceed the limit. Raises `error` if there is none.
    """
    left = _left(rows, at)
    ids = list(left.values_list("pk", flat=True)[:1])  # the newest
    if not ids or not left.filter(pk__in=ids).update(tries=F("tries") + 1):
        raise error()
    return EmailConfirmation.objects.select_related("brand", "user").get(pk=ids[0])


def _account_of(confirmation: EmailConfirmation, at: datetime) -> User:
    try:
        with transaction.atomic():
            _close(confirmation, at)
            user = registrations.save_user(confirmation, at)
            if user.pk != confirmation.reserved_user_id:
                release_points(user_id=user.pk)
            consents.record(
                user_id=user.pk,
                brand_id=confirmation.brand_id,
                terms_url=confirmation.terms_url,
                privacy_url=confirmation.privacy_url,
                legal_texts=confirmation.legal_texts,
                at=confirmation.created_at,
            )
            if confirmation.brand.auto_enroll:
                accounts.enrol(user_id=user.pk, brand_id=confirmation.brand_id, at=at)
                referrals.begin_at_registration(
                    brand_id=confirmation.brand_id, user_id=user.pk, code=confirmation.referral_code, at=at
                )
    except AddressTakenError as error:  # the mail said so and contained no code
        raise wrong_code() from error
    return user


def _verified(confirmation: EmailConfirmation, at: datetime) -> User:
    user = confirmation.user
    if user is None or confirmation.previous_email or user.email != confirmation.email or not user.is_active:
        raise wrong_code()
    with transaction.atomic():
        _close(confirmation, at)
        verify_address(user=user, at=at)
    user.email_verified_at = user.email_verified_at or at
    return user


def _close(confirmation: EmailConfirmation, at: datetime, *, error: Callable[[], Invalid] = wrong_code) -> None:
    """Close the confirmation once: of two concurrent calls, the second raises Invalid."""
    if not EmailConfirmation.objects.filter(pk=confirmation.pk, confirmed_at=None).update(confirmed_at=at, password=""):
        raise error()
