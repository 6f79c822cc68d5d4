"""What a campaign has brought so far: who takes part, who reached its goal, what its milestones gave and cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from django.db.models import Count, DecimalField, F, Q, Sum
from django.db.models.functions import Coalesce

from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from loyalty.models.programme.costs import PointCost

ZERO, CENT = Decimal(0), Decimal("0.01")
CLAIMED, AVAILABLE = RewardClaim.Status.CLAIMED, RewardClaim.Status.AVAILABLE


@dataclass(frozen=True, slots=True)
class CampaignResults:
    """`reached`: members who came to the goal at least once; `rounds`: how often all of them did.

    `points` were given, `points_waiting` wait to be claimed. `cost` is that of the points given, in the
    brand's currency and at the cost of a point on the day of each; None where the brand has set none for all of them.
    """

    participants: int
    reached: int
    rounds: int
    claimed: int
    waiting: int
    points: Decimal
    points_waiting: Decimal
    cost: Decimal | None


def results_of(campaign: Campaign) -> CampaignResults:
    """Three queries."""
    at_goal = Q(progress__gte=campaign.target_value)
    members = UserLoyaltyCampaign.objects.filter(campaign=campaign).aggregate(
        participants=Count("pk"),
        reached=Count("pk", filter=at_goal | Q(round__gt=1)),
        earlier=Coalesce(Sum(F("round") - 1), 0),
        at_goal=Count("pk", filter=at_goal),
    )
    paid = Coalesce(F("points"), F("milestone__reward_points"))
    periods = list(_periods(campaign))

    def total(condition: Q) -> Coalesce:
        return Coalesce(Sum(paid, filter=condition), ZERO, output_field=DecimalField())

    sums: dict[str, Any] = {f"period_{n}": total(Q(status=CLAIMED) & when) for n, (_cost, when) in enumerate(periods)}
    rewards = RewardClaim.objects.filter(milestone__campaign=campaign).aggregate(
        claimed=Count("pk", filter=Q(status=CLAIMED)),
        waiting=Count("pk", filter=Q(status=AVAILABLE)),
        paid=total(Q(status=CLAIMED)),
        to_pay=total(Q(status=AVAILABLE)),
        **sums,
    )
    costed = [(cost, rewards[f"period_{n}"]) for n, (cost, _when) in enumerate(periods)]
    has_all = sum((points for _cost, points in costed), ZERO) == rewards["paid"]
    return CampaignResults(
        participants=members["participants"],
        reached=members["reached"],
        rounds=members["earlier"] + members["at_goal"],
        claimed=rewards["claimed"],
        waiting=rewards["waiting"],
        points=rewards["paid"],
        points_waiting=rewards["to_pay"],
        cost=sum((cost * points for cost, points in costed), ZERO).quantize(CENT) if has_all else None,
    )


def _periods(campaign: Campaign) -> Iterator[tuple[Decimal, Q]]:
    """What a point costs, and of which rewards."""
    zone = campaign.brand.zone
    before: datetime | None = None
    for row in PointCost.objects.filter(brand=campaign.brand_id).order_by("-valid_from"):
        first = datetime.combine(row.valid_from, time.min, zone)
        yield row.cost, Q(created_at__gte=first) & (Q(created_at__lt=before) if before else Q())
        before = first
