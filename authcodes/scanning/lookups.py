"""Looking codes up without scanning them: the only code that writes CodeLookup."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from authcodes.models.lookups import CodeLookup
from authcodes.scanning.types import ScanContext, ScanResult
from core.db import sql
from loyalty.members import personal_data

KEPT = timedelta(days=30)

NOTE = """
    INSERT INTO authcodes_codelookup (brand_id, auth_code_id, code, user_id, reason, looked_up_at)
    VALUES (%(brand_id)s::bigint, %(code_id)s::bigint, %(code)s::text, %(user_id)s::bigint, %(reason)s::text,
            %(at)s::timestamptz)
    RETURNING lookup_id
"""


def note(*, result: ScanResult, scanned: str, about: ScanContext) -> None:
    """Record that somebody looked a code up: whoever tries many of them leaves a trace."""
    facts = result.facts
    written = {
        "brand_id": facts.brand_id if facts else about.brand_id,
        "code_id": facts.id if facts else None,
        "code": facts.code if facts else scanned[:64],
        "user_id": about.user_id,
        "reason": result.reason.value,
        "at": about.at,
    }
    sql.rows(NOTE, written)


def export(user_id: int, brand_id: int) -> Iterator[dict[str, Any]]:
    """What a person looked up at the brand, newest first."""
    theirs = CodeLookup.objects.filter(user_id=user_id, brand_id=brand_id)
    return personal_data.rows(theirs.order_by("-lookup_id").values("looked_up_at", "code", "reason"))


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - as all modules have it
    """Give the person's lookups at the brand to the pseudonym `to`, which is the account itself where it is emptied."""
    CodeLookup.objects.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)


def forget_old(*, at: datetime) -> int:
    """Delete what has been kept long enough; returns how many."""
    deleted, _each = CodeLookup.objects.filter(looked_up_at__lt=at - KEPT).delete()
    return deleted
