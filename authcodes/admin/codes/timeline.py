"""The history on a code's page: its scans with their outcomes, and the changes by staff, newest first."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from authcodes.admin.codes.change_log import kind_badge
from authcodes.admin.scans import ScanAdmin
from authcodes.codes.ranges import spans_more
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.places import names
from brands.identity import roles
from brands.identity.roles import VIEW
from core.numbers import format_number
from portal.lists import local_time
from portal.lists.number_columns import format_points

MAX_ENTRIES = 30


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An entry of the history: a scan, or a change by staff."""

    at: datetime
    when: SafeString
    what: SafeString
    scan: Any = None
    change: CodeChange | None = None
    is_partial: bool = False  # the change affected only some codes of its range, and possibly not this one

    @property
    def place(self) -> str:
        return names.short(self.scan.location)

    @property
    def points(self) -> str:
        """The points that the scan earned; "" for none."""
        return format_points(self.scan.points_awarded) if self.scan.points_awarded else ""


def timeline_of(request: HttpRequest, code: AuthCode, scan_admin: ScanAdmin) -> dict[str, Any]:
    """The latest entries that the user may see, and the totals of the code's scans."""
    sees_scans = code.brand_id in scan_admin.brand_scope(request, VIEW)
    scans = scan_admin.get_queryset(request).filter(auth_code=code)
    latest = scan_admin.with_related(scans).select_related("product").order_by("-scanned_at", "-scan_id")
    zone = code.brand.zone
    entries = [
        *(
            HistoryEntry(it.scanned_at, local_time.display_moment(it.scanned_at, zone), scan_admin.result(it), scan=it)
            for it in (latest[: MAX_ENTRIES + 1] if sees_scans else [])
        ),
        *(
            HistoryEntry(it.changed_at, local_time.display_moment(it.changed_at, zone), kind_badge(it), change=it)
            for it in changes_of(code)
        ),
    ]
    entries.sort(key=lambda entry: entry.at, reverse=True)
    latest_entries = [
        replace(entry, is_partial=spans_more(entry.change, code.batch)) if entry.change else entry
        for entry in entries[:MAX_ENTRIES]
    ]
    totals = scans.aggregate(number=Count("pk"), points=Sum("points_awarded")) if sees_scans else {}
    query = urlencode({"q": code.code})
    return {
        "entries": latest_entries,
        "is_cut": len(entries) > MAX_ENTRIES,
        "sees_scans": sees_scans,
        "scan_count": totals.get("number") or 0,
        "points": format_number(totals.get("points") or 0),
        "scans_address": f"{reverse('admin:authcodes_scan_changelist')}?{query}",
        "sees_imports": code.brand_id in roles.brand_scope(request.user, VIEW, "authcodes.import"),
    }


def changes_of(code: AuthCode) -> QuerySet[CodeChange]:
    """The latest changes to this code or to a range that contains it, newest first; one more than fits on the page."""
    covering = CodeChange.objects.filter(batch=code.batch_id, first_code__lte=code.code, last_code__gte=code.code)
    return covering.select_related("product", "upload", "changed_by").order_by("-id")[: MAX_ENTRIES + 1]
