"""What is held about a person at a brand, handed out whole: by every module that settings.PERSONAL_DATA names.

A table joins by a module with `export(user_id, brand_id)`, which returns JSON, and `erase`, and a line in that setting.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from brands.models import User
from campaigns import progress as campaign_progress
from campaigns.models import RewardClaim, UserLoyaltyCampaign
from loyalty import confirmations, members
from loyalty.models import LoyaltyTransaction, Redemption, UserPoints


def everything(*, user_id: int, brand_id: int) -> dict[str, Any]:
    """What each module holds, by its name in the setting."""
    return {name: import_string(f"{path}.export")(user_id, brand_id) for name, path in settings.PERSONAL_DATA.items()}


def export(user_id: int, brand_id: int) -> dict[str, Any]:
    """The person, the account at the brand, its ledger, campaigns and rewards."""
    at_brand = {"user_id": user_id, "brand_id": brand_id}
    here = {"user_point__user_id": user_id, "user_point__brand_id": brand_id}
    person = User.objects.values("email", "first_name", "last_name", "date_joined", "last_login", "email_verified_at")
    account = UserPoints.objects.filter(**at_brand).values(
        "points", "points_earned", "points_redeemed", "points_expired", "current_level", "status", "enrolled_at"
    )
    lines = LoyaltyTransaction.objects.filter(**here).values(
        "created_at", "reason", "reason_id", "points_earned", "points_redeemed", "points_expired", "note"
    )
    progress = UserLoyaltyCampaign.objects.filter(user_id=user_id, campaign__brand_id=brand_id)
    claims = RewardClaim.objects.filter(user_id=user_id, milestone__campaign__brand_id=brand_id)
    taken = Redemption.objects.filter(**here)
    return {
        "person": person.get(pk=user_id),
        "account": account.first(),
        "transactions": list(lines),
        "campaigns": list(progress.values("campaign__campaign_name", "progress", "created_at", "updated_at")),
        "milestone_rewards": list(claims.values("milestone__reward_name", "status", "created_at", "claimed_at")),
        "redemptions": list(taken.values("name", "cost", "code", "status", "created_at", "used_at", "cancelled_at")),
    }


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """The account, with its ledger and redemptions, and the campaigns are the pseudonym's, and closed."""
    confirmations.forget_person(user_id, brand_id)
    campaign_progress.hand_over(user_id=user_id, brand_id=brand_id, to=to)
    members.hand_over(user_id=user_id, brand_id=brand_id, to=to, at=at)
