"""Writes scans: accepted ones with their event, and attempts that were not."""

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
from core.db import sql
from core.json_values import plain
from core.observability import metrics
from events import messages, publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

RECORD = """
    INSERT INTO authcodes_scan
           (scan_id, brand_id, auth_code_id, code, user_id, batch_id, product_id, campaign_id, outcome, reason,
            points_status, unconfirmed, points_promised, points_awarded, scan_count, latitude, longitude, location,
            located_at, device, app_version, scanned_at)
    SELECT %(scan_id)s::uuid, %(brand_id)s::bigint, %(code_id)s::bigint, %(code)s::text, %(user_id)s::bigint,
           %(batch_id)s::bigint, %(product_id)s::bigint, %(campaign_id)s::bigint, %(outcome)s::text,
           %(reason)s::text, %(points_status)s::text, %(unconfirmed)s::boolean, %(points_promised)s::numeric, 0,
           {scan_count}, %(latitude)s::float, %(longitude)s::float, %(location)s::text,
           CASE WHEN %(location)s::text <> '' OR %(latitude)s::float IS NOT NULL THEN %(at)s::timestamptz END,
           %(device)s::text, %(app_version)s::text, %(at)s::timestamptz
      FROM {origin}
    RETURNING scan_id
"""

# The limit stands in the UPDATE itself: however many scan at once, a code gives no more slots than it has.
SLOT = """
    UPDATE authcodes_authcode c
       SET scan_count = c.scan_count + 1, first_scan_at = COALESCE(c.first_scan_at, %(at)s::timestamptz),
           first_scan_location = CASE WHEN c.scan_count = 0 THEN %(location)s::text ELSE c.first_scan_location END
      FROM authcodes_batchrange b
     WHERE c.id = %(code_id)s::bigint AND b.id = c.batch_id AND c.deactivated_at IS NULL
       AND (b.scan_limit IS NULL OR c.scan_count - c.slots_given_back < b.scan_limit)
       AND NOT EXISTS (SELECT 1 FROM authcodes_recall r WHERE r.batch_id = b.id)
    RETURNING c.scan_count
"""
# The same where the scan of a guest, or of an unconfirmed customer, gives its slot back to this one. That scan is
# locked as long as nobody has claimed it: it is either claimed or taken over.
SLOT_OF_GUEST = (
    SLOT.replace(
        "FROM authcodes_batchrange b",
        """FROM authcodes_batchrange b,
           (SELECT s.scan_id FROM authcodes_scan s
             WHERE s.scan_id = %(reservation_id)s::uuid AND s.points_status IN ('guest', 'unconfirmed')
               FOR UPDATE) AS reservation""",
    )
    .replace("SET scan_count", "SET slots_given_back = c.slots_given_back + 1, scan_count")
    .replace("< b.scan_limit", "<= b.scan_limit")
)

ACCEPT = f"""
    WITH slot AS ({SLOT}),
         recorded AS ({RECORD.format(scan_count="slot.scan_count", origin="slot")}),
         published AS ({publishing.insert_events(beside="slot")})
    SELECT scan_count FROM slot
"""  # noqa: S608 - built from constants
LAPSE = """
    UPDATE authcodes_scan s SET points_status = 'lapsed' FROM slot WHERE s.scan_id = %(reservation_id)s::uuid
"""
TAKE_OVER = ACCEPT.replace(f"({SLOT}),", f"({SLOT_OF_GUEST}), lapsed AS ({LAPSE}),")

ATTEMPT = RECORD.format(scan_count="%(scan_count)s::int", origin="(SELECT 1) AS here")
ATTEMPT_TOLD = f"""
    WITH recorded AS ({ATTEMPT}),
         published AS ({publishing.insert_events(beside="recorded")})
    SELECT scan_id FROM recorded
"""  # noqa: S608 - built from constants


def accept(result: ScanResult, about: ScanContext, scanned: str) -> int | None:
    """Take a slot, record the scan and publish its event, in one statement. None: the slot is gone."""
    messages = [scan_event(result, about)] if result.points_status in EARNING else []
    messages += _announcement(result, about)
    assert result.facts is not None  # noqa: S101 - an accepted scan has a code
    parameters = _record(result, about, scanned)
    parameters |= publishing.insertion(messages=messages, brand_id=result.facts.brand_id, at=about.at)
    taken = sql.row(*_taking(result.facts, parameters))
    if taken is None:
        return None
    publishing.wake_after_commit(messages)
    count: int = taken[0]
    return count


def _taking(facts: CodeSnapshot, parameters: dict[str, object]) -> tuple[str, dict[str, object]]:
    if facts.limit_reached:
        return TAKE_OVER, {**parameters, "reservation_id": facts.reservation_id}
    return ACCEPT, parameters


def note_attempt(result: ScanResult, about: ScanContext, scanned: str) -> None:
    """Record a scan that takes no slot; where a webhook listens its announcement is written beside it."""
    parameters = _record(result, about, scanned)
    messages = _announcement(result, about)
    if result.facts is None or not messages:
        sql.rows(ATTEMPT, parameters)
        return
    sql.rows(
        ATTEMPT_TOLD, parameters | publishing.insertion(messages=messages, brand_id=result.facts.brand_id, at=about.at)
    )
    publishing.wake_after_commit(messages)


def _announcement(result: ScanResult, about: ScanContext) -> list[messages.NewEvent]:
    """code.scanned, for the brand whose code it is. Whose customer scanned it through another brand is not told."""
    facts = result.facts
    if facts is None or not facts.is_announced:
        return []
    data = {
        "scan_id": result.scan_id,
        "code": facts.code,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        **public_status_fields(result.points_status),
        "points_promised": plain(result.points),
        "batch_id": facts.batch_id,
        "product": facts.product(),
        "latitude": about.place.latitude,
        "longitude": about.place.longitude,
        "location": about.place.label or None,
    }
    message = webhook_events.announcement(
        WebhookType.CODE_SCANNED,
        data,
        brand_id=facts.brand_id,
        user_id=None if result.reason == Reason.OTHER_BRAND else about.user_id,
        event_id=uuid.uuid5(result.scan_id, WebhookType.CODE_SCANNED.value),
        at=about.at,
    )
    return [message]


def scan_event(result: ScanResult, about: ScanContext) -> messages.NewEvent:
    """scan-auth, spec section 6. Its id is the scan's, which is how the accrual finds the scan again."""
    facts = result.facts
    assert facts is not None  # noqa: S101 - an accepted scan has a code
    location = {"latitude": about.place.latitude, "longitude": about.place.longitude}
    product = {
        "productId": facts.product_id,
        "authCode": facts.code,
        "title": facts.title,
        "retailPrice": plain(facts.retail_price),
        "redeem_point_value": facts.redeem_point_value,
    }
    place = {**location, "city": about.place.city, "region": about.place.region}
    return messages.NewEvent(
        kind="scan-auth",
        event_id=result.scan_id,
        arguments={"brand_id": facts.brand_id, "user_id": about.user_id},
        payload={
            "type": Campaign.Type.SCAN.value,
            "product": {name: value for name, value in product.items() if value is not None},
            "location": {name: value for name, value in place.items() if value not in {None, ""}},
            "timestamp": json_values.iso(about.at),
        },
    )


def _record(result: ScanResult, about: ScanContext, scanned: str) -> dict[str, object]:
    facts = result.facts
    return {
        "scan_id": result.scan_id,
        "brand_id": facts.brand_id if facts else about.brand_id,
        "code_id": facts.id if facts else None,
        "code": facts.code if facts else scanned[:64],
        "user_id": about.user_id,
        "batch_id": facts.batch_id if facts else None,
        "product_id": facts.product_id if facts else None,
        "campaign_id": facts.campaign_id if facts else None,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        "scan_count": result.scan_count,
        "latitude": about.place.latitude,
        "longitude": about.place.longitude,
        "location": about.place.label,
        "device": about.device,
        "app_version": about.app_version,
        "at": about.at,
    }


def record_accrual_scan(*, facts: CodeSnapshot, about: ScanContext, scan_id: uuid.UUID) -> None:
    """Record an accepted scan that an accrual brings with it. Call inside the accrual's transaction, then `settle`.

    Raises ScanLimitReached when the code has no slot left.
    """
    result = ScanResult(scan_id, Outcome.SUCCESS, Reason.ACCEPTED, PointsStatus.PENDING, ZERO, facts.scan_count, facts)
    about = replace(about, place=about.place.named())
    parameters = _record(result, about, facts.code)
    messages = _announcement(result, about)
    parameters |= publishing.insertion(messages=messages, brand_id=facts.brand_id, at=about.at)
    if sql.row(*_taking(facts, parameters)) is None:
        raise ScanLimitReached
    metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
    publishing.wake_after_commit(messages)
