"""A customer's progress: the only code that writes UserLoyaltyCampaign and RewardClaim."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from campaigns.models.campaigns import RewardClaim

# The campaigns of a brand and type that run at a moment, lowest id first, and where a customer stands in them, as one
# JSON value: a scalar subquery for statements that read everything some actions need at once, each a row `a` with
# brand_id, user_id, campaign_type and happened_at.
RUNNING = """
    (SELECT json_agg(json_build_object(
                'campaign_id', c.campaign_id, 'campaign_name', c.campaign_name, 'target', c.target_value,
                'progress', COALESCE(h.progress, 0), 'achieved', h.milestones_achieved,
                'milestones', (
                    SELECT json_agg(json_build_array(
                               s.milestone_id, s.threshold, s.reward_name, s.reward_points::text, s.auto_claim,
                               EXISTS (SELECT 1 FROM campaigns_rewardclaim r
                                        WHERE r.milestone_id = s.milestone_id AND r.user_id = a.user_id))
                           ORDER BY s.threshold)
                      FROM campaigns_milestone s WHERE s.campaign_id = c.campaign_id))
            ORDER BY c.campaign_id)
       FROM campaigns_campaign c
       LEFT JOIN user_loyalty_campaign h ON h.campaign_id = c.campaign_id AND h.user_id = a.user_id
      WHERE c.brand_id = a.brand_id AND c.type = a.campaign_type AND c.is_active
        AND (c.starts_at IS NULL OR c.starts_at <= a.happened_at)
        AND (c.ends_at IS NULL OR c.ends_at > a.happened_at))
"""

# One step in each campaign, for a statement with a CTE `held` of the items whose accounts it holds: not held, no step.
# `step.progress` was decided from the row that is there now, because every change of progress changes the account too.
# What was counted beyond the goal, before progress stopped there, is kept.
ADVANCE = """
    INSERT INTO user_loyalty_campaign AS mine
           (user_id, campaign_id, progress, milestones_achieved, "createdAt", "updatedAt")
    SELECT step.user_id, step.campaign_id, step.progress, step.achieved, %(at)s::timestamptz, %(at)s::timestamptz
      FROM held
      JOIN jsonb_to_recordset(%(steps)s::jsonb)
           AS step (item int, user_id bigint, campaign_id bigint, progress int, achieved bigint[])
     USING (item)
    ON CONFLICT (user_id, campaign_id)
    DO UPDATE SET progress = greatest(mine.progress, excluded.progress), "updatedAt" = excluded."updatedAt",
                  milestones_achieved = mine.milestones_achieved || excluded.milestones_achieved
"""

# The rewards on the way, each once ever.
GIVE = """
    INSERT INTO campaigns_rewardclaim (milestone_id, user_id, status, created_at, claimed_at)
    SELECT reward.milestone_id, reward.user_id,
           CASE WHEN reward.claimed THEN 'claimed' ELSE 'available' END,
           %(at)s::timestamptz, CASE WHEN reward.claimed THEN %(at)s::timestamptz END
      FROM held
      JOIN jsonb_to_recordset(%(rewards)s::jsonb)
           AS reward (item int, user_id bigint, milestone_id bigint, claimed boolean)
     USING (item)
    ON CONFLICT (milestone_id, user_id) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class MilestoneState:
    """A milestone as one customer finds it; `reward_points` in points, `given` says that they had the reward."""

    milestone_id: int
    threshold: int
    reward_name: str
    reward_points: Decimal
    auto_claim: bool
    given: bool

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
    def given(self) -> tuple[MilestoneState, ...]:
        return tuple(stop for stop in self.reached if not stop.given)

    @property
    def next_reward(self) -> str:
        return next((stop.reward_name for stop in self.campaign.milestones if stop.threshold > self.progress), "")


def parse_running(found: list[dict[str, Any]] | None) -> list[ActiveCampaign]:
    """The value of RUNNING."""
    return [
        ActiveCampaign(
            campaign_id=entry["campaign_id"],
            campaign_name=entry["campaign_name"],
            target=entry["target"],
            milestones=tuple(
                MilestoneState(number, threshold, name, Decimal(points), auto, given)
                for number, threshold, name, points, auto, given in entry["milestones"] or ()
            ),
            progress=entry["progress"],
            achieved=tuple(entry["achieved"] or ()),
        )
        for entry in found or ()
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
    """Parameters of ADVANCE and GIVE: for each item its user_id and progress."""
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
        for stop in each.given
    ]
    return {"steps": json.dumps(steps), "rewards": json.dumps(rewards)}


def claim(*, milestone_id: int, user_id: int, at: datetime) -> bool:
    """Take a milestone's reward that waits for it. False: it does not wait, or no more. Joins a transaction."""
    waiting = RewardClaim.objects.filter(milestone=milestone_id, user=user_id, status=RewardClaim.Status.AVAILABLE)
    return bool(waiting.update(status=RewardClaim.Status.CLAIMED, claimed_at=at))
