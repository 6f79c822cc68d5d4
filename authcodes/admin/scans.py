"""Page: every attempt to scan, with its true reason. Read-only: only authcodes/scanning writes scans."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Case, CharField, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from authcodes.admin.filters import CodeStatusFilter, CustomerFilter, PlaceFilter, ScanDayFilter
from authcodes.admin.place_suggestions import SCRIPT
from authcodes.admin.scan_meaning import panel_context
from authcodes.admin.search import Search
from authcodes.models.scans import Scan
from authcodes.places import names
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.identity.roles import VIEW, brand_scope
from loyalty.models.accounts import UserPoints
from portal.base.badges import badge
from portal.base.links import link
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists import local_time
from portal.lists.field_column import attribute_column
from portal.lists.filters import OwnRowsFilter
from portal.lists.queries import report_search_error
from portal.unfold import ChoicesFilter, display

MEMBERS = "loyalty.userpoints"
MAX_BRANDS = 50  # whose scans are merged; for more, the scans are sorted
RELATED_ON_PAGE = ("brand", "product", "batch__recall", "campaign")
COLOURS = {"success": "success", "warning": "warning", "error": "danger"}
CUSTOMER = Case(
    When(CUSTOMER_IS_OURS, then="user__email"),
    When(user__isnull=False, then=Value(_("another brand's customer"), output_field=CharField())),
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
    linked_filters = ("user__gt=0",)  # scans by customers; customer ids must not be guessable
    list_select_related = ("product",)
    sortable_by = ("scanned_at",)
    pages_by_key = True
    search_fields = ("code__startswith",)
    search_help_text = _("Code, product or customer")
    fieldsets = (
        (None, {"fields": (("code_page", "scanned_at"), ("result", "reason"), ("product", "batch"), "campaign")}),
        (_("Customer"), {"fields": (("customer_page", "first_scanned_by"), ("place",), ("device", "app_version"))}),
        (_("Points"), {"fields": (("points_status", "scan_count"), ("points_promised", "points_awarded"))}),
    )

    change_form_outer_before_template = "admin/authcodes/scan/panel.html"

    class Media:
        js = (SCRIPT,)

    def export_name(self, _query: QueryDict) -> str:
        return gettext("Export scan report")

    def keyset_partitions(self, request: HttpRequest) -> list[Q]:
        """One partition per brand and one for scans without a brand: the index of times starts with the brand."""
        brands = self.brands_seen(request)
        everywhere = [Q(brand__isnull=True)] if self.brand_scope(request, VIEW).everywhere else []
        parts = [*(Q(brand=brand.pk) for brand in brands), *everywhere]
        return parts if 1 < len(parts) <= MAX_BRANDS else [Q()]

    def with_related(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        annotated: QuerySet[Any] = rows.annotate(customer_email=CUSTOMER)
        return annotated

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        rows = self.get_queryset(request)
        result = self.with_related(rows).select_related(*RELATED_ON_PAGE).get(pk=row.pk)
        of_code = rows.filter(auth_code=result.auth_code_id, brand=result.brand_id, outcome=Scan.Outcome.SUCCESS)
        accepted = of_code if result.auth_code_id else rows.none()
        result.first_scan = self.with_related(accepted).order_by("scanned_at", "scan_id").first()
        users = [result.user_id, result.first_scan.user_id if result.first_scan else None]
        members = UserPoints.objects.filter(brand=result.brand_id, user__in=[user for user in users if user])
        seen = brand_scope(request.user, VIEW, MEMBERS).of(members, "brand")
        member_of_user = dict(seen.values_list("user", "pk"))
        for scan in filter(None, (result, result.first_scan)):
            scan.visible_member = member_of_user.get(scan.user_id)
        return result

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        context |= panel_context(self.admin_site, request, options["obj"])
        return super().render_change_form(request, context, *args, **options)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        with report_search_error(request, queryset) as search:
            search.rows = Search(self, request, search_term).scans(queryset)
        return search.rows, False

    customer = attribute_column("customer_email", description=_("customer"))

    @display(description=_("customer"))
    def customer_page(self, scan: Any) -> SafeString | None:
        """The customer, linked to the member."""
        return linked_customer(scan)

    @display(description=_("code"))
    def code_page(self, scan: Any) -> SafeString | str:
        """The code, linked to its page."""
        if scan.auth_code_id is None:
            return str(scan.code)
        return link(reverse("admin:authcodes_authcode_change", args=[scan.auth_code_id]), scan.code)

    @display(description=_("first scanned by"))
    def first_scanned_by(self, scan: Any) -> SafeString | str | None:
        """The customer who scanned this code first, and when."""
        first = scan.first_scan
        if first is None:
            return None
        if first.pk == scan.pk:
            return gettext("this scan")
        when = local_time.display_moment(first.scanned_at, scan.brand.zone)
        customer = linked_customer(first) or gettext("a guest")
        return format_html("{}, {}", customer, link(reverse("admin:authcodes_scan_change", args=[first.pk]), when))

    @display(description=_("location"))
    def place(self, scan: Scan) -> str:
        return names.short(scan.location)

    @display(description=_("outcome"), ordering="outcome")
    def result(self, scan: Scan) -> SafeString:
        return result_of(scan)


def linked_customer(scan: Any) -> SafeString | None:
    """The customer's e-mail address, linked to the member if the user may see it."""
    if scan.customer_email is None:
        return None
    if scan.visible_member is None:
        return format_html("{}", scan.customer_email)
    return link(reverse("admin:loyalty_userpoints_change", args=[scan.visible_member]), scan.customer_email)


def result_of(scan: Scan) -> SafeString:
    """The outcome; for an unknown code, the reason."""
    is_unknown = scan.reason == Scan.Reason.UNKNOWN
    return badge(COLOURS[scan.outcome], scan.get_reason_display() if is_unknown else scan.get_outcome_display())
