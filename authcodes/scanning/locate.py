"""Names the places of older scans that only have coordinates."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from authcodes.scanning.types import ScanLocation
from core.db.statements import command, query


@dataclass(frozen=True, slots=True)
class UnlocatedScan:
    """A scan with coordinates but without a place name."""

    scan_id: UUID
    latitude: float
    longitude: float


LOCK_UNLOCATED_SCANS = query("authcodes/scanning/sql/lock_unlocated_scans.sql", returns=UnlocatedScan)
LOCATE_SCANS = command("authcodes/scanning/sql/locate_scans.sql")


def locate_pending(*, limit: int) -> int:
    """Name city and region of up to `limit` scans of earlier releases that only have coordinates; returns how many."""
    with transaction.atomic():
        scans = LOCK_UNLOCATED_SCANS.all(limit=limit)
        if not scans:
            return 0
        labels = [ScanLocation(scan.latitude, scan.longitude).named().label for scan in scans]
        LOCATE_SCANS.run(scan_ids=[scan.scan_id for scan in scans], labels=labels)
    return len(scans)
