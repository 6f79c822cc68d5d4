"""Page: every attempt to scan, with its true reason. For reading: scanning.py alone writes it."""

from typing import Any

from django.contrib import admin
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from authcodes.admin.exports import ExportingAdmin
from authcodes.exports import CUSTOMER_IS_OURS
from authcodes.models import Job, Scan
from authcodes.reading import read
from brands.lists import ChoicesFilter, DayFilter, OwnRowsFilter
from brands.portal import badge
from brands.unfolded import display

COLOURS = {"success": "success", "warning": "warning", "error": "danger"}
CUSTOMER = Case(
    When(CUSTOMER_IS_OURS, then="user__email"),
    When(user__isnull=False, then=Value("another brand's customer")),
)


@admin.register(Scan)
class ScanPage(ExportingAdmin):
    export_kind = Job.Kind.EXPORT_SCANS
    export_name = _("Export scan report")
    list_display = ("scanned_at", "code", "result", "reason", "product", "customer", "location", "points_awarded")
    list_filter = (
        ("outcome", ChoicesFilter),
        ("reason", ChoicesFilter),
        ("points_status", ChoicesFilter),
        ("scanned_at", DayFilter),
        ("batch", OwnRowsFilter),
        ("product", OwnRowsFilter),
        ("campaign", OwnRowsFilter),
    )
    list_select_related = ("product",)
    search_fields = ("auth_code__code__startswith",)
    search_help_text = _("A code or how it begins, or a customer's e-mail address.")
    fieldsets = (
        (None, {"fields": (("code", "scanned_at"), ("result", "reason"), ("product", "batch"), "campaign")}),
        (_("Customer"), {"fields": (("customer", "location"), ("device", "app_version"))}),
        (_("Points"), {"fields": (("points_status", "scan_count"), ("points_promised", "points_awarded"))}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).annotate(customer_email=CUSTOMER)
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if "@" in search_term:
            email = search_term.strip().lower()
            return queryset.filter(user__email=email, customer_email=email), False
        reading = read(search_term)
        return super().get_search_results(request, queryset, reading.code if reading else search_term)

    @display(description=_("customer"))
    def customer(self, scan: Any) -> str | None:
        email: str | None = scan.customer_email
        return email

    @display(description=_("result"), ordering="outcome")
    def result(self, scan: Scan) -> SafeString:
        return badge(COLOURS[scan.outcome], scan.get_outcome_display())
