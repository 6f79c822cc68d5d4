"""The snapshot: everything that accruals need to know about their customers and brands, read in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from brands.errors import UserNotFound
from campaigns.earning import rules
from campaigns.earning.action_context import ActionContext, History, Item
from campaigns.earning.fields import ORDER, Needs
from campaigns.earning.limits import LimitUsage, Used, period_starts
from campaigns.earning.rules import NO_REQUIREMENTS, Requirements, RuleSet
from campaigns.progress.advance import RunningCampaign, parse_running
from core.db.statements import query
from core.json_values import ENCODER
from loyalty.points import ledger, levels, point_limits
from loyalty.points.level_periods.rules import LevelRule, rule_from
from loyalty.points.levels import Level

ZERO = Decimal(0)
LevelRow = tuple[str, str, str, str]  # name, threshold, kind and value of a scan's reward
UseRow = tuple[int, str, str, str, int]  # rule, period and its start; points and events given in it
# The most that one statement reads: the same as its LIMIT.
MAX_ACTIONS = 100
# A set of rules that changes while it is read is read again, at most this often.
TRIES = 5


class AccrualLookup(Protocol):
    """What a snapshot is read for: a customer, the campaigns of a type at a moment, and reasons that may be claimed."""

    @property
    def brand_id(self) -> int: ...
    @property
    def user_id(self) -> int: ...
    @property
    def campaign_type(self) -> str: ...
    @property
    def happened_at(self) -> datetime: ...
    @property
    def reason_ids(self) -> list[str]: ...
    @property
    def requested_contexts(self) -> Sequence[ActionContext]: ...


@dataclass(frozen=True, slots=True)
class AccrualSnapshot:
    """The customer's and the brand's state when the accrual began; `account` is a user_point_id.

    `rules` were in force then, `used` is the stored usage of those with limits, and `catalogue` has an order's items as
    the brand's products describe them. `segments` are the member's, read only if a rule needs them.
    """

    zone: ZoneInfo
    loyalty_active: bool
    auto_enroll: bool
    daily_point_limit: Decimal | None
    monthly_point_limit: Decimal | None
    account: int | None
    version: str | None
    status: str | None
    current_level: str
    balance: Decimal
    lifetime: Decimal
    owed: Decimal
    level_rule: LevelRule | None  # None unless levels have periods
    before_period: Decimal
    period_from: date | None
    level_due_at: datetime | None
    levels: tuple[Level, ...]
    campaigns: tuple[RunningCampaign, ...]
    claimed: frozenset[str]
    numbers: tuple[int, ...]
    has_passes: bool
    listened: frozenset[str]
    external_system: int | None
    sends_notifications: bool
    unconfirmed: bool  # the brand requires a confirmed e-mail address, and the customer's is not confirmed
    rules: RuleSet
    history: History
    used: dict[str, Any]
    catalogue: tuple[Item, ...]
    segments: frozenset[int]

    @property
    def counted(self) -> Decimal:
        """The points that count towards a level."""
        return self.lifetime - self.before_period if self.level_rule else self.lifetime

    def is_settled(self, at: datetime) -> bool:
        """Whether level and period are up to date at this moment; always True without level periods."""
        if self.level_rule is None:
            return True
        return self.level_due_at is not None and at < self.level_due_at and self.period_began(at)

    def period_began(self, at: datetime) -> bool:
        """False if another machine's fast clock has already begun the account's next period."""
        return self.level_rule is None or self.period_from is None or self.level_rule.today(at) >= self.period_from

    @property
    def limits_points(self) -> bool:
        return self.daily_point_limit is not None or self.monthly_point_limit is not None

    def of_member(self, context: ActionContext) -> ActionContext:
        """The action's context, completed with this member's data."""
        level = levels.current_level(levels=self.levels, name=self.current_level)
        known = context.in_catalogue(self.catalogue) if self.catalogue else context
        return known.of_member(
            zone=self.zone, level=level, levels=self.levels, history=self.history, segments=self.segments
        )

    def usage(self, at: datetime) -> LimitUsage:
        """What rules with limits have given, in the periods that contain this moment."""
        budgets = {rule_id: Used(Decimal(points), events) for rule_id, points, events in self.used.get("budgets") or ()}
        return usage_at(at.astimezone(self.zone), self.used.get("uses"), budgets)


def parse_levels(rows: Sequence[LevelRow] | None) -> tuple[Level, ...]:
    return tuple(Level(name, Decimal(threshold), kind, Decimal(value)) for name, threshold, kind, value in rows or ())


def usage_at(local: datetime, uses: Sequence[UseRow] | None, budgets: dict[int, Used]) -> LimitUsage:
    """What rules with limits have given a member, in the periods that contain the brand's local moment."""
    starts = period_starts(local)
    current = {
        (rule_id, period): Used(Decimal(points), events)
        for rule_id, period, started, points, events in uses or ()
        if date.fromisoformat(started) == starts[period]
    }
    return LimitUsage(starts, current, budgets)


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A row of fetch_snapshots.sql. The member's columns are None if the customer is not a member yet."""

    item: int
    time_zone: str
    loyalty_active: bool
    auto_enroll: bool
    daily_point_limit: Decimal | None
    monthly_point_limit: Decimal | None
    account: int | None
    version: str | None
    status: str | None
    current_level: str
    balance: Decimal | None
    lifetime: Decimal | None
    owed: Decimal | None
    level_period: str
    level_period_months: int
    points_before_period: Decimal | None
    period_from: date | None
    level_due_at: datetime | None
    levels: list[LevelRow] | None
    campaigns: list[dict[str, Any]] | None
    claimed: list[str]
    numbers: list[int]
    has_passes: bool | None
    listened: list[str]
    external_system: int | None
    sends_notifications: bool | None
    unconfirmed: bool
    rules_version: int | None
    earlier: int | None
    last_at: datetime | None
    used: dict[str, Any] | None
    catalogue: list[tuple[int, str, str, list[str]]] | None
    segments: list[int] | None


FETCH_SNAPSHOTS = query(
    "campaigns/accrual/sql/fetch_snapshots.sql",
    returns=SnapshotRow,
    lifetime=ledger.lifetime_of("m"),
    no_actions=point_limits.NO_ACTIONS,
)


def fetch_one(lookup: AccrualLookup) -> AccrualSnapshot:
    """Raises UserNotFound."""
    [snapshot] = fetch_many([lookup])
    if snapshot is None:
        raise UserNotFound
    return snapshot


def fetch_many(lookups: Sequence[AccrualLookup]) -> list[AccrualSnapshot | None]:
    """A snapshot for each of at most MAX_ACTIONS lookups; None if there is no such active user.

    Runs one statement. A process whose cached rules of a brand are out of date loads them and runs it again.
    """
    result: list[AccrualSnapshot | None] = [None] * len(lookups)
    requested = list(enumerate(lookups))
    for _try in range(TRIES):
        requested = _fetch(requested, result)
        if not requested:
            return result
        for brand_id in {lookup.brand_id for _item, lookup in requested}:
            rules.load(brand_id)
    message = "The earning rules changed each time that they were read."
    raise RuntimeError(message)


def fetch_with(lookup: AccrualLookup, rule_set: RuleSet) -> AccrualSnapshot | None:
    """A snapshot as if these rules were in force, for trials; None if there is no such active user."""
    rows = FETCH_SNAPSHOTS.all(actions=ENCODER.encode([_parameters_of(0, lookup, rule_set)]))
    return _snapshot(rows[0], rule_set) if rows else None


def _fetch(
    lookups: Sequence[tuple[int, AccrualLookup]], snapshots: list[AccrualSnapshot | None]
) -> list[tuple[int, AccrualLookup]]:
    """Fill in the snapshots that can be read; returns the look-ups that used rules which are no longer in force."""
    sets = {lookup.brand_id: rules.cached(lookup.brand_id) for _item, lookup in lookups}
    rows = [_parameters_of(item, lookup, sets[lookup.brand_id]) for item, lookup in lookups]
    by_item = dict(lookups)
    stale = []
    for row in FETCH_SNAPSHOTS.all(actions=ENCODER.encode(rows)):
        lookup = by_item[row.item]
        rule_set = sets[lookup.brand_id]
        if (row.rules_version or 0) == rule_set.version:
            snapshots[row.item] = _snapshot(row, rule_set)
        else:
            stale.append((row.item, lookup))
    return stale


def _parameters_of(item: int, lookup: AccrualLookup, rule_set: RuleSet) -> dict[str, Any]:
    contexts = lookup.requested_contexts
    needed = (
        reduce(Requirements.and_also, map(rule_set.requirements, contexts), NO_REQUIREMENTS)
        if rule_set.kinds
        else NO_REQUIREMENTS
    )
    requested: dict[str, Any] = {
        "item": item,
        "brand_id": lookup.brand_id,
        "user_id": lookup.user_id,
        "campaign_type": lookup.campaign_type,
        "happened_at": lookup.happened_at.isoformat(),
        "reason_ids": lookup.reason_ids,
        "kind": contexts[0].kind if contexts else None,
    }
    if needed.limited:
        requested["limited"] = needed.limited
    if Needs.EARLIER in needed.needs:
        requested["wants_earlier"] = True
    if Needs.LAST in needed.needs:
        requested["wants_last"] = True
    if Needs.SEGMENTS in needed.needs:
        requested["wants_segments"] = True
    if contexts and contexts[0].kind == ORDER:  # campaigns need them too; the statement itself selects those
        requested["wants_catalogue"] = Needs.CATALOGUE in needed.needs
        requested["products"] = [each.product_id for each in contexts[0].items if each.product_id]
        requested["skus"] = [each.sku for each in contexts[0].items if each.sku]
    return requested


def _snapshot(row: SnapshotRow, rule_set: RuleSet) -> AccrualSnapshot:
    zone = ZoneInfo(row.time_zone)
    return AccrualSnapshot(
        zone=zone,
        loyalty_active=row.loyalty_active,
        auto_enroll=row.auto_enroll,
        daily_point_limit=row.daily_point_limit,
        monthly_point_limit=row.monthly_point_limit,
        account=row.account,
        version=row.version,
        status=row.status,
        current_level=row.current_level,
        balance=row.balance or ZERO,
        lifetime=row.lifetime or ZERO,
        owed=row.owed or ZERO,
        level_rule=rule_from(row.level_period, row.level_period_months, 0, 0, zone),
        before_period=row.points_before_period or ZERO,
        period_from=row.period_from,
        level_due_at=row.level_due_at,
        levels=parse_levels(row.levels),
        campaigns=tuple(parse_running(row.campaigns)),
        claimed=frozenset(row.claimed),
        numbers=tuple(row.numbers),
        has_passes=bool(row.has_passes),
        listened=frozenset(row.listened),
        external_system=row.external_system,
        sends_notifications=bool(row.sends_notifications),
        unconfirmed=row.unconfirmed,
        rules=rule_set,
        history=History(row.earlier, row.last_at),
        used=row.used or {},
        catalogue=tuple(
            Item(number, sku, category, frozenset(tags)) for number, sku, category, tags in row.catalogue or ()
        ),
        segments=frozenset(row.segments or ()),
    )
