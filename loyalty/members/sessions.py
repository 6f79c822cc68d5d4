"""Login and registration at a brand: issues tokens and publishes the login event."""

from datetime import datetime
from typing import Any

from django.contrib.auth import authenticate
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity import tokens
from brands.identity.tokens import TokenPair
from brands.models.people import User
from brands.models.tenants import Brand
from core import json_values
from core.errors import DomainError, Invalid, raises
from events import messages, publishing
from loyalty.errors import ReferralCodeUnknown, ReferralsNotOffered
from loyalty.members import confirmations, consents, passwords
from loyalty.members.confirmations import Begun
from loyalty.members.moving_in import opening_balances
from loyalty.points import accounts
from loyalty.referrals import referrals


class LoginRejected(DomainError, code="AUTHENTICATION_REQUIRED", status=401):
    """The same error for an unknown address, a wrong password, an inactive user and a member of staff."""

    default_message = gettext_lazy("E-mail address or password is wrong.")


class AccountMerged(DomainError, code="ACCOUNT_MERGED", status=403):
    """Raised only after the correct password: the other account's login must be used."""

    default_message = gettext_lazy(
        "This account was merged into another account of yours. Log in with that one's e-mail address."
    )


@raises(LoginRejected)
def check_password(*, email: str, password: str) -> User:
    """The customer with this address and password. Raises LoginRejected.

    Also rejects staff, who log in at the portal only, so nobody can try their passwords here.
    """
    user = authenticate(username=email.lower(), password=password)
    if not isinstance(user, User) or user.is_staff or user.is_superuser or user.staff_roles.exists():
        raise LoginRejected
    return user


@raises(AccountMerged)
def log_in(*, user: User, brand: Brand, channel: str, at: datetime) -> TokenPair:
    """Begin a session of an authenticated customer, and publish log-user-login in the same transaction.

    Raises AccountMerged if the account at the brand was merged. Otherwise the brand's staff could, with a merge, give a
    customer a session of another person.
    """
    with transaction.atomic():
        check_not_merged(user, brand)
        pair = tokens.issue(user=user, brand=brand, at=at)
        _publish_login(user, brand, pair, channel, at)
        if user.email_verified_at is not None:
            opening_balances.release(user_id=user.pk, brand_id=brand.pk, at=at)
    return pair


def check_not_merged(user: User, brand: Brand) -> None:
    """Raises AccountMerged."""
    current = accounts.current_account(brand_id=brand.pk, user_id=user.pk)
    if current is not None and current.user_id != user.pk:
        raise AccountMerged


def _publish_login(user: User, brand: Brand, pair: TokenPair, channel: str, at: datetime) -> None:
    message = messages.NewEvent(
        kind="log-user-login",
        arguments={"brand_id": brand.pk, "user_id": user.pk},
        payload={
            "type": "login",
            "sessionId": pair.session_id,
            "channel": channel,
            "timestamp": json_values.iso(at),
        },
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=at)


@raises(ReferralCodeUnknown, ReferralsNotOffered)
def begin_registration(
    *,
    email: str,
    password: str,
    brand: Brand,
    at: datetime,
    consent: dict[str, Any] | None = None,
    referral_code: str = "",
    **names: str,
) -> Begun:
    """Store a registration until the address is confirmed. `consent` is what consents.requested_consent returns.

    Raises Invalid for a weak password.
    """
    passwords.check(password, User(email=email, **names))
    code = referrals.check_code(brand=brand, text=referral_code) if referral_code else ""
    return confirmations.begin_registration(
        email=email, password=password, brand=brand, at=at, consent=consent, referral_code=code, **names
    )


@raises(ReferralCodeUnknown, ReferralsNotOffered)
def register(
    *,
    email: str,
    password: str,
    brand: Brand,
    at: datetime,
    consent: dict[str, Any] | None = None,
    referral_code: str = "",
    **names: Any,
) -> User:
    """Create a customer with an unconfirmed address, and enrol them if the brand enrols automatically.

    Raises Invalid, also for a known address. settings.REGISTRATION_CONFIRMS_EMAIL avoids revealing that.
    """
    user = User(email=email.lower(), registered_brand=brand, **names)
    passwords.check(password, user)
    code = referrals.check_code(brand=brand, text=referral_code) if referral_code else ""
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            if consent:
                consents.record(user_id=user.pk, brand_id=brand.pk, at=at, **consent)
            if brand.auto_enroll:
                accounts.enrol(user_id=user.pk, brand_id=brand.pk, at=at)
                referrals.begin_at_registration(brand_id=brand.pk, user_id=user.pk, code=code, at=at)
    except IntegrityError as error:
        message = _("This e-mail address cannot be registered. If it is yours, log in.")
        raise Invalid(message, details={"fields": {"email": [message]}}) from error
    return user
