"""Scanning: reads a code, evaluates the scan and records it, in one commit."""

import uuid
from dataclasses import replace
from datetime import timedelta

from django.db import IntegrityError, transaction

from authcodes.errors import ScanLimitReached
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from authcodes.scanning.evaluate import build_result, evaluate_scan
from authcodes.scanning.limited_points import about_earlier, ask_again, standing
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

# Losing the race for a slot means that the code has changed: read it again. It cannot change for ever.
TRIES = 5

RENEW_RESERVATION = command("authcodes/scanning/sql/renew_reservation.sql")


def scan(*, scanned: str, about: ScanContext, scan_id: uuid.UUID | None = None) -> ScanResult:
    """Judge a scan, record it with its true reason and, if it earns, publish its scan-auth event: one commit.

    `scan_id` given (from an Idempotency-Key): the same scan again gets the same answer, unless a recall of the code
    began or ended since. Raises IdempotencyKeyReused if it was another scan's.
    """
    about = replace(about, place=about.place.named())
    if scan_id is None:
        return _scan(scanned, about, time_ordered_id())
    earlier = Scan.objects.filter(pk=scan_id).first()
    if earlier is None:
        try:
            with transaction.atomic():
                return _scan(scanned, about, scan_id)
        except IntegrityError:
            earlier = Scan.objects.filter(pk=scan_id).first()
            if earlier is None:  # not the scan, its event was taken: a sender used our source and this id
                raise IdempotencyKeyReused from None
    return replay(earlier, scanned, about)


def _scan(scanned: str, about: ScanContext, scan_id: uuid.UUID) -> ScanResult:
    for _try in range(TRIES):
        result = _find_code(scanned, about, scan_id)
        if result.attempt_id is not None:
            ask_again(result, result.attempt_id, about, scanned)
            return result
        if result.outcome != Outcome.SUCCESS:
            note_attempt(result, about, scanned)
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return result
        count = accept(result, about, scanned)
        if count is not None:
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return replace(result, scan_count=count)
    raise ScanLimitReached


def preview(*, scanned: str, about: ScanContext) -> ScanResult:
    """The answer a scan would get now. Writes nothing; its scan_id names no scan."""
    return _find_code(scanned, about, time_ordered_id())


def _find_code(scanned: str, about: ScanContext, scan_id: uuid.UUID) -> ScanResult:
    reading, snapshot = find(scanned, about)
    reason = evaluate_scan(snapshot=snapshot, reading=reading, about=about)
    result = build_result(scan_id, snapshot, reason, about)
    if snapshot and reason == Reason.LIMIT_REACHED:
        result = standing(result, snapshot, about) or result
    return points_by_rules(result, about)


def renew_reservation(*, scan_id: uuid.UUID) -> None:
    """Make an unconfirmed customer's scan one that is about to earn. Call inside the accrual's transaction.

    Raises RetryLater where it was taken over, or has earned, since the facts were read: they are read again.
    """
    if not RENEW_RESERVATION.run(scan_id=scan_id):
        raise messages.RetryLater("The scan has changed.", after=timedelta(0))
    rollups.mark_stale(scan_id=scan_id)


def replay(earlier: Scan, scanned: str, about: ScanContext) -> ScanResult:
    """The answer that `earlier` got. Raises IdempotencyKeyReused if this is not the same scan.

    A repeat may leave out where it was: the place may have been told after the scan.
    """
    reading = read(scanned)
    code = reading.code if reading else ""
    if earlier.auth_code_id and code != earlier.code and (printed := code_of_payload(scanned)):
        reading, code = ParsedCode(printed, ""), printed  # as `find` reads what was printed elsewhere
    places = {(None, None), (earlier.latitude, earlier.longitude)}
    same = (
        earlier.code == (code if code and earlier.auth_code_id else scanned[:64])
        and earlier.user_id == about.user_id
        and (about.place.latitude, about.place.longitude) in places
    )
    if not same:
        raise IdempotencyKeyReused
    snapshot = snapshot_of(earlier.code if earlier.auth_code_id else None, about)
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
        return evaluate_again(answered, snapshot, reading, about)
    withheld = (answered.reason, earlier.points_status) == (Reason.LIMIT_REACHED, PointsStatus.LIMITED)
    if snapshot is None or not withheld:
        return answered
    return about_earlier(answered, snapshot, about, points=earlier.points_promised) or answered


def evaluate_again(
    answered: ScanResult, snapshot: CodeSnapshot, reading: ParsedCode | None, about: ScanContext
) -> ScanResult:
    """The answer to a scan whose code was recalled since, or whose recall was withdrawn: safety comes before sameness.

    What the scan earned, or did not, stays: an accrual refuses a recalled code, and a withdrawal brings nothing back.
    """
    reason = evaluate_scan(snapshot=snapshot, reading=reading, about=about)
    now = build_result(answered.scan_id, snapshot, reason, about)
    status = now.points_status if reason == Reason.RECALLED else answered.points_status
    return replace(answered, outcome=now.outcome, reason=now.reason, points_status=status)


def _status_again(earlier: Scan, snapshot: CodeSnapshot | None) -> Scan.PointsStatus:
    """What the answer to a scan said becomes of its points; and no more that they wait for what has come about."""
    status = PointsStatus(earlier.points_status)
    if earlier.user_id is None or not earlier.points_promised or status == PointsStatus.LAPSED:
        return status
    waits = status == PointsStatus.UNCONFIRMED and snapshot is not None and snapshot.unconfirmed
    return PointsStatus.UNCONFIRMED if waits else PointsStatus.PENDING
