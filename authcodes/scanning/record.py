"""Writes scans: accepted ones with their event, and other attempts."""

import uuid
from dataclasses import replace

from authcodes.errors import ScanLimitReached
from authcodes.scanning.types import (
    EARNING,
    ZERO,
    CodeSnapshot,
    Outcome,
    PointsStatus,
    Reason,
    ScanContext,
    ScanResult,
    public_status_fields,
)
from campaigns.models.campaigns import Campaign
from core import json_values
from core.db.statements import part, query_values
from core.json_values import json_number
from core.observability import metrics
from events import messages, publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

ACCEPT_SCAN = query_values(
    "authcodes/scanning/sql/accept_scan.sql",
    "scan_count",
    insert_scan=part("authcodes/scanning/sql/insert_scan.sql", scan_count="slot.scan_count", origin="slot"),
    insert_events=publishing.insert_events(source_cte="slot"),
)
TAKE_OVER_SCAN = query_values(
    "authcodes/scanning/sql/take_over_scan.sql",
    "scan_count",
    insert_scan=part("authcodes/scanning/sql/insert_scan.sql", scan_count="slot.scan_count", origin="slot"),
    insert_events=publishing.insert_events(source_cte="slot"),
)
ATTEMPT = part("authcodes/scanning/sql/insert_scan.sql", scan_count="%(scan_count)s::int", origin="(SELECT 1) AS here")
INSERT_ATTEMPT = query_values("authcodes/scanning/sql/insert_attempt.sql", "scan_id", insert_scan=ATTEMPT)
INSERT_PUBLISHED_ATTEMPT = query_values(
    "authcodes/scanning/sql/insert_published_attempt.sql",
    "scan_id",
    insert_scan=ATTEMPT,
    insert_events=publishing.insert_events(source_cte="recorded"),
)


def accept(result: ScanResult, context: ScanContext, scanned: str) -> int | None:
    """Take a scan slot, record the scan and publish its event, in one statement. None if the limit is reached."""
    messages = [scan_event(result, context)] if result.points_status in EARNING else []
    messages += _webhook_event(result, context)
    assert result.snapshot is not None  # noqa: S101 - an accepted scan has a code
    parameters = _record(result, context, scanned)
    parameters |= publishing.insertion(messages=messages, brand_id=result.snapshot.brand_id, at=context.at)
    count = _consume_scan(result.snapshot, parameters)
    if count is not None:
        publishing.wake_after_commit(messages)
    return count


def _consume_scan(snapshot: CodeSnapshot, parameters: dict[str, object]) -> int | None:
    """Record an accepted scan. Returns the code's new scan count, None if the limit is reached."""
    if snapshot.limit_reached:
        return TAKE_OVER_SCAN.first(**parameters, reservation_id=snapshot.reservation_id)
    return ACCEPT_SCAN.first(**parameters)


def note_attempt(result: ScanResult, context: ScanContext, scanned: str) -> None:
    """Record a scan that takes no slot, together with its webhook event if an endpoint subscribes to it."""
    parameters = _record(result, context, scanned)
    messages = _webhook_event(result, context)
    if result.snapshot is None or not messages:
        INSERT_ATTEMPT.first(**parameters)
        return
    parameters |= publishing.insertion(messages=messages, brand_id=result.snapshot.brand_id, at=context.at)
    INSERT_PUBLISHED_ATTEMPT.first(**parameters)
    publishing.wake_after_commit(messages)


def _webhook_event(result: ScanResult, context: ScanContext) -> list[messages.NewEvent]:
    """code.scanned, for the code's brand. A customer who scanned through another brand is not named."""
    snapshot = result.snapshot
    if snapshot is None or not snapshot.is_published:
        return []
    data = {
        "scan_id": result.scan_id,
        "code": snapshot.code,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        **public_status_fields(result.points_status),
        "points_promised": json_number(result.points),
        "batch_id": snapshot.batch_id,
        "product": snapshot.product(),
        "latitude": context.place.latitude,
        "longitude": context.place.longitude,
        "location": context.place.label or None,
    }
    message = webhook_events.webhook_event(
        WebhookType.CODE_SCANNED,
        data,
        brand_id=snapshot.brand_id,
        user_id=None if result.reason == Reason.OTHER_BRAND else context.user_id,
        event_id=uuid.uuid5(result.scan_id, WebhookType.CODE_SCANNED.value),
        at=context.at,
    )
    return [message]


def scan_event(result: ScanResult, context: ScanContext) -> messages.NewEvent:
    """scan-auth, spec section 6. Its id is the scan's, by which the accrual finds the scan."""
    snapshot = result.snapshot
    assert snapshot is not None  # noqa: S101 - an accepted scan has a code
    location = {"latitude": context.place.latitude, "longitude": context.place.longitude}
    product = {
        "productId": snapshot.product_id,
        "authCode": snapshot.code,
        "title": snapshot.title,
        "retailPrice": json_number(snapshot.retail_price),
        "redeem_point_value": snapshot.redeem_point_value,
    }
    place = {**location, "city": context.place.city, "region": context.place.region}
    return messages.NewEvent(
        kind="scan-auth",
        event_id=result.scan_id,
        arguments={"brand_id": snapshot.brand_id, "user_id": context.user_id},
        payload={
            "type": Campaign.Type.SCAN.value,
            "product": {name: value for name, value in product.items() if value is not None},
            "location": {name: value for name, value in place.items() if value not in {None, ""}},
            "timestamp": json_values.iso(context.at),
        },
    )


def _record(result: ScanResult, context: ScanContext, scanned: str) -> dict[str, object]:
    snapshot = result.snapshot
    return {
        "scan_id": result.scan_id,
        "brand_id": snapshot.brand_id if snapshot else context.brand_id,
        "code_id": snapshot.id if snapshot else None,
        "code": snapshot.code if snapshot else scanned[:64],
        "user_id": context.user_id,
        "batch_id": snapshot.batch_id if snapshot else None,
        "product_id": snapshot.product_id if snapshot else None,
        "campaign_id": snapshot.campaign_id if snapshot else None,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        "scan_count": result.scan_count,
        "latitude": context.place.latitude,
        "longitude": context.place.longitude,
        "location": context.place.label,
        "device": context.device,
        "app_version": context.app_version,
        "at": context.at,
    }


def record_accrual_scan(*, snapshot: CodeSnapshot, context: ScanContext, scan_id: uuid.UUID) -> None:
    """Record an accepted scan that an accrual brings with it. Call inside the accrual's transaction, which settles it.

    Raises ScanLimitReached if the code has no slot left.
    """
    result = ScanResult(
        scan_id, Outcome.SUCCESS, Reason.ACCEPTED, PointsStatus.PENDING, ZERO, snapshot.scan_count, snapshot
    )
    context = replace(context, place=context.place.named())
    parameters = _record(result, context, snapshot.code)
    messages = _webhook_event(result, context)
    parameters |= publishing.insertion(messages=messages, brand_id=snapshot.brand_id, at=context.at)
    if _consume_scan(snapshot, parameters) is None:
        raise ScanLimitReached
    metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
    publishing.wake_after_commit(messages)
