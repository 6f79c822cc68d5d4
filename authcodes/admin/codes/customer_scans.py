"""Timeline source: a customer's scans, and why each earned points or did not."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Min
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.scans import result_of
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.places import names
from core.db import statements
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.timeline.sources import Subject, TimelineItem, TimelineSource, address_of

Status = Scan.PointsStatus
# Reasons of scans that were not accepted.
NOT_ACCEPTED = {
    Scan.Reason.UNKNOWN,
    Scan.Reason.BAD_TAG,
    Scan.Reason.OTHER_BRAND,
    Scan.Reason.EXPIRED,
    Scan.Reason.DEACTIVATED,
    Scan.Reason.UNASSIGNED,
    Scan.Reason.RECALLED,
    Scan.Reason.RESERVED,
}


def describe(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    scans = list(Scan.objects.filter(pk__in=ids).select_related("product", "campaign", "auth_code"))
    first = first_scans(subject, [scan for scan in scans if not scan.points_awarded])
    return {str(scan.pk): line_of(subject, scan, first.get(scan.auth_code_id or 0)) for scan in scans}


def line_of(subject: Subject, scan: Scan, first: tuple[datetime, bool] | None) -> TimelineItem:
    place = names.short(scan.location)
    return TimelineItem(
        when=local_time.display_moment(scan.scanned_at, subject.brand.zone),
        icon="qr_code_scanner",
        title=_("Scan of %(code)s") % {"code": scan.code},
        address=address_of(scan),
        state=result_of(scan),
        details=[*(str(part) for part in (scan.product, place) if part), why(subject, scan, first)],
        merge_key=f"scan:{scan.auth_code.code}" if scan.points_awarded and scan.auth_code else "",
    )


def why(subject: Subject, scan: Scan, first: tuple[datetime, bool] | None) -> str:
    """Why the scan earned points or did not, worded for staff."""
    if scan.points_awarded:
        return _("earned %(points)s") % {"points": format_points(scan.points_awarded)}
    if scan.reason in NOT_ACCEPTED:
        return _("no points: %(reason)s") % {"reason": scan.get_reason_display()}
    if scan.points_status == Status.ALREADY_CLAIMED or scan.reason == Scan.Reason.LIMIT_REACHED:
        return repeated(subject, scan, first)
    if scan.points_status == Status.NOT_ELIGIBLE and scan.reason != Scan.Reason.ACCEPTED:
        campaign = f" ({scan.campaign.campaign_name})" if scan.campaign else ""
        return _("no points: %(reason)s") % {"reason": f"{scan.get_reason_display()}{campaign}"}
    return _("no points: %(reason)s") % {"reason": scan.get_points_status_display()}


def repeated(subject: Subject, scan: Scan, first: tuple[datetime, bool] | None) -> str:
    """For a code that was scanned before: when, and whether by the same customer."""
    if first is None or first[0] >= scan.scanned_at:
        return _("no points: %(reason)s") % {"reason": scan.get_reason_display()}
    day = date_format(first[0].astimezone(subject.brand.zone), "SHORT_DATE_FORMAT")
    if first[1]:
        return _("no points: this customer scanned the code before, first on %(day)s") % {"day": day}
    return _("no points: somebody else scanned the code first, on %(day)s") % {"day": day}


def first_scans(subject: Subject, scans: Sequence[Scan]) -> dict[int, tuple[datetime, bool]]:
    """For each scanned code: when it was first accepted, and whether from this customer. Two queries, by key."""
    codes = {scan.auth_code_id for scan in scans if scan.auth_code_id}
    if not codes:
        return {}
    own_scans = Scan.objects.filter(user__in=subject.users, auth_code__in=codes, outcome=Scan.Outcome.SUCCESS)
    own = dict(own_scans.order_by().values("auth_code").annotate(at=Min("scanned_at")).values_list("auth_code", "at"))
    moments = AuthCode.objects.filter(pk__in=codes, first_scan_at__isnull=False).values_list("pk", "first_scan_at")
    return {pk: (at, pk in own and own[pk] <= at) for pk, at in moments if at}


SCANS = TimelineSource(
    name="scans",
    title=gettext_lazy("Scans"),
    label="authcodes.scan",
    branch=statements.part("authcodes/admin/codes/sql/scans_of_customer.sql"),
    describe=describe,
)
