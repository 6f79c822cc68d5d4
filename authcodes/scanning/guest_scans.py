"""Scans of guests: customers adopt them, and their position is added later."""

from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction

from authcodes.errors import ScanNotAdoptable
from authcodes.models.scans import Scan
from authcodes.scanning import record
from authcodes.scanning.evaluate import build_result
from authcodes.scanning.scan_points import points_by_rules
from authcodes.scanning.snapshot import snapshot_of
from authcodes.scanning.types import EARNING, Outcome, PointsStatus, Reason, ScanContext, ScanLocation
from core.db.statements import command, query_values
from core.errors import TokenInvalid, raises
from events import publishing

ADOPT_SCAN = query_values(
    "authcodes/scanning/sql/adopt_scan.sql",
    "scan_id",
    insert_events=publishing.insert_events(source_cte="adopted"),
)
PLACE_SCAN = command("authcodes/scanning/sql/place_scan.sql")
ERASE_SCANS = command("authcodes/scanning/sql/erase_scans.sql")


@raises(ScanNotAdoptable, TokenInvalid)
def adopt(*, scan: Scan, user_id: int, at: datetime) -> None:
    """Turn a guest's scan into a scan of the brand's customer, as if they had been logged in; the points follow.

    Possible for GUEST_SCAN_MINUTES, and repeatable by the same customer. Raises ScanNotAdoptable, and TokenInvalid for
    an inactive user.
    """
    if scan.user_id == user_id:
        return
    if scan.scanned_at < at - timedelta(minutes=settings.GUEST_SCAN_MINUTES):
        raise ScanNotAdoptable
    place = ScanLocation.of_scan(scan)
    context = ScanContext(at=scan.scanned_at, user_id=user_id, brand_id=scan.brand_id, place=place)
    snapshot = snapshot_of(scan.code, context)
    if snapshot is None or scan.user_id is not None or scan.points_status != PointsStatus.GUEST:
        raise ScanNotAdoptable
    reason = Reason.RECALLED if snapshot.recall_id else Reason(scan.reason)
    result = points_by_rules(
        replace(
            build_result(scan.scan_id, snapshot, reason, context), outcome=Outcome.SUCCESS, scan_count=scan.scan_count
        ),
        context,
    )
    messages = [record.scan_event(result, context)] if result.points_status in EARNING else []
    parameters = {
        "scan_id": scan.scan_id,
        "user_id": user_id,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        **publishing.insertion(messages=messages, brand_id=snapshot.brand_id, at=context.at),
    }
    try:
        with transaction.atomic():
            adopted = ADOPT_SCAN.first(**parameters)
            publishing.wake_after_commit(messages)
    except IntegrityError:  # a sender used our source and this scan's id
        raise ScanNotAdoptable from None
    if adopted is None and not Scan.objects.filter(pk=scan.pk, user_id=user_id).exists():
        raise ScanNotAdoptable


def place(*, scan: Scan, latitude: float, longitude: float) -> None:
    """Store where a scan happened, unless that is already known."""
    result = ScanLocation(latitude, longitude).named()
    PLACE_SCAN.run(scan_id=scan.scan_id, latitude=latitude, longitude=longitude, location=result.label)


def erase(*, user_id: int, brand_id: int, to: int) -> None:
    """For an erasure: reassign a person's scans to the pseudonym, and keep only the city."""
    ERASE_SCANS.run(user_id=user_id, brand_id=brand_id, to=to)
