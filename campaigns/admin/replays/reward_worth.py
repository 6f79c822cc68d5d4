"""What a tried campaign's milestones cost: their points, and their rewards by what members pay for them in points."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from campaigns.models.campaigns import Milestone
from campaigns.models.replays import Replay
from loyalty.programme.point_costs import PointCosts


def cost_of_point(replay: Replay) -> Decimal | None:
    """In the brand's currency, on the replay's last day; None while the brand has set none."""
    return PointCosts(replay.brand_id).on(replay.until.astimezone(replay.brand.zone).date())


def worth_of_rewards(replay: Replay, milestones: Iterable[Mapping[str, Any]]) -> dict[int, Decimal]:
    """By id of the milestone, in the brand's currency, at the cost of a point on the replay's last day.

    Milestones that gave no things are left out, and those whose reward has no price in points, or while the brand has
    set no cost per point.
    """
    things = {each["id"]: each["things"] for each in milestones if each["things"]}
    cost = cost_of_point(replay) if things else None
    if cost is None:
        return {}
    rows = Milestone.objects.filter(pk__in=things, campaign__brand=replay.brand_id, reward__cost__isnull=False)
    return {pk: things[pk] * points * cost for pk, points in rows.values_list("pk", "reward__cost")}
