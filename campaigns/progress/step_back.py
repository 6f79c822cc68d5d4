"""Takes back the step that a returned order was in its campaigns, where the brand computes progress again."""

import uuid
from datetime import datetime
from typing import Any

from brands.models.tenants import Brand
from campaigns.models.campaigns import Milestone, RewardClaim, UserLoyaltyCampaign
from events.models import Event
from loyalty.points import accounts


def step_back(*, brand_id: int, user_id: int, order_event_id: uuid.UUID, at: datetime) -> list[dict[str, Any]]:
    """One step back in each campaign that the order's event advanced; returns which, for the return's outcome.

    A goal that is reached stays reached, and so does a milestone whose reward the customer has: only rewards that
    still wait to be claimed are withdrawn. Call with the member's account locked, whose row this changes too.
    """
    if Brand.objects.values_list("after_return", flat=True).get(pk=brand_id) != Brand.AfterReturn.RECOMPUTE:
        return []
    order = Event.objects.filter(brand=brand_id, event_id=order_event_id, status=Event.Status.DONE).first()
    advanced = [each["campaign_id"] for each in ((order and order.outcome) or {}).get("campaigns", ())]
    rows = UserLoyaltyCampaign.objects.select_related("campaign").filter(user=user_id, campaign__in=advanced)
    unfinished = (row for row in rows.order_by("pk") if 0 < row.progress < row.campaign.target_value)
    stepped = [take_step_back(row, at) for row in unfinished]
    if stepped:
        account = accounts.account_of(brand_id=brand_id, user_id=user_id)
        assert account is not None  # noqa: S101 - it is locked
        accounts.touch(account=account.pk, at=at)
    return stepped


def take_step_back(row: UserLoyaltyCampaign, at: datetime) -> dict[str, Any]:
    progress = row.progress - 1
    above = Milestone.objects.filter(campaign=row.campaign_id, threshold__gt=progress)
    waiting = RewardClaim.objects.filter(user=row.user_id, milestone__in=above, status=RewardClaim.Status.AVAILABLE)
    withdrawn = list(waiting.values_list("milestone_id", flat=True))
    waiting.delete()
    achieved = [each for each in row.milestones_achieved if each not in withdrawn]
    UserLoyaltyCampaign.objects.filter(pk=row.pk).update(progress=progress, milestones_achieved=achieved, updated_at=at)
    return {"campaign_id": row.campaign_id, "progress": progress}
