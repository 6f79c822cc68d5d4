"""Page: single codes. Staff note where they are kept, and deactivate and reactivate them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from authcodes.admin.codes.actions import CodeActionsAdmin, summary_of
from authcodes.admin.codes.timeline import timeline_of
from authcodes.admin.filters import (
    STATES,
    AssignedFilter,
    CodeLocationFilter,
    FirstPlaceFilter,
    FirstScanFilter,
    InventoryFilter,
    StatusFilter,
)
from authcodes.admin.place_suggestions import SCRIPT, suggestions
from authcodes.admin.search import Search, beginning_with
from authcodes.dashboard.filters import Status
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.models.scans import Scan
from authcodes.places import names
from brands.identity.roles import ACT, VIEW
from brands.scanned import read
from core.numbers import grouped
from portal.base.badges import badge
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.lists.changelist import Count, CountedChangeList
from portal.lists.filters import DayFilter, OwnRowsFilter
from portal.lists.queries import report_search_error
from portal.unfold import display

COLOURS = {
    "recalled": "danger",
    "deactivated": "warning",
    "expired": "warning",
    "unassigned": "warning",
    "scanned": "info",
    "unscanned": "success",
}
# Filters of the list that depend on whether a code was scanned.
SCANNED_OR_NOT = ("status", "scan_count", "scan_count__gt")


def shows_unscanned(query: QueryDict) -> bool:
    return query.get("status") == Status.UNSCANNED or query.get("scan_count") == "0"


# Filters of the list that select whole batches, with the matching field of a batch.
COUNTED_BY = {
    "batch__id__exact": "pk",
    "batch__campaign__campaign_id__exact": "campaign",
    "brand__id__exact": "brand",
}


@admin.register(AuthCode)
class AuthCodeAdmin(CodeActionsAdmin):
    role_permissions: ClassVar = {
        "owner": "view change act",
        "manager": "view change act",
        "printer": "view change act",
        "support": "view",
    }
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 3, "qr_code_2")
    opens_in_drawer = True
    change_form_outer_before_template = "admin/authcodes/code/summary.html"
    change_form_outer_after_template = "admin/authcodes/code/timeline.html"
    list_display = ("code", "status", "product", "batch", "scan_count", "first_scan_at", "first_place")
    list_filter = (
        StatusFilter,
        ("created_at", DayFilter),
        ("first_scan_at", FirstScanFilter),
        FirstPlaceFilter,
        ("batch__campaign", OwnRowsFilter),
        ("batch", OwnRowsFilter),
        ("product", OwnRowsFilter),
        AssignedFilter,
        InventoryFilter,
        CodeLocationFilter,
    )
    linked_filters = ("scan_count", "scan_count__gt")
    list_select_related = ("product", "batch__recall", "brand")
    pages_by_key = True
    sortable_by = ("code",)
    search_fields = ("code__startswith",)
    search_help_text = gettext_lazy("Code, product, customer or inventory location")
    fieldsets = (
        (None, {"fields": (("code", "status"), ("product", "batch"))}),
        (gettext_lazy("Scans"), {"fields": ("scan_count", ("first_scan_at", "first_place"))}),
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
        "first_place",
        "created_at",
        "deactivated_at",
    )

    class Media:
        js = (SCRIPT,)

    def own_views(self) -> dict[str, Any]:
        return {"places": ("places/", self.places), **super().own_views()}

    def places(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return suggestions(request, self.brands_seen(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Add the link that prints the listed codes."""
        link = ""
        if self.print_page.brand_scope(request, ACT):
            query = f"?{request.GET.urlencode()}" if request.GET else ""
            link = reverse("admin:authcodes_printrun_codes") + query
        return super().changelist_view(request, {"print_address": link, **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        code = self.get_object(request, object_id)
        scan_admin = self.admin_site.get_model_admin(Scan)
        page_context = {"code_summary": summary_of(request, code), "timeline": timeline_of(request, code, scan_admin)}
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def known_count(self, request: HttpRequest, changes: CountedChangeList) -> Count | None:
        """Sum the code counts of batches: exact, while planner estimates of young tables are not."""
        if not changes.is_filtered_only_by(*COUNTED_BY):
            return None
        parameters = {field: changes.filter_params.get(name, [""])[-1] for name, field in COUNTED_BY.items()}
        requested = {field: value for field, value in parameters.items() if value}
        batches = self.brand_scope(request, VIEW).of(BatchRange.objects.filter(**requested), "brand")
        return Count(batches.aggregate(codes=Coalesce(Sum("generated_count"), 0))["codes"])

    @property
    def print_page(self) -> Any:
        return self.admin_site.get_model_admin(PrintRun)

    def export_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Also offer an export of the unscanned codes, unless a filter already depends on scans."""
        links = super().export_links(request)
        if any(request.GET.get(name) for name in SCANNED_OR_NOT):
            return links
        unscanned = request.GET.copy()
        unscanned["status"] = Status.UNSCANNED
        return [*links, (self.export_address(unscanned), self.export_name(unscanned))]

    def export_name(self, query: QueryDict) -> str:
        return gettext("Export unscanned codes") if shows_unscanned(query) else gettext("Export codes")

    def export_kind_of(self, query: QueryDict) -> str:
        """Exports of unscanned codes have fewer columns."""
        return "export-unscanned" if shows_unscanned(query) else "export-codes"

    @display(description=gettext_lazy("status"))
    def status(self, code: AuthCode) -> SafeString:
        name = status_of(code)
        return badge(COLOURS[name], STATES[name])

    @display(description=gettext_lazy("first scan location"))
    def first_place(self, code: AuthCode) -> str | None:
        return names.short(code.first_scan_location) if code.first_scan_location else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuthCode], search_term: str
    ) -> tuple[QuerySet[AuthCode], bool]:
        with report_search_error(request, queryset) as search:
            search.rows = Search(self, request, search_term).codes(queryset)
        return search.rows, False

    def first_match(self, request: HttpRequest, rows: QuerySet[AuthCode], text: str) -> QuerySet[AuthCode]:
        """Matches for the portal's search box: codes with this start, in index order, each with the customer of its
        latest accepted scan if the user may see that scan.
        """
        reading = read(text)
        if not (reading and reading.code):
            return rows.none()
        matches = rows.filter(**beginning_with(reading.code)).order_by("code").select_related(*self.list_select_related)
        page: Any = self.admin_site.get_model_admin(Scan)
        if not page.has_view_permission(request):
            return matches
        accepted = page.get_queryset(request).filter(outcome=Scan.Outcome.SUCCESS, user__isnull=False)
        scans = page.with_related(accepted).filter(auth_code=OuterRef("pk"), brand=OuterRef("brand"))
        latest = scans.order_by("-scanned_at", "-scan_id").values("customer_email")[:1]
        return matches.annotate(last_customer=Subquery(latest))

    def describe_match(self, code: AuthCode) -> list[str]:
        """The details next to a code in the search box."""
        customer = getattr(code, "last_customer", None)
        return [
            *([str(code.product)] if code.product else []),
            str(STATES[status_of(code)]),
            *([scans_text(code.scan_count)] if code.scan_count else []),
            *([gettext("last scanned by %(customer)s") % {"customer": customer}] if customer else []),
        ]


def scans_text(number: int) -> str:
    return ngettext("%(number)s scan", "%(number)s scans", number) % {"number": grouped(number)}


def status_of(code: AuthCode) -> str:
    """The status that matters most to a customer who scans the code."""
    if code.batch.recalls(code.code):
        return "recalled"
    if code.deactivated_at:
        return "deactivated"
    day = code.batch.expiration_date
    if day and day < code.brand.day_at(timezone.now()):
        return "expired"
    if code.product_id is None:
        return "unassigned"
    return "scanned" if code.scan_count else "unscanned"
