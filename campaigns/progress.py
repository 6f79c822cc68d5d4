"""A customer's progress: the only code that writes UserLoyaltyCampaign and RewardClaim."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from brands import sql

# The campaigns of a brand and type that run at a moment, lowest id first, as one JSON value: a scalar subquery
# for statements that read everything an action needs at once. Takes brand_id, campaign_type, at.
RUNNING = """
    (SELECT json_agg(json_build_object(
                'campaign_id', c.campaign_id, 'campaign_name', c.campaign_name, 'target', c.target_value,
                'milestones', (
                    SELECT json_agg(json_build_array(
                               s.milestone_id, s.threshold, s.reward_name, s.reward_points::text, s.auto_claim)
                           ORDER BY s.threshold)
                      FROM campaigns_milestone s WHERE s.campaign_id = c.campaign_id))
            ORDER BY c.campaign_id)
       FROM campaigns_campaign c
      WHERE c.brand_id = %(brand_id)s::bigint AND c.type = %(campaign_type)s::text AND c.is_active
        AND (c.starts_at IS NULL OR c.starts_at <= %(at)s::timestamptz)
        AND (c.ends_at IS NULL OR c.ends_at > %(at)s::timestamptz))
"""

# One row per campaign, in id order, so that two actions of one customer never lock each other crosswise.
ADVANCE = """
    INSERT INTO user_loyalty_campaign AS held
           (user_id, campaign_id, progress, milestones_achieved, "createdAt", "updatedAt")
    SELECT %(user_id)s::bigint, id, 1, '{}', %(at)s::timestamptz, %(at)s::timestamptz
      FROM unnest(%(campaign_ids)s::bigint[]) AS id
    ON CONFLICT (user_id, campaign_id)
    DO UPDATE SET progress = held.progress + 1, "updatedAt" = excluded."updatedAt"
    RETURNING campaign_id, progress, milestones_achieved
"""

ACHIEVE = """
    WITH noted AS (
        UPDATE user_loyalty_campaign SET milestones_achieved = milestones_achieved || %(milestone_ids)s::bigint[]
         WHERE user_id = %(user_id)s::bigint AND campaign_id = %(campaign_id)s::bigint
    )
    INSERT INTO campaigns_rewardclaim (milestone_id, user_id, status, created_at, claimed_at)
    SELECT m.milestone_id, %(user_id)s::bigint,
           CASE WHEN m.auto_claim THEN 'claimed' ELSE 'available' END,
           %(at)s::timestamptz, CASE WHEN m.auto_claim THEN %(at)s::timestamptz END
      FROM campaigns_milestone m WHERE m.milestone_id = ANY(%(milestone_ids)s::bigint[])
    ON CONFLICT (milestone_id, user_id) DO NOTHING
    RETURNING milestone_id
"""


@dataclass(frozen=True, slots=True)
class Stop:
    """A milestone; `reward_points` in points."""

    milestone_id: int
    threshold: int
    reward_name: str
    reward_points: Decimal
    auto_claim: bool


@dataclass(frozen=True, slots=True)
class Running:
    """A running campaign with its milestones, lowest threshold first."""

    campaign_id: int
    campaign_name: str
    target: int
    milestones: tuple[Stop, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where one action took a customer in one campaign; `given` are the rewards it brought, each once ever."""

    campaign: Running
    progress: int
    given: tuple[Stop, ...]

    @property
    def next_reward(self) -> str:
        return next((stop.reward_name for stop in self.campaign.milestones if stop.threshold > self.progress), "")


def parse_running(found: list[dict[str, Any]] | None) -> list[Running]:
    """The value of RUNNING."""
    return [
        Running(
            campaign_id=entry["campaign_id"],
            campaign_name=entry["campaign_name"],
            target=entry["target"],
            milestones=tuple(
                Stop(number, threshold, name, Decimal(points), auto)
                for number, threshold, name, points, auto in entry["milestones"] or ()
            ),
        )
        for entry in found or ()
    ]


def advance(*, user_id: int, campaigns: Sequence[Running], at: datetime) -> list[Progress]:
    """Add one to the customer's progress in each campaign; milestones reached give their reward, once.

    Call inside the transaction of the action that qualifies. The progress row is locked until it ends.
    """
    if not campaigns:
        return []
    by_id = {campaign.campaign_id: campaign for campaign in campaigns}
    advanced = sql.rows(ADVANCE, {"user_id": user_id, "campaign_ids": sorted(by_id), "at": at})
    return [
        Progress(
            campaign=by_id[campaign_id],
            progress=progress,
            given=_achieve(user_id=user_id, campaign=by_id[campaign_id], progress=progress, before=achieved, at=at),
        )
        for campaign_id, progress, achieved in sorted(advanced)
    ]


def _achieve(
    *, user_id: int, campaign: Running, progress: int, before: Sequence[int], at: datetime
) -> tuple[Stop, ...]:
    """Milestones at or below `progress` that were not achieved `before`; one added late counts too."""
    new = [stop for stop in campaign.milestones if stop.threshold <= progress and stop.milestone_id not in before]
    if not new:
        return ()
    ids = [stop.milestone_id for stop in new]
    parameters = {"user_id": user_id, "campaign_id": campaign.campaign_id, "milestone_ids": ids, "at": at}
    given = {number for (number,) in sql.rows(ACHIEVE, parameters)}
    return tuple(stop for stop in new if stop.milestone_id in given)
