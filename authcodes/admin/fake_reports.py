"""Page: reports of products that may be fakes. Customers write them; staff close and reopen them."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.fraud import fake_reports
from authcodes.models.fake_reports import FakeReport
from loyalty.points import accounts
from portal.base.badges import badge_column
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"open": "warning", "closed": "success"}


@admin.register(FakeReport)
class FakeReportAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "support": "view act"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 3, "flag_circle")
    list_display = ("reported_at", "code", "place", "remark_shortened", "state_badge")
    list_filter = (("state", ChoicesFilter), ("reported_at", DayFilter))
    search_fields = ("code__startswith", "place__istartswith")
    search_help_text = gettext_lazy("The start of a code or place.")
    actions = ("close", "reopen")
    readonly_fields = ("customer",)
    fieldsets = (
        (None, {"fields": (("code", "auth_code"), "place", "remark", ("contact", "customer"), "reported_at")}),
        (gettext_lazy("State"), {"fields": ("state_badge", ("closed_at", "closed_by"))}),
    )

    state_badge = badge_column("state", COLOURS, description=gettext_lazy("state"))

    @display(description=gettext_lazy("remark"))
    def remark_shortened(self, report: FakeReport) -> str:
        return report.remark if len(report.remark) <= 30 else f"{report.remark[:29]}…"

    @display(description=gettext_lazy("customer"))
    def customer(self, report: FakeReport) -> str:
        """Show only the brand's own customers: a logged-in reporter may belong to another brand."""
        result = report.user_id and accounts.find(brand=report.brand, user_id=report.user_id)
        return result.email if result else "—"

    @admin.action(description=gettext_lazy("Close"), permissions=["act"])
    def close(self, request: HttpRequest, queryset: QuerySet[FakeReport]) -> None:
        by, at = staff_user(request), timezone.now()
        self.change(
            request, queryset, lambda rows: fake_reports.close(reports=rows, by=by, at=at), gettext_noop("Closed")
        )

    @admin.action(description=gettext_lazy("Reopen"), permissions=["act"])
    def reopen(self, request: HttpRequest, queryset: QuerySet[FakeReport]) -> None:
        self.change(request, queryset, lambda rows: fake_reports.reopen(reports=rows), gettext_noop("Reopened"))

    def change(
        self,
        request: HttpRequest,
        queryset: QuerySet[FakeReport],
        how: Callable[[Iterable[FakeReport]], list[Any]],
        text: str,
    ) -> None:
        self.report(request, how(self.chosen(request, queryset)), text)
