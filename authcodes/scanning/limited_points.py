"""Scans whose points a limit held back, and how customers request them again."""

import uuid
from dataclasses import replace
from decimal import Decimal

from django.db import transaction

from authcodes.rollups import rollups
from authcodes.scanning import record
from authcodes.scanning.evaluate import points_status
from authcodes.scanning.record import note_attempt
from authcodes.scanning.scan_points import points_of_code
from authcodes.scanning.types import EARNING, CodeSnapshot, Outcome, PointsStatus, Reason, ScanContext, ScanResult
from core.db.statements import command, query_values
from core.observability import metrics
from events import publishing

FETCH_OPEN_SCAN = query_values("authcodes/scanning/sql/fetch_open_scan.sql", "scan_id")
REOPEN_SCAN = command("authcodes/scanning/sql/reopen_scan.sql")


def result_for_open_scan(result: ScanResult, snapshot: CodeSnapshot, context: ScanContext) -> ScanResult | None:
    """The result for a used-up code if a limit held back the points of this customer's own scan."""
    if points_status(snapshot, Reason.ACCEPTED, context.user_id) not in EARNING:
        return None
    return result_of_earlier_scan(result, snapshot, context, points=points_of_code(snapshot))


def result_of_earlier_scan(
    result: ScanResult, snapshot: CodeSnapshot, context: ScanContext, *, points: Decimal
) -> ScanResult | None:
    """The same result for the customer's accepted scan whose points a limit held back; None if there is none."""
    scan_id: uuid.UUID | None = FETCH_OPEN_SCAN.first(
        user_id=context.user_id, code_id=snapshot.id, earns=snapshot.earns
    )
    if scan_id is None:
        return None
    return replace(
        result,
        scan_id=scan_id,
        outcome=Outcome.SUCCESS,
        reason=Reason.ACCEPTED,
        points_status=PointsStatus.UNCONFIRMED if snapshot.unconfirmed else PointsStatus.PENDING,
        points=points,
        attempt_id=result.scan_id,
    )


def request_points_again(result: ScanResult, attempt_id: uuid.UUID, context: ScanContext, scanned: str) -> None:
    """Record the attempt with its true reason, and request the points of the open scan unless they are pending."""
    attempt = replace(
        result,
        scan_id=attempt_id,
        outcome=Outcome.WARNING,
        reason=Reason.LIMIT_REACHED,
        points_status=PointsStatus.LIMITED,
        attempt_id=None,
    )
    assert result.snapshot is not None  # noqa: S101 - an open scan has a code
    with transaction.atomic():
        note_attempt(attempt, context, scanned)
        if REOPEN_SCAN.run(scan_id=result.scan_id):
            rollups.mark_stale(scan_id=result.scan_id)
            publishing.publish(
                messages=[record.scan_event(attempt, context)], brand_id=result.snapshot.brand_id, at=context.at
            )
    metrics.scanned(outcome=attempt.outcome.value, reason=attempt.reason.value)
