"""A customer's progress: the only code that writes UserLoyaltyCampaign and RewardClaim."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from campaigns.models.campaigns import RewardClaim


@dataclass(frozen=True, slots=True)
class MilestoneState:
    """A milestone as one customer finds it; `reward_points` in points."""

    milestone_id: int
    threshold: int
    reward_name: str
    reward_points: Decimal
    auto_claim: bool
    is_rewarded: bool

    @property
    def is_thing(self) -> bool:
        """Whether it gives something that a till hands out, and no points."""
        return not self.reward_points


@dataclass(frozen=True, slots=True)
class ActiveCampaign:
    """A running campaign, its milestones with the lowest threshold first, and where a customer stands in it."""

    campaign_id: int
    campaign_name: str
    target: int
    milestones: tuple[MilestoneState, ...]
    progress: int
    achieved: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """Where one action takes a customer in one campaign: milestones it reaches, and of those the rewards it brings."""

    campaign: ActiveCampaign
    progress: int
    reached: tuple[MilestoneState, ...]

    @property
    def changes_something(self) -> bool:
        """False at the goal, where an action counts no more."""
        return self.progress > self.campaign.progress or bool(self.reached)

    @property
    def newly_reached(self) -> tuple[MilestoneState, ...]:
        return tuple(stop for stop in self.reached if not stop.is_rewarded)

    @property
    def next_reward(self) -> str:
        return next((stop.reward_name for stop in self.campaign.milestones if stop.threshold > self.progress), "")


def parse_running(rows: list[dict[str, Any]] | None) -> list[ActiveCampaign]:
    """The `campaigns` of an accrual's snapshot."""
    return [
        ActiveCampaign(
            campaign_id=entry["campaign_id"],
            campaign_name=entry["campaign_name"],
            target=entry["target"],
            milestones=tuple(
                MilestoneState(number, threshold, name, Decimal(points), auto, has_reward)
                for number, threshold, name, points, auto, has_reward in entry["milestones"] or ()
            ),
            progress=entry["progress"],
            achieved=tuple(entry["achieved"] or ()),
        )
        for entry in rows or ()
    ]


def advance(campaigns: Sequence[ActiveCampaign]) -> tuple[ProgressStep, ...]:
    """One step in each, up to its goal.

    Milestones at or below it that were not achieved are reached; one added late counts too.
    """
    return tuple(_advance(campaign, min(campaign.progress + 1, campaign.target)) for campaign in campaigns)


def _advance(campaign: ActiveCampaign, progress: int) -> ProgressStep:
    reached = [
        stop
        for stop in campaign.milestones
        if stop.threshold <= progress and stop.milestone_id not in campaign.achieved
    ]
    return ProgressStep(campaign, progress, tuple(reached))


def steps(taken: Sequence[tuple[int, Sequence[ProgressStep]]]) -> dict[str, str]:
    """Parameters of write_accruals.sql: for each item its user_id and progress."""
    steps = [
        {
            "item": item,
            "user_id": user_id,
            "campaign_id": each.campaign.campaign_id,
            "progress": each.progress,
            "achieved": [stop.milestone_id for stop in each.reached],
        }
        for item, (user_id, progress) in enumerate(taken)
        for each in progress
        if each.changes_something
    ]
    rewards = [
        {"item": item, "user_id": user_id, "milestone_id": stop.milestone_id, "claimed": stop.auto_claim}
        for item, (user_id, progress) in enumerate(taken)
        for each in progress
        for stop in each.newly_reached
    ]
    return {"steps": json.dumps(steps), "rewards": json.dumps(rewards)}


def claim(*, milestone_id: int, user_id: int, at: datetime) -> bool:
    """Take a milestone's reward that waits for it. False: it does not wait, or no more. Joins a transaction."""
    waiting = RewardClaim.objects.filter(milestone=milestone_id, user=user_id, status=RewardClaim.Status.AVAILABLE)
    return bool(waiting.update(status=RewardClaim.Status.CLAIMED, claimed_at=at))
