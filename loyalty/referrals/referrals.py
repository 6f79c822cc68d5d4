"""Start of referrals: a friend enters a member's code. Neither learns whether both count as one person."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core.errors import DomainError, Invalid, raises
from loyalty.errors import (
    AlreadyReferred,
    MemberBlocked,
    ReferralCodeUnknown,
    ReferralsNotOffered,
    ReferralTooLate,
    UserNotEnrolled,
)
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.points import accounts, ledger
from loyalty.referrals import codes, duplicates

State = Referral.State
Reason = LoyaltyTransaction.Reason
# The time limit for a code at registration, if codes count only at registration.
REGISTERED = timedelta(minutes=5)


def programme_of(brand_id: int) -> ReferralProgramme | None:
    """The brand's programme, if it is active."""
    rows = ReferralProgramme.objects.filter(brand=brand_id, is_active=True, brand__loyalty_active=True)
    return rows.first()


@raises(ReferralCodeUnknown, ReferralsNotOffered)
def check_code(*, brand: Brand, text: str) -> str:
    """The normalised code of a registration. Raises Invalid if it cannot count at registration."""
    if programme_of(brand.pk) is None:
        raise ReferralsNotOffered(details={"field": "referral_code"})
    code = codes.normalised(text)
    if codes.account_of(brand_id=brand.pk, code=code) is None:
        raise ReferralCodeUnknown(details={"field": "referral_code"})
    if not brand.auto_enroll:
        message = _("Enter the code once you are a member. Leave it out for now.")
        raise Invalid(message, details={"fields": {"referral_code": [message]}})
    return code


def begin_at_registration(*, brand_id: int, user_id: int, code: str, at: datetime) -> None:
    """Begin the referral. The code was valid when it was entered, so errors do not prevent the registration.

    Call in the transaction that enrolled the customer.
    """
    if not code:
        return
    try:
        with transaction.atomic():
            begin(brand_id=brand_id, user_id=user_id, code=code, at=at)
    except DomainError:
        return


@raises(
    MemberBlocked,
    AlreadyReferred,
    ReferralCodeUnknown,
    ReferralsNotOffered,
    ReferralTooLate,
    UserNotEnrolled,
)
def begin(*, brand_id: int, user_id: int, code: str, at: datetime) -> Referral:
    """Record that a new member was referred, once. The same code returns the earlier referral.

    Owns or joins a transaction. Raises Invalid for the member's own code.
    """
    friend = accounts.account_of(brand_id=brand_id, user_id=user_id)
    if friend is None:
        raise UserNotEnrolled
    programme = programme_of(brand_id)
    if programme is None:
        raise ReferralsNotOffered
    referrer = codes.account_of(brand_id=brand_id, code=codes.normalised(code))
    if referrer is None:
        raise ReferralCodeUnknown(details={"field": "code"})
    if referrer.pk == friend.pk:
        message = _("This is your own code. Enter the code of the friend who brought you here.")
        raise Invalid(message, details={"fields": {"code": [message]}})
    with transaction.atomic():
        accounts.lock(account=friend.pk)
        if earlier := Referral.objects.filter(friend=friend).first():
            if earlier.referrer_id != referrer.pk:
                raise AlreadyReferred
            return earlier
        check_friend(friend, referrer, programme, at)
        return _made(referrer, friend, at)


def _made(referrer: UserPoints, friend: UserPoints, at: datetime) -> Referral:
    """Store the referral. One for a second account of the same person looks the same to everyone but staff.

    A different answer would reveal who owns the code.
    """
    why = duplicates.why_same(referrer, friend)
    state = {"state": State.REJECTED, "decided_at": at} if why else {}
    try:
        with transaction.atomic():
            return Referral.objects.create(
                brand_id=friend.brand_id, referrer=referrer, friend=friend, why=why, created_at=at, **state
            )
    except IntegrityError as error:
        raise AlreadyReferred from error


def check_friend(friend: UserPoints, referrer: UserPoints, programme: ReferralProgramme, at: datetime) -> None:
    """Raises ReferralTooLate unless the friend joined recently, after the member, and has done nothing that counts.

    Call with the friend's account locked.
    """
    accounts.reject_closed(friend.status)
    period = timedelta(days=programme.days_for_code) or REGISTERED
    if at - friend.enrolled_at > period or friend.enrolled_at < referrer.enrolled_at:
        raise ReferralTooLate
    check_new(friend)


def check_new(friend: UserPoints) -> None:
    """Raises ReferralTooLate for a friend who has scanned or ordered, or was imported from another programme."""
    entries = LoyaltyTransaction.objects.filter(user_point=friend)
    brought = Q(reason_id__startswith=ledger.OPENING)
    acted = Q(reason__in=[Reason.EARNED, Reason.PENDING]) & (
        ~Q(reason_id__contains=":") | Q(reason_id__startswith="order:")
    )
    waiting = OpeningBalance.objects.filter(brand=friend.brand_id, user=friend.user_id)
    if entries.filter(brought | acted).exists() or waiting.exists():
        raise ReferralTooLate
