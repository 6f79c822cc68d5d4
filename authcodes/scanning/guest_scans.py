"""Scans of guests: customers take them over, and their position is added later."""

from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction

from authcodes.errors import ScanNotAdoptable
from authcodes.models.scans import Scan
from authcodes.scanning import record
from authcodes.scanning.evaluate import build_result
from authcodes.scanning.snapshot import facts_of
from authcodes.scanning.types import EARNING, Outcome, PointsStatus, Reason, ScanContext, ScanLocation
from core.db import sql
from core.errors import TokenInvalid, raises
from events import publishing

# However many claim a guest's scan at once, the condition lets one of them have it, and one event follows.
ADOPT = f"""
    WITH adopted AS (
        UPDATE authcodes_scan
           SET user_id = %(user_id)s::bigint, points_status = %(points_status)s::text,
               unconfirmed = %(unconfirmed)s::boolean, points_promised = %(points_promised)s::numeric
         WHERE scan_id = %(scan_id)s::uuid AND user_id IS NULL AND points_status = 'guest'
        RETURNING scan_id
    ), published AS ({publishing.insert_events(beside="adopted")})
    SELECT scan_id FROM adopted
"""  # noqa: S608 - built from constants

# Once: where somebody was is told with the scan or soon after it, and not corrected.
PLACE = """
    WITH placed AS (
        UPDATE authcodes_scan
           SET latitude = %(latitude)s::float, longitude = %(longitude)s::float, location = %(location)s::text,
               located_at = now()
         WHERE scan_id = %(scan_id)s::uuid AND latitude IS NULL AND location = ''
        RETURNING auth_code_id, location, outcome, scan_count
    ), first AS (
        UPDATE authcodes_authcode c SET first_scan_location = p.location
          FROM placed p WHERE c.id = p.auth_code_id AND p.outcome = 'success' AND p.scan_count = 1
        RETURNING c.id
    )
    SELECT count(*) FROM placed
"""

# A person's scans at a brand, or, where nothing is left of the person themselves, all of them: codes of nobody, and of
# other brands, that they tried as this one's customer. The city stays.
FORGET = """
    UPDATE authcodes_scan
       SET user_id = %(to)s::bigint, latitude = NULL, longitude = NULL, device = '', app_version = ''
     WHERE user_id = %(user_id)s::bigint
       AND (brand_id = %(brand_id)s::bigint OR user_id = %(to)s::bigint)
    RETURNING scan_id
"""


@raises(ScanNotAdoptable, TokenInvalid)
def adopt(*, scan: Scan, user_id: int, at: datetime) -> None:
    """Make a guest's scan the scan of a customer of its brand, as if they had been logged in; the points follow.

    For GUEST_SCAN_MINUTES after it. The same customer may ask again. Raises ScanNotAdoptable, and TokenInvalid for a
    user who is not active.
    """
    if scan.user_id == user_id:
        return
    if scan.scanned_at < at - timedelta(minutes=settings.GUEST_SCAN_MINUTES):
        raise ScanNotAdoptable
    place = ScanLocation(scan.latitude, scan.longitude)
    about = ScanContext(at=scan.scanned_at, user_id=user_id, brand_id=scan.brand_id, place=place)
    facts = facts_of(scan.code, about)
    if facts is None or scan.user_id is not None or scan.points_status != PointsStatus.GUEST:
        raise ScanNotAdoptable
    reason = Reason.RECALLED if facts.recall_id else Reason(scan.reason)
    result = replace(
        build_result(scan.scan_id, facts, reason, about), outcome=Outcome.SUCCESS, scan_count=scan.scan_count
    )
    messages = [record.scan_event(result, about)] if result.points_status in EARNING else []
    parameters = {
        "scan_id": scan.scan_id,
        "user_id": user_id,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        **publishing.insertion(messages=messages, brand_id=facts.brand_id, at=about.at),
    }
    try:
        with transaction.atomic():
            adopted = sql.row(ADOPT, parameters)
            publishing.wake_after_commit(messages)
    except IntegrityError:  # a sender used our source and this scan's id
        raise ScanNotAdoptable from None
    if adopted is None and not Scan.objects.filter(pk=scan.pk, user_id=user_id).exists():
        raise ScanNotAdoptable


def place(*, scan: Scan, latitude: float, longitude: float) -> None:
    """Note where a scan happened, if that is not known yet."""
    found = ScanLocation(latitude, longitude).named()
    parameters = {"scan_id": scan.scan_id, "latitude": latitude, "longitude": longitude, "location": found.label}
    sql.rows(PLACE, parameters)


def forget(*, user_id: int, brand_id: int, to: int) -> None:
    """For the erasure of a person's data: their scans are the pseudonym's, and tell no more than the city."""
    sql.rows(FORGET, {"user_id": user_id, "brand_id": brand_id, "to": to})
