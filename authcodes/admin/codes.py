"""Page: single codes. Staff note where they are kept, and switch them off and on."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes import batches
from authcodes.admin.exports import ExportingAdmin
from authcodes.models import AuthCode, Job
from authcodes.reading import read
from brands.lists import OwnRowsFilter, StateFilter
from brands.portal import badge
from brands.unfolded import display

COLOURS = {
    "recalled": "danger",
    "deactivated": "warning",
    "expired": "warning",
    "scanned": "info",
    "unscanned": "success",
}


class StatusFilter(StateFilter):
    title = gettext_lazy("status")
    parameter_name = "status"
    states = {
        "scanned": gettext_lazy("Scanned"),
        "unscanned": gettext_lazy("Unscanned"),
        "expired": gettext_lazy("Expired"),
        "deactivated": gettext_lazy("Deactivated"),
        "recalled": gettext_lazy("Recalled"),
    }


@admin.register(AuthCode)
class AuthCodePage(ExportingAdmin):
    export_kind = Job.Kind.EXPORT_UNSCANNED
    export_name = gettext_lazy("Export unscanned codes")
    export_note = gettext_lazy("Of these, the codes that nobody has scanned yet.")
    list_display = ("code", "status", "product", "batch", "scan_count", "first_scan_at", "first_scan_location")
    list_filter = (
        StatusFilter,
        ("product", OwnRowsFilter),
        ("batch", OwnRowsFilter),
        ("batch__campaign", OwnRowsFilter),
    )
    list_select_related = ("product", "batch__recall", "brand")
    search_fields = ("code__startswith",)
    search_help_text = gettext_lazy("A code or how it begins, as printed or as scanned.")
    fieldsets = (
        (None, {"fields": (("code", "status"), ("product", "batch"))}),
        (gettext_lazy("Scans"), {"fields": ("scan_count", ("first_scan_at", "first_scan_location"))}),
        (gettext_lazy("Assignment"), {"fields": (("inventory_location", "location"), "points_per_scan", "notes")}),
        (gettext_lazy("History"), {"fields": (("created_at", "deactivated_at"),)}),
    )
    readonly_fields = (
        "code",
        "status",
        "product",
        "batch",
        "points_per_scan",
        "scan_count",
        "first_scan_at",
        "first_scan_location",
        "created_at",
        "deactivated_at",
    )
    actions = ("deactivate", "reactivate")

    def exported(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(scan_count=0)

    @display(description=gettext_lazy("status"))
    def status(self, code: AuthCode) -> SafeString:
        name = status_of(code)
        return badge(COLOURS[name], StatusFilter.states[name])

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuthCode], search_term: str
    ) -> tuple[QuerySet[AuthCode], bool]:
        """What a scanner types into the box may be a whole address or carry a tag."""
        reading = read(search_term)
        return super().get_search_results(request, queryset, reading.code if reading else search_term)

    @admin.action(description=gettext_lazy("Deactivate: scan as not valid"), permissions=["act"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[AuthCode]) -> None:
        codes = self.chosen(request, queryset.filter(deactivated_at__isnull=True))
        batches.deactivate(codes=codes, at=timezone.now())
        self.report(request, codes, _("Deactivated"))

    @admin.action(description=gettext_lazy("Reactivate"), permissions=["act"])
    def reactivate(self, request: HttpRequest, queryset: QuerySet[AuthCode]) -> None:
        codes = self.chosen(request, queryset.filter(deactivated_at__isnull=False))
        batches.reactivate(codes=codes)
        self.report(request, codes, _("Reactivated"))


def status_of(code: AuthCode) -> str:
    """The one status that matters most for whoever scans it."""
    if hasattr(code.batch, "recall"):
        return "recalled"
    if code.deactivated_at:
        return "deactivated"
    day = code.batch.expiration_date
    if day and day < timezone.now().astimezone(code.brand.zone).date():
        return "expired"
    return "scanned" if code.scan_count else "unscanned"
