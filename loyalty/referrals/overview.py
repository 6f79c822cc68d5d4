"""What a member sees of their referrals: numbers and points, but not who the friends are."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum

from core.errors import raises
from loyalty.errors import MemberBlocked, ReferralTooLate
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.points import accounts
from loyalty.referrals import codes, referrals

State = Referral.State


@raises(MemberBlocked)
def of_member(*, brand_id: int, user_id: int, at: datetime) -> dict[str, Any] | None:
    """The member's code and the results of their referrals. Creates the code if there is none.

    None if the brand has no active referral programme, or the customer is not a member.
    """
    account = accounts.account_of(brand_id=brand_id, user_id=user_id)
    programme = referrals.programme_of(brand_id)
    if account is None or programme is None:
        return None
    accounts.reject_closed(account.status)
    code = codes.code_of(account)
    # Rejected and lapsed referrals count as waiting: their state would reveal something about the friend.
    rewarded = Q(state=State.REWARDED)
    counts = Referral.objects.filter(referrer=account).aggregate(
        rewarded=Count("pk", filter=rewarded),
        waiting=Count("pk", filter=~rewarded & ~Q(state=State.REVERSED)),
        points=Sum("referrer_points", filter=rewarded),
    )
    return {
        "code": codes.display(code),
        "link": codes.link_of(brand_id=brand_id, code=code),
        "referrer_points": programme.referrer_points,
        "friend_points": programme.friend_points,
        "action": programme.action,
        "waiting": counts["waiting"],
        "rewarded": counts["rewarded"],
        "points_earned": counts["points"] or Decimal(0),
        "may_give_code": may_give_code(account, programme, at),
    }


def may_give_code(account: UserPoints, programme: ReferralProgramme, at: datetime) -> bool:
    """Whether the member may still give a friend's code, as far as it depends on the member."""
    if not timedelta(0) <= at - account.enrolled_at <= timedelta(days=programme.days_for_code):
        return False
    if Referral.objects.filter(friend=account).exists():
        return False
    try:
        referrals.check_new(account)
    except ReferralTooLate:
        return False
    return True


def of_friend(referral: Referral) -> dict[str, Any]:
    """What a friend sees of the referral with the code that they entered."""
    programme = ReferralProgramme.objects.get(brand=referral.brand_id)
    is_paid = referral.state in {State.REWARDED, State.REVERSED}
    return {
        "state": referral.state,
        "friend_points": referral.friend_points if is_paid else programme.friend_points,
        "action": programme.action,
        "created_at": referral.created_at,
    }
