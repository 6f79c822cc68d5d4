"""A campaign's newest replay: its job while it runs, and the result of the last finished one."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import ngettext

from campaigns.admin.replays.figures import ReplayFigures, differences_text
from campaigns.models.campaigns import Campaign
from campaigns.models.replays import Replay
from core.numbers import grouped
from portal.base.job_panel import job_context
from portal.lists.number_columns import format_points


def replay_context(campaign: Campaign, *, user: Any, may_replay: bool) -> dict[str, Any]:
    """The progress of the newest replay, and the result of the last finished one."""
    rows = Replay.objects.select_related("brand", "job").filter(campaign=campaign).order_by("-pk")
    newest, finished = rows.first(), rows.filter(result__isnull=False).first()
    context: dict[str, Any] = {
        "replay_address": reverse("admin:campaigns_campaign_replay_month", args=[campaign.pk]) if may_replay else ""
    }
    if newest is not None and newest.job is not None and newest.job.is_unfinished:
        context["job"] = job_context(newest.job)
    if finished is not None:
        context["replay_summary"] = summary_of(finished, user)
    return context


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What the campaign would have given on past days, by its last finished replay."""

    address: str
    period: str
    participants: int
    members: str  # the number of participants as text
    finishers: str
    points: str
    rewards: str
    worth: str  # the rewards' cost in money, as far as known and visible to the user
    lacks_worth: bool  # the worth is unknown although the cost per point is known
    differences: str  # between the ledger and the control; empty if there are none


def summary_of(replay: Replay, user: Any) -> ReplaySummary:
    figures = ReplayFigures(replay, user)
    campaign: Any = figures.campaign or {"participants": 0, "finishers": 0, "milestones": ()}
    points = sum((Decimal(each["points"]) for each in campaign["milestones"]), Decimal(0))
    things = sum(each["things"] for each in campaign["milestones"])
    cost, differences = figures.cost_of(points), figures.result["differences"]
    worth = figures.money_of(sum(figures.worth.values(), Decimal(0)))
    return ReplaySummary(
        address=reverse("admin:campaigns_replay_change", args=[replay.pk]),
        period=figures.period,
        participants=campaign["participants"],
        members=grouped(campaign["participants"]),
        finishers=grouped(campaign["finishers"]),
        points=f"{format_points(points)} ({cost})" if cost else format_points(points),
        rewards=ngettext("%(number)s reward", "%(number)s rewards", things) % {"number": grouped(things)},
        worth=worth,
        lacks_worth=bool(things and figures.point_cost is not None and not worth),
        differences=differences_text(differences) if differences else "",
    )
