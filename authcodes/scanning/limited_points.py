"""Scans whose points a limit held back, and how customers ask for them again."""

import uuid
from dataclasses import replace
from decimal import Decimal

from django.db import transaction

from authcodes.rollups import rollups
from authcodes.scanning import record
from authcodes.scanning.evaluate import points_status, worth_of
from authcodes.scanning.record import note_attempt
from authcodes.scanning.types import EARNING, CodeSnapshot, Outcome, PointsStatus, Reason, ScanContext, ScanResult
from core.db import sql
from core.observability import metrics
from events import publishing

# A customer's accepted scan of a code, the one that an accrual would credit, if a limit once held its points back.
STANDING = """
    SELECT (array_agg(s.scan_id ORDER BY s.scanned_at)
            FILTER (WHERE s.outcome = 'success' AND s.points_status <> 'lapsed'
                      AND (s.reason = 'accepted' OR %(earns)s::boolean)))[1]
      FROM authcodes_scan s
     WHERE s.user_id = %(user_id)s::bigint AND s.auth_code_id = %(code_id)s::bigint
    HAVING bool_or(s.points_status = 'limited')
"""
# However many ask for its points again at once, one of them does, and one event follows.
REOPEN = """
    UPDATE authcodes_scan SET points_status = 'pending'
     WHERE scan_id = %(scan_id)s::uuid AND points_status IN ('limited', 'not_eligible')
    RETURNING scan_id
"""


def standing(result: ScanResult, facts: CodeSnapshot, about: ScanContext) -> ScanResult | None:
    """The answer for a used-up code whose points a limit held back from this very customer: their scan stands."""
    if points_status(facts, Reason.ACCEPTED, about.user_id) not in EARNING:
        return None
    return about_earlier(result, facts, about, points=worth_of(facts))


def about_earlier(result: ScanResult, facts: CodeSnapshot, about: ScanContext, *, points: Decimal) -> ScanResult | None:
    """The same answer, about the customer's accepted scan that a limit held points back from; None without one."""
    asked = {"user_id": about.user_id, "code_id": facts.id, "earns": facts.earns}
    found = sql.row(STANDING, asked)
    if found is None or found[0] is None:
        return None
    return replace(
        result,
        scan_id=found[0],
        outcome=Outcome.SUCCESS,
        reason=Reason.ACCEPTED,
        points_status=PointsStatus.UNCONFIRMED if facts.unconfirmed else PointsStatus.PENDING,
        points=points,
        attempt_id=result.scan_id,
    )


def ask_again(result: ScanResult, attempt_id: uuid.UUID, about: ScanContext, scanned: str) -> None:
    """Record the attempt as what it is; ask for the points of the scan that stands, unless they are on their way."""
    attempt = replace(
        result,
        scan_id=attempt_id,
        outcome=Outcome.WARNING,
        reason=Reason.LIMIT_REACHED,
        points_status=PointsStatus.LIMITED,
        attempt_id=None,
    )
    assert result.facts is not None  # noqa: S101 - a scan that stands has a code
    with transaction.atomic():
        note_attempt(attempt, about, scanned)
        if sql.row(REOPEN, {"scan_id": result.scan_id}):
            rollups.mark_stale(scan_id=result.scan_id)
            publishing.publish(
                messages=[record.scan_event(attempt, about)], brand_id=result.facts.brand_id, at=about.at
            )
    metrics.scanned(outcome=attempt.outcome.value, reason=attempt.reason.value)
