"""Takes back what a returned order counted in campaigns, if the brand recomputes progress after returns."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, Milestone, RewardClaim, UserLoyaltyCampaign
from core.json_values import json_number
from events.models import Event
from loyalty.points import accounts

ZERO, ONE, CENT = Decimal(0), Decimal(1), Decimal("0.01")


@dataclass(frozen=True, slots=True)
class ReturnedPart:
    """The returned part of an order's amount, `before` this return and with it; `is_all`: nothing is left."""

    before: Decimal
    total: Decimal
    paid: Decimal
    is_all: bool

    def of(self, counted: Decimal) -> Decimal:
        """What this return takes back of what the order counted. All returns add up to exactly all of it."""
        if self.is_all:
            return counted - self._share(counted, self.before)
        return self._share(counted, self.total) - self._share(counted, self.before)

    def _share(self, counted: Decimal, returned: Decimal) -> Decimal:
        if not self.paid:
            return ZERO
        return (counted * min(returned, self.paid) / self.paid).quantize(CENT, rounding=ROUND_HALF_UP)


def step_back(
    *, brand_id: int, user_id: int, order_event_id: uuid.UUID, returned: ReturnedPart, at: datetime
) -> list[dict[str, Any]]:
    """Reduce progress in each campaign that the order's event advanced; returns them, for the return's outcome.

    Money is taken back in proportion, a step or products once the whole order is returned. A reached goal, a finished
    round and a milestone whose reward was claimed remain: only rewards that still wait to be claimed are withdrawn.
    Call with the member's account locked; this changes its row too.
    """
    if Brand.objects.values_list("after_return", flat=True).get(pk=brand_id) != Brand.AfterReturn.RECOMPUTE:
        return []
    order = Event.objects.filter(brand=brand_id, event_id=order_event_id, status=Event.Status.DONE).first()
    advanced = {each["campaign_id"]: each for each in ((order and order.outcome) or {}).get("campaigns", ())}
    rows = UserLoyaltyCampaign.objects.select_related("campaign").filter(user=user_id, campaign__in=advanced)
    unfinished = (row for row in rows.order_by("pk") if 0 < row.progress < row.campaign.target_value)
    stepped = [
        stepped_back
        for row in unfinished
        if (stepped_back := _step_back_in(row, advanced[row.campaign_id], returned, at))
    ]
    if stepped:
        account = accounts.account_of(brand_id=brand_id, user_id=user_id)
        assert account is not None  # noqa: S101 - the caller has locked it
        accounts.touch(account=account.pk, at=at)
    return stepped


def _step_back_in(
    row: UserLoyaltyCampaign, counted: dict[str, Any], returned: ReturnedPart, at: datetime
) -> dict[str, Any] | None:
    """None: the order counts nothing in the current round, or not all of the order is returned yet."""
    if counted.get("round", 1) != row.round:
        return None
    step = Decimal(str(counted.get("step", 1)))
    if row.campaign.step_by == Campaign.StepBy.AMOUNT:
        step = returned.of(step)
    elif not returned.is_all:
        return None
    return take_step_back(row, min(step, row.progress), counted.get("products") or [], at) if step else None


def take_step_back(row: UserLoyaltyCampaign, step: Decimal, products: list[int], at: datetime) -> dict[str, Any]:
    progress = row.progress - step
    above = Milestone.objects.filter(campaign=row.campaign_id, threshold__gt=progress)
    waiting = RewardClaim.objects.filter(
        user=row.user_id, milestone__in=above, round=row.round, status=RewardClaim.Status.AVAILABLE
    )
    withdrawn = dict(waiting.values_list("milestone_id", "points"))
    waiting.delete()
    points = sum((each for each in withdrawn.values() if each), ZERO)
    if points and row.campaign.budget is not None:
        left = Greatest(F("points") - points, ZERO)
        CampaignBudgetUse.objects.filter(campaign=row.campaign_id).update(points=left)
    UserLoyaltyCampaign.objects.filter(pk=row.pk).update(
        progress=progress,
        milestones_achieved=[each for each in row.milestones_achieved if each not in withdrawn],
        products=[each for each in row.products if each not in products],
        updated_at=at,
    )
    result = {"campaign_id": row.campaign_id, "progress": json_number(progress)}
    return result if step == ONE and row.round == 1 else {**result, "step": json_number(step), "round": row.round}
