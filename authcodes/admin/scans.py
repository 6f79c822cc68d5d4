"""Page: every attempt to scan, with its true reason. For reading: authcodes/scanning alone writes it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Case, Q, QuerySet, Value, When
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from authcodes.admin.filters import CodeStatusFilter, CustomerFilter, PlaceFilter, ScanDayFilter
from authcodes.admin.place_suggestions import SCRIPT
from authcodes.admin.search import Search
from authcodes.models.scans import Scan
from authcodes.places import names
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.identity.roles import VIEW
from portal.base.badges import badge
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import OwnRowsFilter
from portal.lists.queries import report_search_error
from portal.unfold import ChoicesFilter, display

MAX_BRANDS = 50  # whose scans are merged; a superuser who sees more has them sorted
COLOURS = {"success": "success", "warning": "warning", "error": "danger"}
CUSTOMER = Case(
    When(CUSTOMER_IS_OURS, then="user__email"),
    When(user__isnull=False, then=Value("another brand's customer")),
)


@admin.register(Scan)
class ScanAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 1, "qr_code_scanner")
    opens_in_drawer = True
    export_kind = "export-scans"
    list_display = ("scanned_at", "code", "result", "reason", "product", "customer", "place", "points_awarded")
    list_filter = (
        ("outcome", ChoicesFilter),
        ("reason", ChoicesFilter),
        ("points_status", ChoicesFilter),
        ("scanned_at", ScanDayFilter),
        PlaceFilter,
        ("campaign", OwnRowsFilter),
        ("batch", OwnRowsFilter),
        ("product", OwnRowsFilter),
        CodeStatusFilter,
        ("user", CustomerFilter),
    )
    linked_filters = ("user__gt=0",)  # scans by customers; numbers are not to be guessed
    list_select_related = ("product",)
    sortable_by = ("scanned_at",)
    pages_by_key = True
    search_fields = ("code__startswith",)
    search_help_text = _("Code, product or customer")
    fieldsets = (
        (None, {"fields": (("code", "scanned_at"), ("result", "reason"), ("product", "batch"), "campaign")}),
        (_("Customer"), {"fields": (("customer", "place"), ("device", "app_version"))}),
        (_("Points"), {"fields": (("points_status", "scan_count"), ("points_promised", "points_awarded"))}),
    )

    class Media:
        js = (SCRIPT,)

    def export_name(self, _query: QueryDict) -> str:
        return gettext("Export scan report")

    def keyset_partitions(self, request: HttpRequest) -> list[Q]:
        """Brand by brand, and what belongs to none: the index of their moments begins with the brand."""
        brands = self.brands_seen(request)
        everywhere = [Q(brand__isnull=True)] if self.brand_scope(request, VIEW).everywhere else []
        parts = [*(Q(brand=brand.pk) for brand in brands), *everywhere]
        return parts if 1 < len(parts) <= MAX_BRANDS else [Q()]

    def with_related(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        annotated: QuerySet[Any] = rows.annotate(customer_email=CUSTOMER)
        return annotated

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        result = super().get_object(request, object_id, from_field)
        result.customer_email = self.with_related(Scan.objects.filter(pk=result.pk)).get().customer_email
        return result

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        with report_search_error(request, queryset) as search:
            search.rows = Search(self, request, search_term).scans(queryset)
        return search.rows, False

    @display(description=_("customer"))
    def customer(self, scan: Any) -> str | None:
        email: str | None = scan.customer_email
        return email

    @display(description=_("location"))
    def place(self, scan: Scan) -> str:
        return names.short(scan.location)

    @display(description=_("outcome"), ordering="outcome")
    def result(self, scan: Scan) -> SafeString:
        return result_of(scan)


def result_of(scan: Scan) -> SafeString:
    return badge(COLOURS[scan.outcome], scan.get_outcome_display())
