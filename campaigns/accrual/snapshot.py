"""The snapshot: what accruals must know about their customers and brands, read in one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from brands.errors import UserNotFound
from campaigns.progress.advance import RUNNING, ActiveCampaign, parse_running
from core.db import sql
from core.json_values import ENCODER
from loyalty.integrations.external_system import ASKED
from loyalty.integrations.webhook_events import SUBSCRIBED_TYPES
from loyalty.points import ledger
from loyalty.points.levels import Level

ZERO = Decimal(0)
# One statement's worth. The LIMIT tells PostgreSQL that it looks a few rows up and need not read the tables.
MAX_ACTIONS = 100

# Every change of points, level or progress changes the account's row, so its `xmin` stands for all of it: what is
# decided from these facts may be written as long as that is the same.
FACTS = f"""
    WITH asked AS (
        SELECT * FROM jsonb_to_recordset(%(asked)s::jsonb)
               AS a (item int, brand_id bigint, user_id bigint, campaign_type text, happened_at timestamptz,
                     reason_ids jsonb)
         LIMIT {MAX_ACTIONS})
    SELECT a.item, b.time_zone, b.loyalty_active, b.auto_enroll, b.daily_point_limit, b.monthly_point_limit,
           m.user_point_id, m.version::text, m.status, coalesce(m.current_level, ''), m.points,
           m.points_earned - m.points_returned,
           (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text)
                            ORDER BY l.threshold)
              FROM loyalty_brandlevel l WHERE l.brand_id = b.id),
           {RUNNING},
           ARRAY(SELECT asked.reason_id FROM jsonb_array_elements_text(a.reason_ids) AS asked (reason_id)
                  WHERE (SELECT true FROM loyalty_transaction t
                          WHERE t.user_point_id = m.user_point_id AND t.reason_id = asked.reason_id LIMIT 1)),
           {ledger.NUMBERS},
           (SELECT true FROM loyalty_walletpass w WHERE w.account_id = m.user_point_id LIMIT 1),
           {SUBSCRIBED_TYPES.format(brand="b.id")},
           {ASKED.format(brand="b.id")},
           (SELECT n.is_active FROM loyalty_notificationsettings n WHERE n.brand_id = b.id),
           b.requires_confirmed_email AND u.email_verified_at IS NULL
      FROM asked a
      JOIN brands_brand b ON b.id = a.brand_id
      JOIN brands_user u ON u.id = a.user_id AND u.is_active
      LEFT JOIN LATERAL (
           SELECT m.*, m.xmin AS version FROM user_points m WHERE m.brand_id = b.id AND m.user_id = u.id LIMIT 1
           ) AS m ON true
"""  # noqa: S608 - built from constants


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
    for item, *columns in sql.rows(FACTS, {"asked": ENCODER.encode(rows)}):
        snapshots[item] = _parse(columns)
    return snapshots


def _parse(columns: Sequence[Any]) -> AccrualSnapshot:
    zone, active, auto, daily, monthly = columns[:5]
    account, version, status, level, balance, lifetime = columns[5:11]
    level_rows, campaign_rows, claimed, numbers, has_passes, listened, external_system = columns[11:18]
    sends_notifications, unconfirmed = columns[18:]
    return AccrualSnapshot(
        zone=ZoneInfo(zone),
        loyalty_active=active,
        auto_enroll=auto,
        daily_point_limit=daily,
        monthly_point_limit=monthly,
        account=account,
        version=version,
        status=status,
        current_level=level,
        balance=balance or ZERO,
        lifetime=lifetime or ZERO,
        levels=tuple(
            Level(name, Decimal(threshold), kind, Decimal(value)) for name, threshold, kind, value in level_rows or ()
        ),
        campaigns=tuple(parse_running(campaign_rows)),
        claimed=frozenset(claimed),
        numbers=tuple(numbers),
        has_passes=bool(has_passes),
        listened=frozenset(listened),
        external_system=external_system,
        sends_notifications=bool(sends_notifications),
        unconfirmed=unconfirmed,
    )
