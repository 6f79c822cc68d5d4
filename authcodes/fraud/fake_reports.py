"""Reports of products that may be fakes. Only this module and personal_data.py write FakeReport."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from authcodes.models.codes import AuthCode
from authcodes.models.fake_reports import FakeReport
from brands.models.people import User
from brands.scanned import read
from core.db import row_guard

State = FakeReport.State
MAX_CODE_LENGTH = 64
AT_ONCE = 1000  # deleted at once


def report(
    *, brand_id: int, scanned: str, place: str, remark: str, contact: str, user_id: int | None, at: datetime
) -> FakeReport:
    """Store a report about a product. The code may be anything, and no answer shows whether it is the brand's."""
    reading = read(scanned)
    code = reading.code if reading else ""
    own = AuthCode.objects.filter(brand=brand_id)
    with row_guard.within([brand_id]):
        # As a scan reads it: text without one of our codes may be the payload of a code printed elsewhere.
        known = own.filter(code=code).first() or own.filter(payload=scanned.strip()).first()
        return FakeReport.objects.create(
            brand_id=brand_id,
            code=(known.code if known else code or scanned)[:MAX_CODE_LENGTH],
            auth_code=known,
            user_id=user_id,
            place=place,
            remark=remark,
            contact=contact,
            reported_at=at,
        )


def close(*, reports: Iterable[FakeReport], by: User, at: datetime) -> list[FakeReport]:
    """Returns the reports that this call closed."""
    return _change(reports, State.OPEN, state=State.CLOSED, closed_at=at, closed_by=by)


def reopen(*, reports: Iterable[FakeReport]) -> list[FakeReport]:
    """Returns the reports that this call reopened."""
    return _change(reports, State.CLOSED, state=State.OPEN, closed_at=None, closed_by=None)


def _change(reports: Iterable[FakeReport], before: State, **fields: Any) -> list[FakeReport]:
    rows = [each for each in reports if FakeReport.objects.filter(pk=each.pk, state=before).update(**fields)]
    for row in rows:
        vars(row).update({name: value for name, value in fields.items() if name != "closed_by"})
    return rows


def purge(*, at: datetime) -> int:
    """Delete a bounded number of reports older than settings.FAKE_REPORT_DAYS; returns how many."""
    if not settings.FAKE_REPORT_DAYS:
        return 0
    old = FakeReport.objects.filter(reported_at__lt=at - timedelta(days=settings.FAKE_REPORT_DAYS))
    deleted, _each = FakeReport.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:AT_ONCE])).delete()
    return deleted
