"""The points of a scan: by the code, its product and the customer's level, and by the brand's earning rules."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_noop

from authcodes.places import geocoder
from authcodes.scanning import record
from authcodes.scanning.snapshot import PastCode
from authcodes.scanning.types import EARNING, CodeSnapshot, ScanContext, ScanResult
from campaigns.accrual import trial
from campaigns.accrual.types import AccrualReason, QualifyingAction
from campaigns.earning import points
from campaigns.earning.action_context import NOWHERE, ActionContext, Item, Place, ScanBase
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule


def points_of_code(snapshot: CodeSnapshot) -> Decimal:
    """The points before earning rules apply."""
    return points.for_scan(
        redeem_point_value=snapshot.redeem_point_value,
        reward_type=snapshot.reward_type,
        reward_value=snapshot.reward_value,
        retail_price=snapshot.retail_price,
        ceiling=snapshot.max_points_per_scan,
    )


def points_by_rules(result: ScanResult, context: ScanContext) -> ScanResult:
    """The same result with the points that the rules in force give the customer, as the accrual will decide.

    The brand's own limits are left to the accrual.
    """
    code = result.snapshot
    if code is None or context.user_id is None or not code.rules_version or result.points_status not in EARNING:
        return result
    payload = record.scan_event(result, context).payload
    action = qualifying_action(payload, code, user_id=context.user_id, happened_at=context.at, at=context.at)
    member = trial.KnownMember(ZoneInfo(code.time_zone), code.member_state) if code.member_state else None
    worth = trial.points_by_rules(action, version=code.rules_version, member=member)
    return result if worth is None else replace(result, points=worth)


def qualifying_action(
    payload: Mapping[str, Any], code: CodeSnapshot, *, user_id: int, happened_at: datetime, at: datetime
) -> QualifyingAction:
    """A customer's scan as a qualifying action, from its event's payload. `at`: when it earns."""
    return QualifyingAction(
        brand_id=code.brand_id,
        user_id=user_id,
        campaign_type=Campaign.Type.SCAN,
        reasons=[
            AccrualReason(
                reason_id=code.code,
                note=gettext_noop("Points for scanning %(product)s") % {"product": code.title},
            )
        ],
        context=scan_action_context(payload, code, happened_at=happened_at, ceiling=code.max_points_per_scan),
        at=at,
        own_campaign_id=code.campaign_id,
    )


def scan_action_context(
    payload: Mapping[str, Any], code: CodeSnapshot | PastCode, *, happened_at: datetime, ceiling: int
) -> ActionContext:
    """A scan for earning rules: the values of its event, else the catalogue's. `ceiling` limits percentages."""
    product = payload["product"]
    price = _price(product.get("retailPrice"), code.retail_price)
    item = Item(code.product_id, code.sku or "", code.category or "", frozenset(code.tags or ()), 1, price)
    return ActionContext(
        kind=EarningRule.Kind.SCAN,
        happened_at=happened_at,
        items=(item,),
        batch_id=code.batch_id,
        campaign_id=code.campaign_id,
        place=_place_of(payload.get("location")),
        channel=payload.get("channel") or "",
        base=ScanBase(
            redeem_point_value=product.get("redeem_point_value", code.redeem_point_value),
            retail_price=price,
            ceiling=ceiling,
        ),
        payload=payload,
    )


def _place_of(location: Mapping[str, Any] | None) -> Place:
    """Like ScanLocation.of, without creating another object for each scan."""
    if not location:
        return NOWHERE
    city, region = location.get("city") or "", location.get("region") or ""
    return Place(city, region, location.get("latitude"), location.get("longitude"), geocoder.country_of)


def _price(stated: object, catalogue: Decimal | None) -> Decimal | None:
    return catalogue if stated is None else Decimal(str(stated))
