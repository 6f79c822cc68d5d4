"""Page: requests for points above the brand's ceiling. A second member of staff approves or rejects them."""

from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity.roles import ACT
from core.errors import DomainError
from core.numbers import format_number, grouped
from loyalty.models.approvals import PointsApproval
from loyalty.points import approvals
from portal.base.badges import badge_column
from portal.base.links import admin_address
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import TenantAdmin, page_of
from portal.base.tenant_scope import staff_user
from portal.lists.filters import DayFilter
from portal.lists.number_columns import format_points
from portal.unfold import ChoicesFilter, display

COLOURS = {"pending": "warning", "approved": "success", "rejected": "danger", "withdrawn": ""}


@admin.register(PointsApproval)
class PointsApprovalAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 9, "approval", tab=False)
    list_display = ("row_name", "requested", "total", "state", "requested_by", "requested_at", "decided_by")
    list_filter = (("status", ChoicesFilter), ("requested_at", DayFilter))
    list_select_related = ("requested_by", "decided_by")
    search_fields = ("row_name",)
    fieldsets = (
        (None, {"fields": ("brand", ("row_name", "state"), ("requested", "total"))}),
        (gettext_lazy("History"), {"fields": (("requested_by", "requested_at"), ("decided_by", "decided_at"))}),
    )
    change_form_outer_before_template = "admin/loyalty/approval.html"

    def own_views(self) -> dict[str, Any]:
        return {
            "approve": ("<id:pk>/approve/", partial(self.decide, approves=True)),
            "reject": ("<id:pk>/reject/", partial(self.decide, approves=False)),
            **super().own_views(),
        }

    state = badge_column("status", COLOURS, description=gettext_lazy("status"), ordering="status")

    @display(description=gettext_lazy("requested"))
    def requested(self, approval: PointsApproval) -> str:
        return ", ".join(described(approval))

    @display(description=gettext_lazy("max total points"))
    def total(self, approval: PointsApproval) -> str:
        return "-" if approval.max_total is None else format_number(approval.max_total)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [*super().get_readonly_fields(request, obj), "state", "requested", "total"]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        approval = self.get_object(request, object_id)
        context = {
            "approval": approval,
            "approval_state": self.state(approval),
            "requested": described(approval),
            "total": "" if approval.max_total is None else format_points(approval.max_total),
            "row_address": admin_address(approval.kind, "change", approval.row_id),
            "may_decide": approvals.may_decide(approval, staff_user(request)),
            "is_own": approval.requested_by_id == staff_user(request).pk,
        }
        return super().change_view(request, object_id, form_url, {**context, **(extra_context or {})})

    def decide(self, request: HttpRequest, pk: int, approves: bool) -> HttpResponse:  # noqa: FBT001 - from the URL
        approval = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if approval.brand_id not in self.brand_scope(request, ACT):
            raise PermissionDenied
        try:
            with transaction.atomic():
                message = self.approve(request, approval) if approves else self.reject(request, approval)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, message)
        return redirect("admin:loyalty_pointsapproval_change", pk)

    def approve(self, request: HttpRequest, approval: PointsApproval) -> str:
        row: Any = approvals.approve(approval=approval, by=staff_user(request), at=timezone.now())
        self.record_action(request, [approval], gettext_noop("Approved"))
        page = page_of(row, self.admin_site)
        page.remember(request, [row])
        page.record_action(request, [row], gettext_noop("Points approved by a second person"))
        return _("Approved. The new value applies from now on.")

    def reject(self, request: HttpRequest, approval: PointsApproval) -> str:
        approvals.reject(approval=approval, by=staff_user(request), at=timezone.now())
        self.record_action(request, [approval], gettext_noop("Rejected"))
        return _("Rejected. Nothing was changed.")


def described(approval: PointsApproval) -> list[str]:
    """Each requested value with its field's name."""
    model = page_model(approval)
    fields = {name: capfirst(str(model._meta.get_field(name).verbose_name)) for name in approval.values}
    return [
        f"{fields[name]}: {_('unlimited') if value is None else grouped(Decimal(value))}"
        for name, value in approval.values.items()
    ]


def page_model(approval: PointsApproval) -> Any:
    labels = {model._meta.label_lower: model for model in admin.site._registry}  # noqa: SLF001
    return labels[approval.kind]
