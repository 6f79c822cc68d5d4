"""The snapshot: what accruals must know about their customers and brands, read in one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from brands.errors import UserNotFound
from campaigns.progress.advance import ActiveCampaign, parse_running
from core.db.statements import query
from core.json_values import ENCODER
from loyalty.points import ledger
from loyalty.points.levels import Level

ZERO = Decimal(0)
# One statement's worth, as the statements' own LIMIT says.
MAX_ACTIONS = 100


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


@dataclass(frozen=True, slots=True)
class AccrualSnapshot:
    """The customer's and the brand's state when the accrual began; `account` is a user_point_id."""

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
    levels: tuple[Level, ...]
    campaigns: tuple[ActiveCampaign, ...]
    claimed: frozenset[str]
    numbers: tuple[int, ...]
    has_passes: bool
    listened: frozenset[str]
    external_system: int | None
    sends_notifications: bool
    unconfirmed: bool  # the brand asks for a confirmed e-mail address, and the customer's is not

    @property
    def limits_points(self) -> bool:
        return self.daily_point_limit is not None or self.monthly_point_limit is not None


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A row of fetch_snapshots.sql; what the member has is None where the customer is no member yet."""

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
    levels: list[tuple[str, str, str, str]] | None
    campaigns: list[dict[str, Any]] | None
    claimed: list[str]
    numbers: list[int]
    has_passes: bool | None
    listened: list[str]
    external_system: int | None
    sends_notifications: bool | None
    unconfirmed: bool


FETCH_SNAPSHOTS = query(
    "campaigns/accrual/sql/fetch_snapshots.sql", returns=SnapshotRow, lifetime=ledger.lifetime_of("m")
)


def fetch_one(lookup: AccrualLookup) -> AccrualSnapshot:
    """Raises UserNotFound."""
    [snapshot] = fetch_many([lookup])
    if snapshot is None:
        raise UserNotFound
    return snapshot


def fetch_many(lookups: Sequence[AccrualLookup]) -> list[AccrualSnapshot | None]:
    """A snapshot for each of at most MAX_ACTIONS lookups; None where there is no such active user."""
    rows = [
        {
            "item": item,
            "brand_id": each.brand_id,
            "user_id": each.user_id,
            "campaign_type": each.campaign_type,
            "happened_at": each.happened_at.isoformat(),
            "reason_ids": each.reason_ids,
        }
        for item, each in enumerate(lookups)
    ]
    snapshots: list[AccrualSnapshot | None] = [None] * len(rows)
    for row in FETCH_SNAPSHOTS.all(asked=ENCODER.encode(rows)):
        snapshots[row.item] = _snapshot(row)
    return snapshots


def _snapshot(row: SnapshotRow) -> AccrualSnapshot:
    return AccrualSnapshot(
        zone=ZoneInfo(row.time_zone),
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
        levels=tuple(
            Level(name, Decimal(threshold), kind, Decimal(value)) for name, threshold, kind, value in row.levels or ()
        ),
        campaigns=tuple(parse_running(row.campaigns)),
        claimed=frozenset(row.claimed),
        numbers=tuple(row.numbers),
        has_passes=bool(row.has_passes),
        listened=frozenset(row.listened),
        external_system=row.external_system,
        sends_notifications=bool(row.sends_notifications),
        unconfirmed=row.unconfirmed,
    )
