"""Writes on a scan what became of its points."""

import uuid
from decimal import Decimal

from authcodes.models.scans import Scan
from authcodes.scanning.types import ZERO
from core.db import sql

SETTLE = """
    UPDATE authcodes_scan SET points_status = %(points_status)s::text, points_awarded = %(points_awarded)s::numeric
     WHERE scan_id = %(scan_id)s::uuid RETURNING scan_id
"""
SETTLE_BESIDE = """
    UPDATE authcodes_scan s SET points_status = b.points_status, points_awarded = b.points_awarded
      FROM held
      JOIN jsonb_to_recordset(%(beside)s::jsonb)
           AS b (item int, scan_id uuid, points_status text, points_awarded numeric) USING (item)
     WHERE s.scan_id = b.scan_id
"""


def settle(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal = ZERO) -> None:
    """Write what became of a scan's points. Call inside the transaction that decides it."""
    sql.rows(SETTLE, {"scan_id": scan_id, "points_status": status.value, "points_awarded": awarded})


def settlement(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal) -> sql.Fragment:
    """The same, as a part of the statement that credits them."""
    written = {"scan_id": str(scan_id), "points_status": status.value, "points_awarded": str(awarded)}
    return sql.Fragment(SETTLE_BESIDE, written)
