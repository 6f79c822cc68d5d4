"""Evaluates a scan: why it is accepted or not, and what it promises."""

import uuid
from decimal import Decimal

from authcodes.codes import signed_tags
from authcodes.models.scans import Scan
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
from campaigns.earning import points
from loyalty.models.accounts import UserPoints


def evaluate_scan(*, facts: CodeSnapshot | None, reading: ParsedCode | None, about: ScanContext) -> Scan.Reason:
    """The checks of a scan, in their order; safety comes before everything that only concerns points."""
    if facts is None or reading is None:
        return Reason.UNKNOWN
    if not tag_is_valid(facts, reading):
        return Reason.BAD_TAG
    if about.brand_id is not None and facts.brand_id != about.brand_id:
        return Reason.OTHER_BRAND
    if facts.recall_id is not None:
        return Reason.RECALLED
    if facts.expired(about.at):
        return Reason.EXPIRED
    if facts.deactivated:
        return Reason.DEACTIVATED
    if facts.product_id is None:
        return Reason.UNASSIGNED
    if facts.limit_reached and not may_take_over(facts, about):
        return Reason.LIMIT_REACHED if facts.reservation_id is None else Reason.RESERVED
    if not facts.product_active:
        return Reason.PRODUCT_INACTIVE
    return Reason.ACCEPTED if facts.campaign_permits else Reason.CAMPAIGN_INACTIVE


def may_take_over(facts: CodeSnapshot, about: ScanContext) -> bool:
    """Whether the scan that reserves a used-up code gives way: to a customer at once, to a guest or a customer whose
    address the brand wants confirmed first when it has lapsed, and to the customer's own next one.

    So nobody keeps a customer from a code, and whoever scanned as a guest may as well scan again in the app.
    """
    if facts.reserved_until is None:
        return False
    if facts.reserved_until <= about.at:
        return True
    return about.user_id is not None and (not facts.unconfirmed or facts.reserved_for == about.user_id)


def tag_is_valid(facts: CodeSnapshot, reading: ParsedCode) -> bool:
    """A signed batch's code needs its tag; an unsigned one has none."""
    return signed_tags.fits(given=reading.tag, code=facts.code, batch_id=facts.batch_id, version=facts.tag_version)


OUTCOMES = {
    Reason.ACCEPTED: Outcome.SUCCESS,
    Reason.CAMPAIGN_INACTIVE: Outcome.SUCCESS,
    Reason.PRODUCT_INACTIVE: Outcome.SUCCESS,
    Reason.LIMIT_REACHED: Outcome.WARNING,
    Reason.RESERVED: Outcome.WARNING,
    Reason.RECALLED: Outcome.WARNING,
}


def build_result(scan_id: uuid.UUID, facts: CodeSnapshot | None, reason: Scan.Reason, about: ScanContext) -> ScanResult:
    """The answer if the scan is recorded now: its outcome, what becomes of points, and how many."""
    outcome = OUTCOMES.get(reason, Outcome.ERROR)
    status = points_status(facts, reason, about.user_id)
    earns = facts is not None and status in {*EARNING, PointsStatus.GUEST}
    worth = worth_of(facts) if facts and earns else ZERO
    count = facts.scan_count if facts else 0
    return ScanResult(scan_id, outcome, reason, status, worth, count, facts, scanned_at=about.at)


def points_status(facts: CodeSnapshot | None, reason: Scan.Reason, user_id: int | None) -> Scan.PointsStatus:
    if facts is None or reason == Reason.BAD_TAG:
        return PointsStatus.NOT_ELIGIBLE
    if facts.already_claimed:
        return PointsStatus.ALREADY_CLAIMED
    if reason != Reason.ACCEPTED or not facts.loyalty_active:
        return PointsStatus.NOT_ELIGIBLE
    if user_id is None:
        return PointsStatus.GUEST
    if facts.member_status == UserPoints.Status.BLOCKED or (facts.account is None and not facts.auto_enroll):
        return PointsStatus.NOT_ELIGIBLE
    return PointsStatus.UNCONFIRMED if facts.unconfirmed else PointsStatus.PENDING


def worth_of(facts: CodeSnapshot) -> Decimal:
    return points.for_scan(
        redeem_point_value=facts.redeem_point_value,
        reward_type=facts.reward_type,
        reward_value=facts.reward_value,
        retail_price=facts.retail_price,
        ceiling=facts.max_points_per_scan,
    )
