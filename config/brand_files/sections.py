"""The sections of a brand file: the rows of each, the key that identifies them, and the fields that the file has."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from brands.models.tenants import Brand
from brands.tenants import callable_urls
from campaigns.models.campaigns import Campaign, Milestone, RewardClaim
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind, EventKindField
from campaigns.segments import uses
from config.brand_files.reading import BrandFileError
from core.errors import DomainError
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationSettings, NotificationTemplate
from loyalty.models.orders import CurrencyRate
from loyalty.models.programme.segments import Segment
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.webhooks import WebhookEndpoint

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One row of the brand, or (ListSection) several. `path` is its place in the file."""

    path: str
    model: type[Model]
    fields: tuple[str, ...]
    row: Callable[[Brand], Any] = lambda brand: brand
    only_new: frozenset[str] = frozenset()  # fields that the file sets only when a row is created

    def values_of(self, row: Any) -> dict[str, Any]:
        """The values as the file has them: a level by its name."""
        return {name: _value(getattr(row, name)) for name in self.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSection(Section):
    """Rows identified by `key`. Pruning switches a row off by `off` or, without `off`, deletes it unless in use."""

    key: tuple[str, ...]
    off: Mapping[str, Any] = field(default_factory=dict)
    is_in_use: Callable[[Any], bool] = lambda _row: False
    above: str = "brand"
    parts: tuple["ListSection", ...] = ()
    points: str = ""  # the field with points that need a second person's approval above the brand's ceiling
    points_type: str = ""
    spelled: Callable[[str], str] = str.strip  # normalises a key that is text
    upgraded: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda item: item  # converts items of older files

    def rows(self, above: Model) -> Iterable[Any]:
        return self.model._default_manager.filter(**{self.above: above}).order_by("pk")

    def key_of(self, row: Any) -> Key:
        return tuple(_value(getattr(row, name)) for name in self.key)

    def key_in(self, item: Mapping[str, Any]) -> Key:
        """The key of an item in a file. Raises ValidationError for an invalid key."""
        columns: Any = [self.model._meta.get_field(name) for name in self.key]
        result = [column.to_python(item[column.name]) for column in columns]
        return tuple(self.spelled(each) if isinstance(each, str) else each for each in result)


def _address(url: str) -> str:
    try:
        return callable_urls.callable_address(url)
    except DomainError:
        return url  # the form reports the error


def _value(value: Any) -> Any:
    if isinstance(value, Model):
        return str(value)
    return sorted(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else value


def rows_by_key(section: ListSection, rows: Iterable[Any], path: str) -> dict[Key, Any]:
    """Raises BrandFileError if two rows have the same key, because a file could not distinguish them."""
    result: dict[Key, Any] = {}
    for row in rows:
        key = section.key_of(row)
        if key in result:
            raise BrandFileError([f"{path}: The brand has two called {name_of(key)}. Rename one of them first."])
        result[key] = row
    return result


def name_of(key: Key) -> str:
    return "“" + ", ".join(str(each) for each in key) + "”"


def _notification_settings(brand: Brand) -> NotificationSettings:
    return NotificationSettings.objects.filter(brand=brand).first() or NotificationSettings(brand=brand)


def _level_is_in_use(level: BrandLevel) -> bool:
    """Whether a reward requires the level or a member has it; members refer to it by name."""
    rewards = Reward.objects.filter(minimum_level=level)
    return rewards.exists() or UserPoints.objects.filter(brand=level.brand_id, current_level=level.name).exists()


def _milestone_is_in_use(milestone: Milestone) -> bool:
    """As on the campaign's page: whether a member has a reward of the campaign or a code of the milestone."""
    claims = RewardClaim.objects.filter(milestone__campaign=milestone.campaign_id)
    return claims.exists() or Redemption.objects.filter(milestone_id=milestone.pk).exists()


def _rule_with_name_and_state(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert an older rule, which had no name and a switch instead of a state."""
    result = dict(item)
    kind = result.get("kind")
    if result.get("name") in {None, ""} and isinstance(kind, str):
        result["name"] = EarningRule(kind=kind).default_name()
    if isinstance(result.get("is_active"), bool):
        is_active = result.pop("is_active")
        result.setdefault("state", EarningRule.State.ACTIVE.value if is_active else EarningRule.State.PAUSED.value)
    return result


EVENT_FIELDS = ListSection(
    path="fields",
    model=EventKindField,
    key=("name",),
    fields=("name", "label", "type", "required", "options"),
    above="kind",
    is_in_use=lambda _field: True,  # so that no field is deleted
)
MILESTONES = ListSection(
    path="milestones",
    model=Milestone,
    key=("threshold",),
    fields=("threshold", "reward", "reward_name", "reward_points", "auto_claim"),
    above="campaign",
    is_in_use=_milestone_is_in_use,
)
SECTIONS: tuple[Section, ...] = (
    Section(
        path="brand",
        model=Brand,
        fields=(
            "time_zone",
            "support_email",
            "currency",
            "loyalty_active",
            "auto_enroll",
            "daily_point_limit",
            "monthly_point_limit",
            "max_points_per_scan",
            "protected_batches_only",
            "requires_confirmed_email",
            "points_expire",
            "points_expire_after",
            "expiry_warning_days",
            "order_points",
            "order_points_days",
            "after_return",
            "level_period",
            "level_period_months",
            "level_grace_days",
            "level_warning_days",
            "transfers_allowed",
            "transfer_daily_limit",
            "birthday_points",
            "birthday_lead_days",
            "till_works_offline",
            "colour_background",
            "colour_text",
            "colour_accent",
            "terms_url",
            "privacy_url",
        ),
    ),
    ListSection(
        path="levels",
        model=BrandLevel,
        key=("name",),
        fields=("name", "threshold", "scan_reward_type", "scan_reward_value", "benefits"),
        is_in_use=_level_is_in_use,
        points="scan_reward_value",
        points_type="scan_reward_type",
    ),
    ListSection(
        path="segments",
        model=Segment,
        key=("name",),
        fields=("name", "conditions"),
        is_in_use=lambda segment: bool(uses.uses_of(segment)),
    ),
    ListSection(path="currency_rates", model=CurrencyRate, key=("currency",), fields=("currency", "rate")),
    ListSection(
        path="event_kinds",
        model=EventKind,
        key=("name",),
        fields=("name", "title", "is_active"),
        off={"is_active": False},
        parts=(EVENT_FIELDS,),
    ),
    ListSection(
        path="earning_rules",
        model=EarningRule,
        key=("name",),
        fields=(
            "name",
            "kind",
            "conditions",
            "reward_type",
            "reward_value",
            "per",
            "basis",
            "limits",
            "stacking",
            "group",
            "priority",
            "starts_at",
            "ends_at",
            "without_end",
            "state",
        ),
        off={"state": EarningRule.State.PAUSED.value},
        points="reward_value",
        points_type="reward_type",
        upgraded=_rule_with_name_and_state,
    ),
    ListSection(
        path="rewards",
        model=Reward,
        key=("name",),
        fields=(
            "name",
            "description",
            "cost",
            "stock",
            "limit_per_member",
            "minimum_level",
            "segment",
            "valid_from",
            "valid_until",
            "code_days",
            "is_active",
            "uses_pool",
        ),
        only_new=frozenset({"stock"}),
        off={"is_active": False},
    ),
    ListSection(
        path="campaigns",
        model=Campaign,
        key=("campaign_name",),
        fields=(
            "campaign_name",
            "type",
            "target_value",
            "step_by",
            "is_repeatable",
            "conditions",
            "budget",
            "starts_at",
            "ends_at",
            "is_active",
        ),
        off={"is_active": False},
        parts=(MILESTONES,),
    ),
    Section(
        path="notifications.settings",
        model=NotificationSettings,
        row=_notification_settings,
        fields=("is_active", "language", "merge_seconds", "email_on", "reply_to"),
    ),
    ListSection(
        path="notifications.templates",
        model=NotificationTemplate,
        key=("template", "channel", "language"),
        fields=("template", "channel", "language", "subject", "body"),
    ),
    ListSection(
        path="webhooks",
        model=WebhookEndpoint,
        key=("url",),
        fields=("url", "description", "types", "is_active"),
        off={"is_active": False},
        spelled=_address,
    ),
)
