"""Campaign templates: what a new campaign may begin with, shown as cards. Some are earning rules instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.tenants.local_time import last_second, midnight
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule

Type, StepBy = Campaign.Type, Campaign.StepBy
Kind, Effect = EarningRule.Kind, EarningRule.Effect
DAY = timedelta(days=1)
AWAY_DAYS = 60  # without activity, before a member is to be won back


@dataclass(frozen=True, slots=True)
class CampaignTemplate:
    """`initial` returns the initial values of the wizard or of a rule's form, at a moment in the brand's zone."""

    name: str
    title: Any
    text: Any
    icon: str
    initial: Callable[[datetime, ZoneInfo], Mapping[str, Any]]
    is_rule: bool = False


def _milestones(*rows: tuple[int, int]) -> dict[str, Any]:
    """The wizard's milestone rows: pairs of progress and points."""
    return {
        name: value
        for number, (at, points) in enumerate(rows, 1)
        for name, value in {f"at_{number}": at, f"gives_{number}": "points", f"points_{number}": points}.items()
    }


def _collect(_at: datetime, _zone: ZoneInfo) -> dict[str, Any]:
    return {
        "name": _("Collect 10"),
        "type": Type.SCAN.value,
        "step_by": StepBy.COUNT.value,
        "target_value": 10,
        **_milestones((5, 20), (10, 50)),
    }


def _spend(_at: datetime, _zone: ZoneInfo) -> dict[str, Any]:
    return {
        "name": _("Spend 100"),
        "type": Type.ORDER.value,
        "step_by": StepBy.AMOUNT.value,
        "target_value": 100,
        **_milestones((50, 20), (100, 100)),
    }


def _double(at: datetime, zone: ZoneInfo) -> dict[str, Any]:
    """Next week, from Monday to Sunday."""
    today = at.astimezone(zone).date()
    monday = today + DAY * (7 - today.weekday())
    return {
        "name": _("Double points week"),
        "kind": Kind.SCAN.value,
        "reward_type": Effect.MULTIPLIER.value,
        "reward_value": 2,
        "starts_at": midnight(monday, zone),
        "ends_at": last_second(monday + DAY * 6, zone),
    }


def _welcome(_at: datetime, _zone: ZoneInfo) -> dict[str, Any]:
    return {
        "name": _("Welcome"),
        "kind": Kind.WELCOME.value,
        "reward_type": Effect.POINTS.value,
        "reward_value": 50,
    }


def _win_back(_at: datetime, _zone: ZoneInfo) -> dict[str, Any]:
    return {
        "name": _("Welcome back"),
        "kind": Kind.SCAN.value,
        "reward_type": Effect.BONUS.value,
        "reward_value": 50,
        "conditions": {"all": [{"field": "days_since_last", "operator": "at_least", "value": str(AWAY_DAYS)}]},
        "without_end": True,
    }


def _birthday(_at: datetime, _zone: ZoneInfo) -> dict[str, Any]:
    return {
        "name": _("Birthday"),
        "kind": Kind.BIRTHDAY.value,
        "reward_type": Effect.POINTS.value,
        "reward_value": 50,
    }


CAMPAIGN_TEMPLATES = {
    template.name: template
    for template in (
        CampaignTemplate(
            "collect",
            gettext_lazy("Collect scans"),
            gettext_lazy("Members scan a number of products and win something on the way and at the goal."),
            "workspace_premium",
            _collect,
        ),
        CampaignTemplate(
            "spend",
            gettext_lazy("Spend an amount"),
            gettext_lazy("Members spend an amount in your shop and win something on the way and at the goal."),
            "shopping_bag",
            _spend,
        ),
        CampaignTemplate(
            "double",
            gettext_lazy("Double points week"),
            gettext_lazy("Each scan earns twice the points for a week. An earning rule that you can change."),
            "exposure_plus_2",
            _double,
            is_rule=True,
        ),
        CampaignTemplate(
            "welcome",
            gettext_lazy("Welcome"),
            gettext_lazy("Points for everybody who joins. An earning rule that you can change."),
            "waving_hand",
            _welcome,
            is_rule=True,
        ),
        CampaignTemplate(
            "win-back",
            gettext_lazy("Win back"),
            gettext_lazy("A bonus for the first scan after two months away. An earning rule that you can change."),
            "undo",
            _win_back,
            is_rule=True,
        ),
        CampaignTemplate(
            "birthday",
            gettext_lazy("Birthday"),
            gettext_lazy("Points on members' birthdays. An earning rule that you can change."),
            "cake",
            _birthday,
            is_rule=True,
        ),
    )
}
