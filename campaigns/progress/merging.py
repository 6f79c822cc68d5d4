"""Progress when two accounts of one person are merged: it is added up, and no milestone counts twice."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from core.numbers import grouped
from loyalty.merges.parts import MergePart, Sides

ZERO = Decimal(0)
State = dict[str, Any]


def preview(sides: Sides) -> list[str]:
    result = []
    for source in rows_of(sides, sides.source):
        own = rows_of(sides, sides.target).filter(campaign=source.campaign_id).first()
        progress = Decimal(combined(state_of(own) if own else None, state_of(source), source.campaign)["progress"])
        places = {
            "campaign": source.campaign.campaign_name,
            "progress": grouped(progress.normalize()),
            "target": grouped(source.campaign.target_value),
        }
        result.append(_("Campaign “%(campaign)s”: %(progress)s of %(target)s") % places)
    if waiting := claims_to_move(sides).count():
        result.append(_("Rewards of milestones that wait to be claimed: %(count)s") % {"count": grouped(waiting)})
    return result


def merge(sides: Sides, at: datetime) -> list[dict[str, Any]]:
    """Merge the progress into the target's rows: the higher round wins. Within the same round, progress is added up to
    the goal and achieved milestones are combined. Rewards that wait to be claimed move to the target.

    The source's rows stay unchanged, for an undo and for the consistency checks.
    """
    result: list[dict[str, Any]] = []
    for source in rows_of(sides, sides.source):
        own = rows_of(sides, sides.target).filter(campaign=source.campaign_id).first()
        before = state_of(own) if own else None
        after = combined(before, state_of(source), source.campaign)
        write(sides, source.campaign_id, after, at)
        result.append({"campaign_id": source.campaign_id, "before": before, "after": after})
    claims = list(claims_to_move(sides).values_list("pk", flat=True))
    RewardClaim.objects.filter(pk__in=claims).update(user=sides.target)
    if claims:
        result.append({"claims": claims})
    return result


def undo_error(sides: Sides, moved: list[dict[str, Any]]) -> str | None:
    for each in moved:
        if "claims" in each:
            if RewardClaim.objects.filter(pk__in=each["claims"]).exclude(status=RewardClaim.Status.AVAILABLE).exists():
                return _("A milestone's reward of the ended account has been claimed since the merge.")
            continue
        row = rows_of(sides, sides.target).filter(campaign=each["campaign_id"]).first()
        after = each["after"]
        if row is None or row.round != after["round"] or set(row.milestones_achieved) != set(after["achieved"]):
            return _("A campaign milestone has been reached since the merge.")
    return None


def undo(sides: Sides, moved: list[dict[str, Any]], at: datetime) -> None:
    """Restore what each had; what was counted since the merge stays with the target."""
    for each in moved:
        if "claims" in each:
            RewardClaim.objects.filter(pk__in=each["claims"]).update(user=sides.source)
            continue
        row = rows_of(sides, sides.target).get(campaign=each["campaign_id"])
        after, before = each["after"], each["before"]
        gained = row.progress - Decimal(after["progress"])
        products = [product for product in row.products if product not in after["products"]]
        if before is None and not gained and not products:
            row.delete()
            continue
        before = before or {"progress": "0", "round": after["round"], "achieved": [], "products": []}
        state = {
            "progress": str(max(ZERO, Decimal(before["progress"]) + gained)),
            "round": before["round"],
            "achieved": before["achieved"],
            "products": before["products"] + products,
        }
        write(sides, row.campaign_id, state, at)


def rows_of(sides: Sides, user_id: int) -> QuerySet[UserLoyaltyCampaign]:
    rows = UserLoyaltyCampaign.objects.filter(user=user_id, campaign__brand=sides.brand_id)
    return rows.select_related("campaign").order_by("campaign")


def claims_to_move(sides: Sides) -> QuerySet[RewardClaim]:
    """The source's available rewards that the target does not have as well."""
    own = RewardClaim.objects.filter(user=sides.target, milestone=OuterRef("milestone"), round=OuterRef("round"))
    waiting = RewardClaim.objects.filter(
        user=sides.source, milestone__campaign__brand=sides.brand_id, status=RewardClaim.Status.AVAILABLE
    )
    return waiting.exclude(Exists(own))


def state_of(row: UserLoyaltyCampaign) -> State:
    return {
        "progress": str(row.progress),
        "round": row.round,
        "achieved": row.milestones_achieved,
        "products": row.products,
    }


def combined(own: State | None, other: State, campaign: Campaign) -> State:
    if own is None or own["round"] != other["round"]:
        return max((each for each in (own, other) if each), key=lambda each: each["round"])
    products = list(dict.fromkeys(own["products"] + other["products"]))
    first, second = Decimal(own["progress"]), Decimal(other["progress"])
    counted = Decimal(len(products)) if campaign.step_by == Campaign.StepBy.PRODUCTS else first + second
    return {
        # Progress beyond a goal that was lowered later is kept.
        "progress": str(max(first, second, min(counted, Decimal(campaign.target_value)))),
        "round": own["round"],
        "achieved": list(dict.fromkeys(own["achieved"] + other["achieved"])),
        "products": products,
    }


def write(sides: Sides, campaign_id: int, state: State, at: datetime) -> None:
    values = {
        "progress": Decimal(state["progress"]),
        "round": state["round"],
        "milestones_achieved": state["achieved"],
        "products": state["products"],
        "updated_at": at,
    }
    UserLoyaltyCampaign.objects.update_or_create(
        user_id=sides.target, campaign_id=campaign_id, defaults=values, create_defaults={**values, "created_at": at}
    )


PROGRESS = MergePart(preview, merge, undo_error, undo)
