"""Lookups of codes without scanning. Only this module and personal_data.py write CodeLookup."""

from datetime import datetime, timedelta

from authcodes.models.lookups import CodeLookup
from authcodes.scanning.types import ScanContext, ScanResult
from core.db.statements import command

RETENTION = timedelta(days=30)

INSERT_LOOKUP = command("authcodes/scanning/sql/insert_lookup.sql")


def note(*, result: ScanResult, scanned: str, context: ScanContext) -> None:
    """Record a lookup, so that anyone who tries many codes leaves a trace."""
    snapshot = result.snapshot
    INSERT_LOOKUP.run(
        brand_id=snapshot.brand_id if snapshot else context.brand_id,
        code_id=snapshot.id if snapshot else None,
        code=snapshot.code if snapshot else scanned[:64],
        user_id=context.user_id,
        reason=result.reason.value,
        at=context.at,
    )


def purge_old(*, at: datetime) -> int:
    """Delete lookups after their retention; returns how many."""
    deleted, _each = CodeLookup.objects.filter(looked_up_at__lt=at - RETENTION).delete()
    return deleted
