"""A campaign's results so far: participants, milestones reached, what they gave, and figures of each day."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from django.db.models import Count, DecimalField, F, Q, Sum
from django.db.models.functions import Coalesce, TruncDate

from campaigns.models.campaigns import Campaign, Milestone, RewardClaim, UserLoyaltyCampaign
from loyalty.models.rewards import Redemption
from loyalty.programme.point_costs import PointCosts

ZERO, CENT = Decimal(0), Decimal("0.01")
CLAIMED = RewardClaim.Status.CLAIMED.value


@dataclass(slots=True)
class DayResults:
    """A day of the brand: members who began, milestones reached (`won`), and points that these paid."""

    begun: int = 0
    won: int = 0
    points: Decimal = ZERO


@dataclass(slots=True)
class MilestoneResults:
    """One milestone: rewards claimed and waiting, the points paid, and for things the codes issued and used."""

    claimed: int = 0
    waiting: int = 0
    points: Decimal = ZERO
    issued: int = 0
    used: int = 0

    @property
    def reached(self) -> int:
        return self.claimed + self.waiting


@dataclass(frozen=True, slots=True)
class CampaignResults:
    """`reached`: members who reached the goal at least once; `rounds`: how often all members did.

    `points` were given; `points_waiting` wait to be claimed. `cost` is the cost of the points given, in the brand's
    currency at each day's cost of a point; None if the brand had not set a cost on all of these days. `milestones` are
    by ID; `days` has only days with activity.
    """

    participants: int
    reached: int
    rounds: int
    claimed: int
    waiting: int
    points: Decimal
    points_waiting: Decimal
    cost: Decimal | None
    milestones: Mapping[int, MilestoneResults] = field(default_factory=dict)
    days: Mapping[date, DayResults] = field(default_factory=dict)

    @property
    def in_progress(self) -> int:
        """Participants who have not reached the goal yet."""
        return self.participants - self.reached

    @property
    def used(self) -> int:
        """Things that a till handed out."""
        return sum(each.used for each in self.milestones.values())


def participants_of(campaign: Campaign) -> tuple[int, int]:
    """The number of participants, and of those who have not reached the goal yet. One query."""
    finished = Q(progress__gte=campaign.target_value) | Q(round__gt=1)
    counted = UserLoyaltyCampaign.objects.filter(campaign=campaign).aggregate(
        every=Count("pk"), finished=Count("pk", filter=finished)
    )
    return counted["every"], counted["every"] - counted["finished"]


def results_of(campaign: Campaign) -> CampaignResults:
    """Runs five queries, two of which read one row for each member and reward of the campaign."""
    zone = campaign.brand.zone
    at_goal = Q(progress__gte=campaign.target_value)
    days: defaultdict[date, DayResults] = defaultdict(DayResults)
    participants = reached = rounds = 0
    members = UserLoyaltyCampaign.objects.filter(campaign=campaign).order_by()
    for row in members.values(day=TruncDate("created_at", tzinfo=zone)).annotate(
        participants=Count("pk"),
        reached=Count("pk", filter=at_goal | Q(round__gt=1)),
        earlier=Coalesce(Sum(F("round") - 1), 0),
        at_goal=Count("pk", filter=at_goal),
    ):
        days[row["day"]].begun += row["participants"]
        participants += row["participants"]
        reached += row["reached"]
        rounds += row["earlier"] + row["at_goal"]
    milestone_ids = Milestone.objects.filter(campaign=campaign).order_by("threshold").values_list("pk", flat=True)
    milestones = {pk: MilestoneResults() for pk in milestone_ids}
    paid = Coalesce(F("points"), F("milestone__reward_points"), output_field=DecimalField())
    rewards = RewardClaim.objects.filter(milestone__in=list(milestones)).order_by()
    claimed_on: list[tuple[date, Decimal]] = []
    waiting_points = ZERO
    for claim in rewards.values("milestone_id", "status", day=TruncDate("created_at", tzinfo=zone)).annotate(
        many=Count("pk"), paid=Sum(paid)
    ):
        own, day = milestones[claim["milestone_id"]], days[claim["day"]]
        day.won += claim["many"]
        if claim["status"] == CLAIMED:
            own.claimed += claim["many"]
            own.points += claim["paid"]
            day.points += claim["paid"]
            claimed_on.append((claim["day"], claim["paid"]))
        else:
            own.waiting += claim["many"]
            waiting_points += claim["paid"]
    _count_things(milestones)
    return CampaignResults(
        participants=participants,
        reached=reached,
        rounds=rounds,
        claimed=sum(each.claimed for each in milestones.values()),
        waiting=sum(each.waiting for each in milestones.values()),
        points=sum((points for _day, points in claimed_on), ZERO),
        points_waiting=waiting_points,
        cost=_cost(claimed_on, campaign.brand_id),
        milestones=milestones,
        days=dict(sorted(days.items())),
    )


def _count_things(milestones: Mapping[int, MilestoneResults]) -> None:
    """Count the codes issued for each milestone, and those that a till took."""
    rows = Redemption.objects.filter(milestone_id__in=list(milestones)).order_by()
    for milestone_id, status, many in rows.values_list("milestone_id", "status").annotate(Count("pk")):
        own = milestones[milestone_id]
        own.issued += many
        own.used += many if status == Redemption.Status.USED else 0


def _cost(claimed_on: Iterable[tuple[date, Decimal]], brand_id: int) -> Decimal | None:
    """Each day's points at that day's cost of a point; None if points were given before the first cost was set."""
    costs = PointCosts(brand_id)
    total = ZERO
    for day, points in claimed_on:
        cost = costs.on(day)
        if cost is None and points:
            return None
        total += (cost or ZERO) * points
    return total.quantize(CENT)
