"""A campaign on trial: what actions count in it, by the functions that advance campaigns, and what it gives.

It begins with the period, runs throughout, and all members start at zero. Rewards that members claim themselves count
as claimed at once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count

from campaigns.accrual import handlers, scopes
from campaigns.accrual.campaign_steps import CampaignAction
from campaigns.accrual.types import context_of
from campaigns.earning.action_context import ActionContext
from campaigns.models.campaigns import RewardClaim
from campaigns.progress import advance
from campaigns.progress.advance import MilestoneState, ProgressStep, RunningCampaign
from campaigns.replay.actions import Replayable
from campaigns.replay.member_states import Member

ZERO = Decimal(0)


@dataclass(slots=True)
class MilestoneTotals:
    """A milestone's results in the replay: how often it was reached, how often the budget was too low, and what it
    gave; `things` counts the times it was reached if it gives no points."""

    reached: int = 0
    withheld: int = 0
    points: Decimal = ZERO
    things: int = 0


@dataclass(slots=True)
class CampaignTotals:
    """`participants` counted anything, `finishers` reached the goal at least once, `rounds` were finished in all."""

    participants: int = 0
    finishers: int = 0
    rounds: int = 0


class CampaignTrial:
    """The drafted campaign and what it has given so far. Its budget is shared by all members."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.campaign_id: int = content["campaign_id"]
        self.replaces = frozenset(content["replaces"])
        self.has_budget = content["budget"] is not None
        self._kind = scopes.KINDS[content["type"]]
        self._type: str = content["type"]
        self._spent = ZERO
        self._beginning = RunningCampaign(
            campaign_id=self.campaign_id,
            campaign_name="",
            target=content["target"],
            milestones=tuple(
                MilestoneState(number, threshold, name, Decimal(points), auto_claim, is_rewarded=False)
                for number, threshold, name, points, auto_claim in content["milestones"]
            ),
            progress=ZERO,
            achieved=(),
            step_by=content["step_by"],
            is_repeatable=content["is_repeatable"],
            conditions=json.dumps(content["conditions"]) if content["conditions"] else "",
            budget=Decimal(content["budget"]) if self.has_budget else None,
        )
        self.milestones = {each.milestone_id: MilestoneTotals() for each in self._beginning.milestones}
        self.totals = CampaignTotals()

    def counts(self, context: ActionContext) -> bool:
        """Whether the campaign counts this kind of action."""
        return context.kind == self._kind

    def count(self, member: Member, past: Replayable, context: ActionContext) -> list[MilestoneState]:
        """Count a member's action; returns the milestones that it reaches and that give something."""
        running = member.campaign or self._beginning
        if self.has_budget:
            running = replace(running, spent=self._spent)
        contexts = [context_of(reason, context).later(number) for number, reason in enumerate(past.reasons)]
        counted = CampaignAction(self._type, contexts).counted_in(running, past.catalogue)
        if counted is None:
            return []
        [step] = advance.advance([running], {running.campaign_id: counted})
        if not step.changes_something:
            return []
        self._add(member, running, step)
        member.campaign = step.after()
        self._spent += step.points
        return list(step.newly_reached)

    def _add(self, member: Member, before: RunningCampaign, step: ProgressStep) -> None:
        totals, goal = self.totals, before.target
        totals.participants += member.campaign is None
        finished_before = before.round - 1 + (before.progress >= goal)
        finished = step.round - 1 + (step.progress >= goal)
        totals.rounds += finished - finished_before
        totals.finishers += finished > 0 and finished_before == 0
        for stop in step.reached:
            own = self.milestones[stop.milestone_id]
            own.reached += 1
            own.withheld += stop.is_withheld
            own.things += stop.is_thing

    def award_of(self, stop: MilestoneState, at: datetime) -> tuple[str, ActionContext]:
        """The reason and the context with which a milestone's points are accrued."""
        payload = {
            "type": "reward",
            "milestone_id": stop.milestone_id,
            "campaign_id": self.campaign_id,
            "points": str(stop.reward_points),
            "round": stop.round,
        }
        return handlers.milestone_reason_id(payload), handlers.milestone_context(payload, happened_at=at)

    def paid(self, stop: MilestoneState, points: Decimal) -> None:
        self.milestones[stop.milestone_id].points += points

    def as_json(self, *, since: datetime, until: datetime, paid: Mapping[int, Decimal]) -> dict[str, Any]:
        """`paid`: what each milestone really paid in the period."""
        rows = RewardClaim.objects.filter(
            milestone__campaign__in=self.replaces, created_at__gte=since, created_at__lt=until
        )
        actual: dict[int, int] = dict(rows.values_list("milestone").annotate(times=Count("pk")).order_by("milestone"))
        return {
            "participants": self.totals.participants,
            "finishers": self.totals.finishers,
            "rounds": self.totals.rounds,
            "actual_rewards": sum(actual.values()),
            "milestones": [
                {
                    "id": each.milestone_id,
                    "threshold": each.threshold,
                    "name": each.reward_name,
                    "points_each": str(each.reward_points),
                    "reached": own.reached,
                    "withheld": own.withheld,
                    "things": own.things,
                    "points": str(own.points),
                    "actual_rewards": actual.get(each.milestone_id, 0),
                    "actual_points": str(paid.get(each.milestone_id, ZERO)),
                }
                for each in self._beginning.milestones
                if (own := self.milestones[each.milestone_id])
            ],
        }
