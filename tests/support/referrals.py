"""A brand that rewards referrals, friends who enter codes, and their first actions."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from events import worker
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.points import consistency
from loyalty.referrals import codes, find, referrals
from tests.support import factories


def programme(brand: Brand, **fields: Any) -> ReferralProgramme:
    """100 points for the member and 50 for the friend, unless `fields` say otherwise."""
    known = {"is_active": True, "referrer_points": 100, "friend_points": 50, **fields}
    made: ReferralProgramme = ReferralProgramme.objects.create(brand=brand, **known)
    return made


def code_of(member: User, brand: Brand) -> str:
    return codes.code_of(factories.account(member, brand))


def code_of_earlier_member(account: int) -> str:
    """The code of an account that is older than all others."""
    UserPoints.objects.filter(pk=account).update(enrolled_at=timezone.now() - timedelta(days=400))
    return codes.code_of(UserPoints.objects.get(pk=account))


def refer(member: User, friend: User, brand: Brand) -> Referral:
    return referrals.begin(brand_id=brand.pk, user_id=friend.pk, code=code_of(member, brand), at=timezone.now())


def referred_friend(member: User, brand: Brand, **fields: Any) -> tuple[User, Referral]:
    """A new friend of the member, and their pending referral."""
    friend = factories.customer(brand, **fields)
    return friend, refer(member, friend, brand)


def scan(customer: User, brand: Brand, code: str = "") -> None:
    """The ledger entry of a scan."""
    factories.points(customer, brand, 10, reason_id=code or f"CODE{customer.pk}")


def settle() -> int:
    """Publish first actions as the beat does, and handle all events that follow."""
    published = find.publish_first_actions(at=timezone.now())
    worker.drain()
    return published


def balance(customer: User, brand: Brand) -> Decimal:
    points: Decimal = UserPoints.objects.get(user=customer, brand=brand).points
    return points


def inconsistencies() -> list[tuple[str, str]]:
    """The differences that the checks report, read in the test's own transaction. Entries of tests have no event."""
    result = []
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            result += [(check, row[0]) for row in cursor.fetchall()]
    return result
