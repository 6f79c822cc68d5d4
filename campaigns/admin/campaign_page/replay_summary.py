"""A campaign's newest replay: its job while it runs, else what the last finished one found."""

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
    """How far the newest replay is, and what the last finished one found."""
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
    """What the campaign would have brought on past days, by its last replay."""

    address: str
    period: str
    participants: int
    members: str  # their number in words
    finishers: str
    points: str
    rewards: str
    worth: str  # of these, in money, as far as it is known to whoever looks
    lacks_worth: bool  # though what a point costs is known
    differences: str  # from what was paid, by the rules as they stood; empty if there are none


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
