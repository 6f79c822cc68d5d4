"""Names the places of older scans that have only coordinates."""

from django.db import transaction

from authcodes.scanning.types import ScanLocation
from core.db import sql

# Scans are recorded with their place. Some from earlier releases still wait for theirs, and are taken in small
# portions; several workers take different ones.
UNLOCATED = """
    SELECT scan_id, latitude, longitude FROM authcodes_scan
     WHERE latitude IS NOT NULL AND located_at IS NULL
     ORDER BY scanned_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
"""
LOCATE = """
    WITH found AS (
        SELECT * FROM unnest(%(scan_ids)s::uuid[], %(labels)s::text[]) AS f (scan_id, label)
    ), located AS (
        UPDATE authcodes_scan s SET location = f.label, located_at = now()
          FROM found f WHERE s.scan_id = f.scan_id
        RETURNING s.auth_code_id, s.location, s.scan_count, s.outcome
    ), first AS (
        UPDATE authcodes_authcode c SET first_scan_location = l.location
          FROM located l WHERE c.id = l.auth_code_id AND l.outcome = 'success' AND l.scan_count = 1
        RETURNING c.id
    )
    SELECT count(*) FROM located
"""


def locate_pending(*, limit: int) -> int:
    """Name city and region of up to `limit` scans of earlier releases that have only coordinates; returns how many."""
    with transaction.atomic():
        found = sql.rows(UNLOCATED, {"limit": limit})
        if not found:
            return 0
        labels = [ScanLocation(latitude, longitude).named().label for _scan_id, latitude, longitude in found]
        sql.rows(LOCATE, {"scan_ids": [scan_id for scan_id, *_place in found], "labels": labels})
    return len(found)
