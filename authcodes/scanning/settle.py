"""Writes the final status of a scan's points."""

import uuid
from decimal import Decimal

from authcodes.models.scans import Scan
from authcodes.scanning.types import ZERO
from core.db import sql
from core.db.statements import command, part

SETTLE_SCAN = command("authcodes/scanning/sql/settle_scan.sql")
SETTLE_SCANS = part("authcodes/scanning/sql/settle_scans.sql")


def settle(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal = ZERO) -> None:
    """Write the final status of a scan's points. Call inside the transaction that decides it."""
    SETTLE_SCAN.run(scan_id=scan_id, points_status=status.value, points_awarded=awarded)


def settlement(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal) -> sql.Fragment:
    """The same, as a part of the statement that credits the points."""
    written = {"scan_id": str(scan_id), "points_status": status.value, "points_awarded": str(awarded)}
    return sql.Fragment(SETTLE_SCANS, written)
