"""Reverses what a returned order counted in campaigns, if the brand recomputes progress after returns."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, Milestone, RewardClaim, UserLoyaltyCampaign
from core.json_values import json_number
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.points import accounts

ZERO, ONE, CENT = Decimal(0), Decimal(1), Decimal("0.01")


@dataclass(frozen=True, slots=True)
class ReturnedPart:
    """How much of an order is returned.

    `returned_before` excludes this return, `returned` includes it; both are parts of the `order_amount`.
    """

    returned_before: Decimal
    returned: Decimal
    order_amount: Decimal
    is_all: bool

    def of(self, counted: Decimal) -> Decimal:
        """What this return takes back of what the order counted. All returns add up to exactly all of it."""
        if self.is_all:
            return counted - self._share(counted, self.returned_before)
        return self._share(counted, self.returned) - self._share(counted, self.returned_before)

    def _share(self, counted: Decimal, returned: Decimal) -> Decimal:
        if not self.order_amount:
            return ZERO
        return (counted * min(returned, self.order_amount) / self.order_amount).quantize(CENT, rounding=ROUND_HALF_UP)


def reverse_progress(
    *, brand_id: int, user_id: int, order_event_id: uuid.UUID, returned: ReturnedPart, at: datetime
) -> list[dict[str, Any]]:
    """Reduce progress in each campaign that the order's event advanced. Returns the changes, for the return's outcome.

    Money is taken back in proportion, a step or products once the whole order is returned. A reached goal, a finished
    round and a milestone whose reward was claimed remain: only rewards that still wait to be claimed are withdrawn.
    Nothing is reversed once the order's event has been purged. Call with the member's account locked; this changes its
    row too.
    """
    if Brand.objects.values_list("after_return", flat=True).get(pk=brand_id) != Brand.AfterReturn.RECOMPUTE:
        return []
    order_event = Event.objects.filter(brand=brand_id, event_id=order_event_id, status=Event.Status.DONE).first()
    outcome = (order_event.outcome if order_event else None) or {}
    counted = {each["campaign_id"]: each for each in outcome.get("campaigns", ())}
    rows = UserLoyaltyCampaign.objects.select_related("campaign").filter(user=user_id, campaign__in=counted)
    unfinished = [row for row in rows.order_by("pk") if 0 < row.progress < row.campaign.target_value]
    account = accounts.account_of(brand_id=brand_id, user_id=user_id) if unfinished else None
    if account is None:
        return []
    # Claims made before a merge stay with the merged account.
    own_accounts = UserPoints.objects.filter(pk__in=account.ledger_accounts)
    claims = RewardClaim.objects.filter(user__in=own_accounts.values("user"))
    changes = [
        change
        for row in unfinished
        if (change := _reverse_in_campaign(row, counted[row.campaign_id], returned, claims, at))
    ]
    if changes:
        accounts.touch(account=account.pk, at=at)
    return changes


def _reverse_in_campaign(
    row: UserLoyaltyCampaign,
    counted: dict[str, Any],
    returned: ReturnedPart,
    claims: QuerySet[RewardClaim],
    at: datetime,
) -> dict[str, Any] | None:
    """None: the order counts nothing in the current round, or not all of the order is returned yet."""
    if counted.get("round", 1) != row.round:
        return None
    step = Decimal(str(counted.get("step", 1)))
    if row.campaign.step_by == Campaign.StepBy.AMOUNT:
        step = returned.of(step)
    elif not returned.is_all:
        return None
    return _write_reversal(row, min(step, row.progress), counted.get("products") or [], claims, at) if step else None


def _write_reversal(
    row: UserLoyaltyCampaign, step: Decimal, products: list[int], claims: QuerySet[RewardClaim], at: datetime
) -> dict[str, Any]:
    progress = row.progress - step
    above = set(Milestone.objects.filter(campaign=row.campaign_id, threshold__gt=progress).values_list("pk", flat=True))
    claims = claims.filter(milestone__in=above, round=row.round)
    unclaimed = claims.filter(user=row.user_id, status=RewardClaim.Status.AVAILABLE)
    withdrawn = dict(unclaimed.values_list("milestone_id", "points"))
    unclaimed.delete()
    points = sum((each for each in withdrawn.values() if each), ZERO)
    # Without any claim a reward was withheld, because the budget was used up: it can be reached again, too.
    reachable = withdrawn.keys() | (above - set(claims.values_list("milestone_id", flat=True)))
    if points and row.campaign.budget is not None:
        left = Greatest(F("points") - points, ZERO)
        CampaignBudgetUse.objects.filter(campaign=row.campaign_id).update(points=left)
    UserLoyaltyCampaign.objects.filter(pk=row.pk).update(
        progress=progress,
        milestones_achieved=[each for each in row.milestones_achieved if each not in reachable],
        products=[each for each in row.products if each not in products],
        updated_at=at,
    )
    result = {"campaign_id": row.campaign_id, "progress": json_number(progress)}
    # As in the outcome of an order, one step in the first round is left out.
    return result if step == ONE and row.round == 1 else {**result, "step": json_number(step), "round": row.round}
