"""The worth of a replayed campaign's rewards, computed from their prices in points."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from campaigns.models.campaigns import Milestone
from campaigns.models.replays import Replay
from loyalty.programme.point_costs import PointCosts


def cost_of_point(replay: Replay) -> Decimal | None:
    """The cost of a point in the brand's currency on the replay's last day; None if the brand has set none."""
    return PointCosts(replay.brand_id).on(replay.until.astimezone(replay.brand.zone).date())


def worth_of_rewards(replay: Replay, milestones: Iterable[Mapping[str, Any]], cost: Decimal) -> dict[int, Decimal]:
    """The worth of rewards by milestone ID, in the brand's currency. `cost`: the cost of a point.

    Milestones that gave no things are left out, and so are those whose reward has no price in points.
    """
    things = {each["id"]: each["things"] for each in milestones if each["things"]}
    rows = Milestone.objects.filter(pk__in=things, campaign__brand=replay.brand_id, reward__cost__isnull=False)
    return {pk: things[pk] * points * cost for pk, points in rows.values_list("pk", "reward__cost")}
