"""Page: batches of codes. A new one is made by authcodes.batches, and its codes by a worker."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes import batches, dashboard
from authcodes.admin import orders
from authcodes.admin.batch_summary import summary_of
from authcodes.admin.changes import kind_badge
from authcodes.admin.exports import is_id, within
from authcodes.admin.prints import may_print
from authcodes.batches import BatchSettings
from authcodes.dashboard_filters import Filters
from authcodes.models import AuthCode, BatchRange, CodeChange
from authcodes.refusals import BatchRefused
from brands import roles, zones
from brands.lists import DayFilter, OwnRowsFilter
from brands.portal import TenantAdmin, TenantForm, badge, person
from brands.roles import ADD, CHANGE, VIEW
from brands.unfolded import SwitchWidget, action, display

Kind = CodeChange.Kind
CHANGES_SHOWN = 20
NUMBERING = {"prefix", "quantity", "starting_number", "number_width"}
# What may be done to a stretch of a batch's codes: where in the address, and the button's icon.
ORDERS = {
    Kind.ASSIGNED: ("assign", "sell"),
    Kind.DEACTIVATED: ("deactivate", "block"),
    Kind.REACTIVATED: ("reactivate", "check_circle"),
    Kind.UNASSIGNED: ("unassign", "label_off"),
}


class PrintableForm(TenantForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "error_correction" in self.fields:  # who may only look has no such field
            self.fields["error_correction"].required = False

    def clean_error_correction(self) -> str:
        """Who says nothing leaves it as it is; at first that is M."""
        found: str = self.cleaned_data["error_correction"] or self.instance.error_correction
        return found


class NewBatchForm(PrintableForm):
    """All settings of spec section 2; what cannot be is said at its field."""

    filled: BatchSettings | None = None  # once it can be said which codes there would be, be they free or taken
    signed = forms.BooleanField(
        label=gettext_lazy("Signed"),
        required=False,
        widget=SwitchWidget,
        help_text=gettext_lazy("Each code is printed with a tag, so that nobody can guess the next one."),
    )

    def clean(self) -> dict[str, Any]:
        """Every setting that cannot be is said at its field, also while others are still missing."""
        cleaned = super().clean()
        brand = cleaned.get("brand")
        if brand:
            wanted = self.wanted()
            for field, message in batches.objections(brand=brand, wanted=wanted, at=timezone.now()).items():
                if field not in self.errors:
                    self.add_error(field, message)
            if not set(self.errors) & NUMBERING:
                self.filled = wanted
                for message in batches.overlaps(wanted.numbering, brand):
                    self.add_error("starting_number", message)
        return cleaned

    def wanted(self) -> BatchSettings:
        """What is filled in so far; a missing setting stands at its default."""
        given = {name: value for name, value in self.cleaned_data.items() if name != "brand"}
        return BatchSettings(**{"range_name": "", "quantity": 1, **given})


class BatchForm(PrintableForm):
    """What may still change once codes are printed."""

    def clean_expiration_date(self) -> Any:
        day = self.cleaned_data["expiration_date"]
        today = timezone.now().astimezone(self.instance.brand.zone).date()
        if day and day < today and "expiration_date" in self.changed_data:
            raise forms.ValidationError(_("The expiration date is in the past."))
        return day

    def clean_scan_limit(self) -> int | None:
        """What was accepted stays accepted: a lower limit would say that it should not have been."""
        limit: int | None = self.cleaned_data["scan_limit"]
        if limit is None or "scan_limit" not in self.changed_data:
            return limit
        most = batches.most_scans(batch=self.instance)
        if limit < most:
            words = _("A code of this batch was scanned %(most)d times already: write that or more, or leave it empty.")
            raise forms.ValidationError(words % {"most": most})
        return limit


@admin.register(BatchRange)
class BatchPage(TenantAdmin):
    form = BatchForm
    list_display = (
        "range_name",
        "state",
        "product",
        "codes",
        "quantity",
        "scan_limit",
        "expiration_date",
        "created_at",
    )
    list_filter = (("product", OwnRowsFilter), ("campaign", OwnRowsFilter), ("created_at", DayFilter))
    list_select_related = ("product", "recall", "brand")
    search_fields = ("range_name", "first_code__startswith")
    search_help_text = gettext_lazy("A part of the name, or how the first code begins.")
    autocomplete_fields = ("product", "campaign")
    actions_detail = ("recall",)
    change_form_outer_before_template = "admin/authcodes/batch/outer_before.html"
    change_form_outer_after_template = "admin/authcodes/batch/outer_after.html"
    settled = ("product", "state", "codes", "quantity", "is_signed", "created_at", "created_by")
    fieldsets = (
        (None, {"fields": ("brand", ("range_name", "state"), ("product", "campaign"))}),
        (gettext_lazy("Numbering"), {"fields": ("codes", ("quantity", "is_signed"), "error_correction")}),
        (gettext_lazy("Rules"), {"fields": (("points_per_scan", "scan_limit"), "expiration_date")}),
        (gettext_lazy("History"), {"fields": (("created_at", "created_by"),)}),
    )
    add_fieldsets = (
        (None, {"fields": ("brand", "range_name", "product", "campaign")}),
        (
            gettext_lazy("Numbering"),
            {"fields": ("prefix", "quantity", "starting_number", "number_width", "signed", "error_correction")},
        ),
        (gettext_lazy("Rules"), {"fields": ("points_per_scan", "scan_limit", "expiration_date")}),
    )
    add_help_texts = {
        "prefix": gettext_lazy("Letters, digits, - and _; every code begins with it."),
        "quantity": gettext_lazy("How many codes."),
        "starting_number": gettext_lazy("The first code's number."),
    }

    class Media:
        css = {"all": ("authcodes/batch_summary.css",)}
        js = ("authcodes/live_panel.js",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With whether a worker makes their codes, or is about to."""
        being_made = Exists(batches.generations_of(OuterRef("pk")).unfinished())
        rows: QuerySet[Any] = super().get_queryset(request).annotate(is_being_made=being_made)
        return rows

    def get_urls(self) -> list[Any]:
        own = [
            path("summary/", self.admin_site.admin_view(self.summary), name="authcodes_batchrange_summary"),
            path("<id:pk>/finish/", self.admin_site.admin_view(self.finish), name="authcodes_batchrange_finish"),
            *(
                path(
                    f"<id:pk>/{name}/",
                    self.admin_site.admin_view(self.order),
                    {"kind": kind},
                    name=f"authcodes_batchrange_{name}",
                )
                for kind, (name, _icon) in ORDERS.items()
            ),
        ]
        return [*own, *super().get_urls()]

    @display(description=gettext_lazy("state"))
    def state(self, batch: BatchRange) -> SafeString:
        if hasattr(batch, "recall"):
            return badge("danger", _("Recalled"))
        if batch.is_generated:
            return badge("success", _("Ready"))
        told = {"done": 100 * batch.generated_count // batch.quantity}
        if batch.is_being_made:  # type: ignore[attr-defined] # get_queryset says so
            return badge("info", _("Generating: %(done)d %%") % told)
        return badge("warning", _("Stopped: %(done)d %%") % told)

    @display(description=gettext_lazy("codes"), ordering="first_code")
    def codes(self, batch: BatchRange) -> str:
        return f"{batch.first_code} … {batch.last_code}"

    @display(description=gettext_lazy("signed"))
    def is_signed(self, batch: BatchRange) -> str:
        return _("Yes") if batch.is_signed else _("No")

    @action(description=gettext_lazy("Recall"), url_path="recall", icon="report", permissions=["recall"])
    def recall(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """To the page that says what a recall changes."""
        return redirect(f"{reverse('admin:authcodes_recall_add')}?batch={object_id}")

    def has_recall_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not is_id(str(object_id)):
            return False
        rows = self.get_queryset(request).filter(pk=object_id, recall__isnull=True)
        return roles.reach(request.user, ADD, "authcodes.recall").of(rows, "brand").exists()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, *self.settled] if obj else fields

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is None:
            options |= {"form": NewBatchForm, "help_texts": self.add_help_texts}
        return super().get_form(request, obj, change, **options)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        told = {"summary_address": reverse("admin:authcodes_batchrange_summary")}
        return super().add_view(request, form_url, {**told, **(extra_context or {})})

    def summary(self, request: HttpRequest) -> HttpResponse:
        """What the form of a new batch would make as it is filled in now; the form's own rules say what is wrong."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = self.get_form(request)(request.GET)
        return TemplateResponse(request, "admin/authcodes/batch/summary.html", summary_of(form))

    def order(self, request: HttpRequest, pk: int, kind: CodeChange.Kind) -> HttpResponse:
        return orders.of_batch(self, request, self.get_object(request, str(pk)), kind)

    def finish(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make the codes that are missing."""
        batch = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may(request, ADD, batch):
            raise PermissionDenied
        try:
            with transaction.atomic():
                job = batches.finish_generation(batch=batch, by=person(request))
                self.note(request, [batch], _("Missing codes"))
        except BatchRefused as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return redirect("admin:authcodes_batchrange_change", pk)
        return redirect("admin:authcodes_job_change", job.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        batch = self.get_object(request, object_id)
        told = {"batch_facts": self.facts_of(request, batch), "batch_history": history_of(request, batch)}
        return super().change_view(request, object_id, form_url, {**told, **(extra_context or {})})

    def facts_of(self, request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
        """Where the batch is, how many of its codes are what, and what may be done with them."""
        found = dashboard.codes(brands=[batch.brand], filters=Filters(batch_id=batch.pk))
        deactivated = AuthCode.objects.filter(brand=batch.brand_id, batch=batch).deactivated().count()
        recall = getattr(batch, "recall", None)
        stopped = not (batch.is_generated or batch.is_being_made)  # type: ignore[attr-defined]
        return {
            "state": self.state(batch),
            "recall_address": reverse("admin:authcodes_recall_change", args=[recall.pk]) if recall else "",
            "job_address": _generation_of(batch),
            "stopped": stopped,
            "missing": batch.quantity - batch.generated_count,
            "finish_address": _address("finish", batch) if stopped and self.may(request, ADD, batch) else "",
            "counts": [
                (_("Codes"), batch.generated_count, _list_of("authcode", batch)),
                (_("Assigned"), found.assigned, _list_of("authcode", batch, assigned="yes")),
                (_("Scanned"), found.scanned, _list_of("authcode", batch, status="scanned")),
                (_("Deactivated"), deactivated, _list_of("authcode", batch, status="deactivated")),
            ],
            "actions": [*_prints_for(request, batch), *_orders_for(request, batch), *_exports_for(request, batch)],
        }

    def save_model(self, request: HttpRequest, obj: BatchRange, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        if not change:
            super().save_model(request, obj, form, change)
            return
        if not self.may(request, CHANGE, obj):
            raise PermissionDenied
        changed = {name: form.cleaned_data[name] for name in form.changed_data}
        batches.change_batch(batch=obj, changed=changed, by=person(request), at=timezone.now())

    def create(self, request: HttpRequest, obj: BatchRange, form: NewBatchForm) -> BatchRange:
        by = person(request)
        made = batches.create_batch(brand=obj.brand, wanted=form.wanted(), at=timezone.now(), by=by)
        batches.start_generation(batch=made, by=by)
        return made


def _list_of(model: str, batch: BatchRange, **more: str) -> str:
    query = urlencode({"batch__id__exact": batch.pk, **more})
    return f"{reverse(f'admin:authcodes_{model}_changelist')}?{query}"


def _prints_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    """A recalled batch is not printed."""
    if not (batch.generated_count and may_print(request.user, batch.brand_id)) or hasattr(batch, "recall"):
        return []
    address = reverse("admin:authcodes_printrun_batch", args=[batch.pk])
    return [{"label": gettext_lazy("Print"), "icon": "print", "address": address}]


def _orders_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    if not (batch.generated_count and orders.may_act(request, batch.brand_id)):
        return []
    return [
        {"label": orders.WORDS[kind].title, "icon": icon, "address": _address(name, batch)}
        for kind, (name, icon) in ORDERS.items()
    ]


def _address(name: str, batch: BatchRange) -> str:
    return reverse(f"admin:authcodes_batchrange_{name}", args=[batch.pk])


def _exports_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    """The lists' own exports, of this batch's rows."""
    exports = {"authcode": gettext_lazy("Export unscanned codes"), "scan": gettext_lazy("Export scan report")}
    query = urlencode({"batch__id__exact": batch.pk})
    return [
        {"label": label, "icon": "download", "address": f"{reverse(f'admin:authcodes_{name}_export')}?{query}"}
        for name, label in exports.items()
        if batch.brand_id in within(request.user, f"authcodes.{name}")
    ]


def _generation_of(batch: BatchRange) -> str:
    """Where one can watch its codes being made, or read why they are not."""
    job = None if batch.is_generated else batches.generations_of(batch.pk).filter(brand=batch.brand_id).first()
    return reverse("admin:authcodes_job_change", args=[job.pk]) if job else ""


def history_of(request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
    """The last things that were done to its codes, each moment in the brand's zone."""
    rows = CodeChange.objects.filter(batch=batch).select_related("product", "upload", "changed_by")[:CHANGES_SHOWN]
    return {
        "lines": [
            {"change": row, "when": zones.told(row.changed_at, batch.brand.zone), "what": kind_badge(row)}
            for row in rows
        ],
        "address": _list_of("codechange", batch),
        "sees_imports": batch.brand_id in roles.reach(request.user, VIEW, "authcodes.import"),
    }
