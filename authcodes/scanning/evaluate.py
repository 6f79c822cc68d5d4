"""Evaluates a scan: why it is accepted or not, and the points that it promises."""

import uuid

from authcodes.codes import signed_tags
from authcodes.models.scans import Scan
from authcodes.scanning.scan_points import points_of_code
from authcodes.scanning.types import (
    EARNING,
    ZERO,
    CodeSnapshot,
    Outcome,
    PointsStatus,
    Reason,
    ScanContext,
    ScanResult,
)
from brands.scanned import ParsedCode
from loyalty.models.accounts import UserPoints


def evaluate_scan(*, snapshot: CodeSnapshot | None, reading: ParsedCode | None, context: ScanContext) -> Scan.Reason:
    """The checks of a scan in order. Safety comes before anything that only concerns points."""
    if snapshot is None or reading is None:
        return Reason.UNKNOWN
    if not tag_is_valid(snapshot, reading):
        return Reason.BAD_TAG
    if context.brand_id is not None and snapshot.brand_id != context.brand_id:
        return Reason.OTHER_BRAND
    if snapshot.recall_id is not None:
        return Reason.RECALLED
    if snapshot.expired(context.at):
        return Reason.EXPIRED
    if snapshot.deactivated:
        return Reason.DEACTIVATED
    if snapshot.product_id is None:
        return Reason.UNASSIGNED
    if snapshot.limit_reached and not may_take_over(snapshot, context):
        return Reason.LIMIT_REACHED if snapshot.reservation_id is None else Reason.RESERVED
    if not snapshot.product_active:
        return Reason.PRODUCT_INACTIVE
    return Reason.ACCEPTED if snapshot.campaign_permits else Reason.CAMPAIGN_INACTIVE


def may_take_over(snapshot: CodeSnapshot, context: ScanContext) -> bool:
    """Whether the scan that reserves a used-up code gives way. A customer takes over at once. A guest, or a customer
    whose address must be confirmed first, waits until it lapses; their own next scan does not.

    So a guest cannot keep a customer from a code, and can also scan it again in the app.
    """
    if snapshot.reserved_until is None:
        return False
    if snapshot.reserved_until <= context.at:
        return True
    return context.user_id is not None and (not snapshot.unconfirmed or snapshot.reserved_for == context.user_id)


def tag_is_valid(snapshot: CodeSnapshot, reading: ParsedCode) -> bool:
    """A code of a signed batch needs its tag; other codes must have none."""
    return signed_tags.fits(
        candidate=reading.tag, code=snapshot.code, batch_id=snapshot.batch_id, version=snapshot.tag_version
    )


OUTCOMES = {
    Reason.ACCEPTED: Outcome.SUCCESS,
    Reason.CAMPAIGN_INACTIVE: Outcome.SUCCESS,
    Reason.PRODUCT_INACTIVE: Outcome.SUCCESS,
    Reason.LIMIT_REACHED: Outcome.WARNING,
    Reason.RESERVED: Outcome.WARNING,
    Reason.RECALLED: Outcome.WARNING,
}


def build_result(
    scan_id: uuid.UUID, snapshot: CodeSnapshot | None, reason: Scan.Reason, context: ScanContext
) -> ScanResult:
    """The result if the scan is recorded now: outcome, status of the points, and how many before rules apply."""
    outcome = OUTCOMES.get(reason, Outcome.ERROR)
    status = points_status(snapshot, reason, context.user_id)
    earns = snapshot is not None and status in {*EARNING, PointsStatus.GUEST}
    worth = points_of_code(snapshot) if snapshot and earns else ZERO
    count = snapshot.scan_count if snapshot else 0
    return ScanResult(scan_id, outcome, reason, status, worth, count, snapshot, scanned_at=context.at)


def points_status(snapshot: CodeSnapshot | None, reason: Scan.Reason, user_id: int | None) -> Scan.PointsStatus:
    if snapshot is None or reason == Reason.BAD_TAG:
        return PointsStatus.NOT_ELIGIBLE
    if snapshot.already_claimed:
        return PointsStatus.ALREADY_CLAIMED
    if reason != Reason.ACCEPTED or not snapshot.loyalty_active:
        return PointsStatus.NOT_ELIGIBLE
    if user_id is None:
        return PointsStatus.GUEST
    if snapshot.member_status == UserPoints.Status.BLOCKED or (snapshot.account is None and not snapshot.auto_enroll):
        return PointsStatus.NOT_ELIGIBLE
    return PointsStatus.UNCONFIRMED if snapshot.unconfirmed else PointsStatus.PENDING
