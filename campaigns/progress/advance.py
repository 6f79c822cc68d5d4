"""A customer's progress. Only this package, accruals and erasures write UserLoyaltyCampaign and RewardClaim."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from campaigns.models.campaigns import Campaign, RewardClaim

ZERO, ONE = Decimal(0), Decimal(1)
# One action finishes at most this many rounds; anything it counts beyond them is lost.
MAX_ROUNDS = 10
COUNT, PRODUCTS = Campaign.StepBy.COUNT.value, Campaign.StepBy.PRODUCTS.value


@dataclass(frozen=True, slots=True)
class Counted:
    """What one action counts in a campaign: a number of steps, an amount of money, or these products."""

    amount: Decimal = ZERO
    products: tuple[int, ...] = ()


ONE_ACTION = Counted(ONE)


@dataclass(frozen=True, slots=True)
class MilestoneState:
    """A milestone for one customer in a round.

    `is_withheld`: the campaign's budget is too low to pay it.
    """

    milestone_id: int
    threshold: int
    reward_name: str
    reward_points: Decimal
    auto_claim: bool
    is_rewarded: bool
    round: int = 1
    is_withheld: bool = False

    @property
    def is_thing(self) -> bool:
        """Whether it gives something that a till hands out, and no points."""
        return not self.reward_points


@dataclass(frozen=True, slots=True)
class RunningCampaign:
    """A running campaign with a customer's progress, and its milestones, lowest threshold first.

    `spent`: what its milestones have paid from its budget, if it has one. `products`: those counted in this round.
    """

    campaign_id: int
    campaign_name: str
    target: int
    milestones: tuple[MilestoneState, ...]
    progress: Decimal
    achieved: tuple[int, ...]
    step_by: str = COUNT
    is_repeatable: bool = False
    round: int = 1
    products: tuple[int, ...] = ()
    conditions: str = ""
    budget: Decimal | None = None
    spent: Decimal = ZERO

    @property
    def is_plain(self) -> bool:
        """Whether each action is one step towards a goal that is reached once."""
        return self.step_by == COUNT and not self.is_repeatable and self.round == 1

    def next_round(self) -> "RunningCampaign":
        """The campaign at the start of the next round: nothing is counted or achieved."""
        milestones = tuple(replace(each, is_rewarded=False, round=self.round + 1) for each in self.milestones)
        return replace(self, milestones=milestones, progress=ZERO, achieved=(), round=self.round + 1, products=())


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """What one action changes for a customer in one campaign: the new progress and the milestones reached.

    `step` and `products` are what it counts in `round`, the last round that it reaches.
    """

    campaign: RunningCampaign
    progress: Decimal
    reached: tuple[MilestoneState, ...]
    round: int = 1
    step: Decimal = ONE
    products: tuple[int, ...] = ()

    @property
    def changes_something(self) -> bool:
        """False if the goal was already reached and the action counts nothing."""
        return self.progress > self.campaign.progress or bool(self.reached) or self.round > self.campaign.round

    @property
    def newly_reached(self) -> tuple[MilestoneState, ...]:
        return tuple(stop for stop in self.reached if not stop.is_rewarded and not stop.is_withheld)

    @property
    def next_reward(self) -> str:
        return next((stop.reward_name for stop in self.campaign.milestones if stop.threshold > self.progress), "")

    def after(self) -> RunningCampaign:
        """The campaign with the customer's progress after this step is written: see write_accruals.sql."""
        now = self.campaign
        while now.round < self.round:
            now = now.next_round()
        own = [stop for stop in self.reached if stop.round == self.round]
        rewarded = {stop.milestone_id for stop in own if not stop.is_withheld}
        return replace(
            now,
            progress=self.progress,
            achieved=(*now.achieved, *(stop.milestone_id for stop in own)),
            products=(*now.products, *self.products),
            milestones=tuple(
                replace(each, is_rewarded=True) if each.milestone_id in rewarded else each for each in now.milestones
            ),
        )

    @property
    def points(self) -> Decimal:
        """The points that the reached milestones pay, within the campaign's budget."""
        return sum((stop.reward_points for stop in self.newly_reached), ZERO)


def parse_running(rows: list[dict[str, Any]] | None) -> list[RunningCampaign]:
    """Parse the `campaigns` of an accrual's snapshot."""
    return [
        RunningCampaign(
            campaign_id=entry["campaign_id"],
            campaign_name=entry["campaign_name"],
            target=entry["target"],
            milestones=tuple(
                MilestoneState(number, threshold, name, Decimal(points), auto, has_reward, entry["round"])
                for number, threshold, name, points, auto, has_reward in entry["milestones"] or ()
            ),
            progress=Decimal(entry["progress"]),
            achieved=tuple(entry["achieved"] or ()),
            step_by=entry["step_by"],
            is_repeatable=entry["is_repeatable"],
            round=entry["round"],
            products=tuple(entry["products"] or ()),
            conditions=entry["conditions"] or "",
            budget=None if entry["budget"] is None else Decimal(entry["budget"]),
            spent=Decimal(entry["spent"] or 0),
        )
        for entry in rows or ()
    ]


def advance(
    campaigns: Sequence[RunningCampaign], counted: Mapping[int, Counted] | None = None
) -> tuple[ProgressStep, ...]:
    """Advance each campaign, up to its goal, by what the action counts in it; by default one step.

    All milestones at or below the progress that were not achieved yet are reached, including those added later.
    """
    by_campaign = counted or {}
    return tuple(_advance(each, by_campaign.get(each.campaign_id, ONE_ACTION)) for each in campaigns)


def _advance(campaign: RunningCampaign, counted: Counted) -> ProgressStep:
    now, reached = campaign, list[MilestoneState]()
    amount, products = counted.amount, tuple(dict.fromkeys(counted.products))
    rounds = 0
    while True:
        if now.is_repeatable and now.progress >= now.target and (amount or products) and rounds < MAX_ROUNDS:
            now = now.next_round()
        if now.step_by == PRODUCTS:
            new = [each for each in products if each not in now.products]
            room = max(0, now.target - len(now.products))
            taken, products = tuple(new[:room]), tuple(new[room:])
            step = Decimal(len(taken))
        else:
            taken, step = (), min(amount, max(ZERO, now.target - now.progress))
            amount -= step
        progress = min(now.progress + step, Decimal(now.target))
        reached += [
            stop for stop in now.milestones if stop.threshold <= progress and stop.milestone_id not in now.achieved
        ]
        rounds += 1
        if not now.is_repeatable or progress < now.target or not (amount or products) or rounds >= MAX_ROUNDS:
            break
        now = replace(now, progress=progress)
    return ProgressStep(campaign, progress, _within_budget(campaign, reached), now.round, step, taken)


def _within_budget(campaign: RunningCampaign, reached: Sequence[MilestoneState]) -> tuple[MilestoneState, ...]:
    """Mark milestones whose points exceed the remaining budget as withheld: they are reached, but pay nothing."""
    if campaign.budget is None:
        return tuple(reached)
    left = campaign.budget - campaign.spent
    result = []
    for stop in reached:
        pays = not stop.is_rewarded and stop.reward_points
        if pays and stop.reward_points > left:
            result.append(replace(stop, is_withheld=True))
            continue
        left -= stop.reward_points if pays else ZERO
        result.append(stop)
    return tuple(result)


def steps(taken: Sequence[tuple[int, Sequence[ProgressStep]]]) -> dict[str, str]:
    """Parameters of write_accruals.sql: for each item its user_id and progress."""
    steps = [
        {
            "item": item,
            "user_id": user_id,
            "campaign_id": each.campaign.campaign_id,
            "progress": str(each.progress),
            "round": each.round,
            "achieved": [stop.milestone_id for stop in each.reached if stop.round == each.round],
            "products": each.products,
        }
        for item, (user_id, progress) in enumerate(taken)
        for each in progress
        if each.changes_something
    ]
    rewards = [
        {
            "item": item,
            "user_id": user_id,
            "milestone_id": stop.milestone_id,
            "round": stop.round,
            "points": str(stop.reward_points),
            "claimed": stop.auto_claim,
        }
        for item, (user_id, progress) in enumerate(taken)
        for each in progress
        for stop in each.newly_reached
    ]
    return {"steps": json.dumps(steps), "rewards": json.dumps(rewards)}


def budget_use(progress: Sequence[ProgressStep]) -> list[dict[str, Any]]:
    """What an action uses of campaigns' budgets, with the limit of each."""
    return [
        {"campaign_id": each.campaign.campaign_id, "points": str(each.points), "most": str(each.campaign.budget)}
        for each in progress
        if each.campaign.budget is not None and each.points
    ]


def make_claimable_again(*, milestone_id: int, user_id: int, milestone_round: int) -> None:
    """Make an automatic reward wait to be claimed, because it is out of stock.

    Joins a transaction. Call with the member's account locked.
    """
    rows = RewardClaim.objects.filter(milestone=milestone_id, user=user_id, round=milestone_round)
    rows.filter(status=RewardClaim.Status.CLAIMED).update(status=RewardClaim.Status.AVAILABLE, claimed_at=None)


def claim(*, milestone_id: int, user_id: int, at: datetime) -> RewardClaim | None:
    """Claim a milestone's oldest available reward. None: none is available.

    Joins a transaction. Call with the member's account locked.
    """
    waiting = RewardClaim.objects.filter(milestone=milestone_id, user=user_id, status=RewardClaim.Status.AVAILABLE)
    row = waiting.order_by("round").first()
    if row and waiting.filter(pk=row.pk).update(status=RewardClaim.Status.CLAIMED, claimed_at=at):
        return row
    return None
