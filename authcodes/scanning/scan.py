"""Scanning: reads a code, evaluates the scan and records it, in one commit."""

import uuid
from dataclasses import replace
from datetime import timedelta

from django.db import IntegrityError, transaction

from authcodes.errors import ScanLimitReached
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from authcodes.scanning.evaluate import build_result, evaluate_scan
from authcodes.scanning.limited_points import request_points_again, result_for_open_scan, result_of_earlier_scan
from authcodes.scanning.record import accept, note_attempt
from authcodes.scanning.scan_points import points_by_rules
from authcodes.scanning.snapshot import code_of_payload, find, snapshot_of
from authcodes.scanning.types import CodeSnapshot, Outcome, PointsStatus, Reason, ScanContext, ScanResult
from brands.scanned import ParsedCode, read
from core.db.statements import command
from core.db.uuid7 import time_ordered_id
from core.errors import IdempotencyKeyReused
from core.observability import metrics
from events import messages

# Attempts to take a slot. After losing one, the code has changed and is read again; it cannot change forever.
TRIES = 5

RENEW_RESERVATION = command("authcodes/scanning/sql/renew_reservation.sql")


def scan(*, scanned: str, context: ScanContext, scan_id: uuid.UUID | None = None) -> ScanResult:
    """Evaluate a scan, record it with its true reason and, if it earns, publish its scan-auth event, in one commit.

    With a `scan_id` (from an Idempotency-Key), the same scan gets the same result again, unless a recall of the code
    began or ended since. Raises IdempotencyKeyReused for a different scan.
    """
    context = replace(context, place=context.place.named())
    if scan_id is None:
        return _scan(scanned, context, time_ordered_id())
    earlier = Scan.objects.filter(pk=scan_id).first()
    if earlier is None:
        try:
            with transaction.atomic():
                return _scan(scanned, context, scan_id)
        except IntegrityError:
            earlier = Scan.objects.filter(pk=scan_id).first()
            if earlier is None:  # not the scan but its event id is taken: a sender used our source and this id
                raise IdempotencyKeyReused from None
    return replay(earlier, scanned, context)


def _scan(scanned: str, context: ScanContext, scan_id: uuid.UUID) -> ScanResult:
    for _try in range(TRIES):
        result = _find_code(scanned, context, scan_id)
        if result.attempt_id is not None:
            request_points_again(result, result.attempt_id, context, scanned)
            return result
        if result.outcome != Outcome.SUCCESS:
            note_attempt(result, context, scanned)
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return result
        count = accept(result, context, scanned)
        if count is not None:
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return replace(result, scan_count=count)
    raise ScanLimitReached


def preview(*, scanned: str, context: ScanContext) -> ScanResult:
    """The result that a scan would get now. Writes nothing; its scan_id refers to no scan."""
    return _find_code(scanned, context, time_ordered_id())


def _find_code(scanned: str, context: ScanContext, scan_id: uuid.UUID) -> ScanResult:
    reading, snapshot = find(scanned, context)
    reason = evaluate_scan(snapshot=snapshot, reading=reading, context=context)
    result = build_result(scan_id, snapshot, reason, context)
    if snapshot and reason == Reason.LIMIT_REACHED:
        result = result_for_open_scan(result, snapshot, context) or result
    return points_by_rules(result, context)


def renew_reservation(*, scan_id: uuid.UUID) -> None:
    """Make an unconfirmed customer's scan eligible for points again. Call inside the accrual's transaction.

    Raises RetryLater if it was taken over, or has earned, since the snapshot was read: then it is read again.
    """
    if not RENEW_RESERVATION.run(scan_id=scan_id):
        raise messages.RetryLater("The scan has changed.", after=timedelta(0))
    rollups.mark_stale(scan_id=scan_id)


def replay(earlier: Scan, scanned: str, context: ScanContext) -> ScanResult:
    """The result that `earlier` got. Raises IdempotencyKeyReused if this is a different scan.

    A repeat may omit the place, which may have been added after the scan.
    """
    reading = read(scanned)
    code = reading.code if reading else ""
    if earlier.auth_code_id and code != earlier.code and (printed := code_of_payload(scanned)):
        reading, code = ParsedCode(printed, ""), printed  # as `find` reads codes printed elsewhere
    places = {(None, None), (earlier.latitude, earlier.longitude)}
    same = (
        earlier.code == (code if code and earlier.auth_code_id else scanned[:64])
        and earlier.user_id == context.user_id
        and (context.place.latitude, context.place.longitude) in places
    )
    if not same:
        raise IdempotencyKeyReused
    snapshot = snapshot_of(earlier.code if earlier.auth_code_id else None, context)
    status = _status_again(earlier, snapshot)
    answered = ScanResult(
        scan_id=earlier.scan_id,
        outcome=Outcome(earlier.outcome),
        reason=Reason(earlier.reason),
        points_status=status,
        points=earlier.points_promised,
        scan_count=earlier.scan_count,
        snapshot=snapshot,
        scanned_at=earlier.scanned_at,
    )
    if snapshot and (snapshot.recall_id is not None) != (answered.reason == Reason.RECALLED):
        return evaluate_again(answered, snapshot, reading, context)
    withheld = (answered.reason, earlier.points_status) == (Reason.LIMIT_REACHED, PointsStatus.LIMITED)
    if snapshot is None or not withheld:
        return answered
    return result_of_earlier_scan(answered, snapshot, context, points=earlier.points_promised) or answered


def evaluate_again(
    answered: ScanResult, snapshot: CodeSnapshot, reading: ParsedCode | None, context: ScanContext
) -> ScanResult:
    """The result for a scan whose code was recalled, or its recall withdrawn, since: safety overrides idempotency.

    The scan's points stay: an accrual rejects a recalled code, and a withdrawal restores nothing.
    """
    reason = evaluate_scan(snapshot=snapshot, reading=reading, context=context)
    now = build_result(answered.scan_id, snapshot, reason, context)
    status = now.points_status if reason == Reason.RECALLED else answered.points_status
    return replace(answered, outcome=now.outcome, reason=now.reason, points_status=status)


def _status_again(earlier: Scan, snapshot: CodeSnapshot | None) -> Scan.PointsStatus:
    """The points status in the first response, but no longer waiting for something that has happened since."""
    status = PointsStatus(earlier.points_status)
    if earlier.user_id is None or not earlier.points_promised or status == PointsStatus.LAPSED:
        return status
    waits = status == PointsStatus.UNCONFIRMED and snapshot is not None and snapshot.unconfirmed
    return PointsStatus.UNCONFIRMED if waits else PointsStatus.PENDING
