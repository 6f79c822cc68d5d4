"""Page: batches of codes. authcodes.codes.batches creates a batch; a worker makes its codes."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.admin.batches.deliveries import BatchDeliveries
from authcodes.admin.batches.forms import SCAN_VALUE_FIELDS, BatchForm, NewBatchForm, protection_of
from authcodes.admin.batches.links import CODE_CHANGE_ACTIONS
from authcodes.admin.batches.page import BatchPages
from authcodes.admin.batches.summary import summary_of
from authcodes.admin.batches.wizard import BatchWizard
from authcodes.admin.codes import bulk_actions
from authcodes.admin.filters import BatchStateFilter
from authcodes.admin.product_lookup import ActiveProductLookup
from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from brands.identity import roles
from brands.identity.roles import ADD, CHANGE, SCAN_VALUE
from core.errors import DomainError
from core.numbers import is_id
from loyalty.admin.ceiling import CeilingAdmin, PendingApproval
from portal.base.badges import badge
from portal.base.fieldsets import fieldsets_without
from portal.base.job_panel import job_context
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import DayFilter, OwnRowsFilter
from portal.mixins.live_lists import LiveAdmin
from portal.unfold import TextWidget, action, display


@admin.register(BatchRange)
class BatchAdmin(BatchWizard, BatchPages, BatchDeliveries, ExportingAdmin, LiveAdmin, CeilingAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change set-scan-value",
        "manager": "view add change set-scan-value",
        "printer": "view add change",
        "support": "view",
    }
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 2, "inventory_2")
    live_columns = ("state",)
    export_kind = "export-batches"
    form = BatchForm
    points_fields = ("points_per_scan",)
    list_display = (
        "range_name",
        "state",
        "protection",
        "product",
        "codes",
        "quantity",
        "scan_limit",
        "expiration_date",
        "created_at",
    )
    list_filter = (BatchStateFilter, ("product", OwnRowsFilter), ("campaign", OwnRowsFilter), ("created_at", DayFilter))
    list_select_related = ("product", "recall", "brand")
    search_fields = ("range_name", "first_code__startswith")
    search_help_text = gettext_lazy("Part of the name, or the start of the first code.")
    autocomplete_fields = ("product", "campaign")
    lookups = {"product": ActiveProductLookup}
    actions_detail = ("recall",)
    fixed_fields = ("product", "state", "codes", "quantity", "protection", "created_at", "created_by")
    fieldsets = (
        (None, {"fields": ("brand", ("range_name", "state"), "product", ("campaign", "after_campaign"))}),
        (gettext_lazy("Numbering"), {"fields": ("codes", ("quantity", "protection"), "error_correction")}),
        (gettext_lazy("Rules"), {"fields": (("points_per_scan", "scan_limit"), "reason", "expiration_date")}),
        (gettext_lazy("History"), {"fields": (("created_at", "created_by"),)}),
    )
    add_fieldsets = (
        (None, {"fields": ("brand", "range_name", "product", "campaign", "after_campaign")}),
        (gettext_lazy("Protection"), {"fields": ("signed",)}),
        (
            gettext_lazy("Numbering"),
            {"fields": ("prefix", "quantity", "starting_number", "number_width", "error_correction")},
        ),
        (gettext_lazy("Rules"), {"fields": ("points_per_scan", "scan_limit", "expiration_date")}),
    )
    add_help_texts = {
        "prefix": gettext_lazy(
            "The start of every code, such as NW- in NW-000001: letters, digits, - and _. It distinguishes the "
            "brand's codes from those of other brands. Choose one of the brand's prefixes or enter a new one, which "
            "is reserved when you save."
        ),
        "quantity": gettext_lazy("Number of codes."),
        "starting_number": gettext_lazy("Number of the first code."),
    }

    class Media:
        js = (Script("portal/live_panel.js", type="module"),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Annotate each batch with whether a generation job for it is unfinished."""
        being_made = Exists(batches.generations_of(OuterRef("pk")).unfinished())
        rows: QuerySet[Any] = super().get_queryset(request).annotate(is_being_made=being_made)
        return rows

    def own_views(self) -> dict[str, Any]:
        return {
            "summary": ("summary/", self.summary),
            "finish": ("<id:pk>/finish/", self.finish),
            "deliver": ("<id:pk>/deliver/", self.deliver),
            "undeliver": ("<id:pk>/undeliver/", self.undeliver),
            **{
                name: (f"<id:pk>/{name}/", partial(self.change_codes, kind=kind))
                for kind, (name, _icon) in CODE_CHANGE_ACTIONS.items()
            },
            **super().own_views(),
        }

    def is_changing(self, batch: BatchRange) -> bool:
        return not batch.is_generated and bool(batch.is_being_made)  # type: ignore[attr-defined] # set by get_queryset

    @display(description=gettext_lazy("state"))
    def state(self, batch: BatchRange) -> SafeString:
        return self.live(batch, "state", self.badge_of(batch))

    def badge_of(self, batch: BatchRange) -> SafeString:
        if batch.recall_id:
            return badge("danger", _("Recalled in part") if batch.is_recalled_in_part else _("Recalled"))
        if is_expired(batch):
            return badge("warning", _("Expired"))
        if not batch.quantity:
            return badge("", _("Undone"))
        if batch.is_generated:
            return badge("success", _("Ready"))
        values = {"done": 100 * batch.generated_count // batch.quantity}
        if self.is_changing(batch):
            return badge("info", _("Generating: %(done)d %%") % values)
        return badge("warning", _("Stopped: %(done)d %%") % values)

    @display(description=gettext_lazy("codes"), ordering="first_code")
    def codes(self, batch: BatchRange) -> SafeString:
        """Keep each code in one piece, so that lines wrap only between the two codes."""
        return format_html(
            '<span class="whitespace-nowrap">{}</span> <span class="whitespace-nowrap">… {}</span>',
            batch.first_code,
            batch.last_code,
        )

    @display(description=gettext_lazy("protection"))
    def protection(self, batch: BatchRange) -> SafeString:
        return badge(*protection_of(batch))

    @action(description=gettext_lazy("Recall"), url_path="recall", icon="report", permissions=["recall"])
    def recall(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the page that previews a recall."""
        return redirect(f"{reverse('admin:authcodes_recall_add')}?batch={object_id}")

    def has_recall_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not is_id(str(object_id)):
            return False
        rows = self.get_queryset(request).filter(pk=object_id, recall__isnull=True)
        return roles.brand_scope(request.user, ADD, "authcodes.recall").of(rows, "brand").exists()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        if obj is None:
            return fields
        return [*fields, *self.fixed_fields, *(() if self.may(request, SCAN_VALUE, obj) else SCAN_VALUE_FIELDS)]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the scan value fields from users who may not set them for any brand."""
        result = super().get_fieldsets(request, obj)
        if obj:
            may_change = self.may(request, CHANGE, obj) and self.may(request, SCAN_VALUE, obj)
            return result if may_change else fieldsets_without(result, ("reason",))
        return result if self.may(request, SCAN_VALUE) else fieldsets_without(result, SCAN_VALUE_FIELDS)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is not None:
            return super().get_form(request, obj, change, **options)
        widgets = {"prefix": TextWidget(attrs={"list": "code-prefixes", "autocomplete": "off"})}
        options |= {"form": NewBatchForm, "help_texts": self.add_help_texts, "widgets": widgets}
        form: Any = super().get_form(request, obj, change, **options)
        form.request = request
        return form

    def summary(self, request: HttpRequest) -> HttpResponse:
        """Preview the batch that the form's current values would create. The form's own rules report what is wrong."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = self.get_form(request)(request.GET)
        return TemplateResponse(request, "admin/authcodes/batch/summary.html", summary_of(form, staff_user(request)))

    def generation_in(self, batch: BatchRange) -> dict[str, Any] | None:
        job = batches.generations_of(batch.pk).filter(brand=batch.brand_id).first() if self.is_changing(batch) else None
        return job_context(job) if job and job.is_unfinished else None

    def change_codes(self, request: HttpRequest, pk: int, kind: CodeChange.Kind) -> HttpResponse:
        return bulk_actions.change_range(self, request, self.get_object(request, str(pk)), kind)

    def finish(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Generate the missing codes."""
        batch = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may(request, ADD, batch):
            raise PermissionDenied
        try:
            with transaction.atomic():
                job = batches.finish_generation(batch=batch, by=staff_user(request))
                self.record_action(request, [batch], gettext_noop("Missing codes"))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_batchrange_change", pk)
        return redirect("admin:jobs_job_change", job.pk)

    def save_model(self, request: HttpRequest, obj: BatchRange, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        if not change:
            super().save_model(request, obj, form, change)
            return
        if not self.may(request, CHANGE, obj):
            raise PermissionDenied
        changed = {name: getattr(obj, name) for name in form.changed_data if name != "reason"}
        reason = form.cleaned_data.get("reason", "")
        batches.change_batch(batch=obj, changed=changed, by=staff_user(request), at=timezone.now(), reason=reason)

    def pending_approvals(self, obj: BatchRange, before: BatchRange | None) -> dict[str, PendingApproval]:
        """Above the ceiling, a higher scan limit also means more points, so it needs approval too."""
        pending_approvals = super().pending_approvals(obj, before)
        above = before is not None and (before.points_per_scan or 0) > obj.brand.max_points_per_scan
        if before is not None and above and _allows_more_scans(obj, before):
            pending_approvals["scan_limit"] = PendingApproval(obj.scan_limit, before.scan_limit)
        return pending_approvals

    def max_total(self, obj: BatchRange, values: Mapping[str, Any]) -> int | None:
        return batches.max_total_points(batch=obj, values=values)


def is_expired(batch: BatchRange) -> bool:
    """Whether the batch's last day has ended in the brand's time zone."""
    day = batch.expiration_date
    return day is not None and day < batch.brand.day_at(timezone.now())


def _allows_more_scans(obj: BatchRange, before: BatchRange) -> bool:
    if before.scan_limit is None:
        return False
    return obj.scan_limit is None or obj.scan_limit > before.scan_limit
