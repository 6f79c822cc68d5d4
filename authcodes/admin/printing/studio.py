"""The print studio: one page to set up, preview, test and start a print."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes.admin.codes.bulk_actions import named_in_address
from authcodes.admin.printing import saved_layouts
from authcodes.admin.printing.access import is_confirmed, may_print
from authcodes.admin.printing.forms import (
    BatchPrintForm,
    ListPrintForm,
    PrintForm,
    initial_of,
    initial_sheet,
    preset_of,
)
from authcodes.admin.printing.layout_form import AUTOMATIC, BY_HAND, limits
from authcodes.admin.printing.list_print import list_filters, list_selection, list_selection_up_to
from authcodes.admin.printing.preview import MAX_COUNTED, earlier_runs, is_outdated, pdf, preview_context, test_print
from authcodes.codes.ranges import full_range, resolve_range
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import LabelLayout, Printer, PrintRun
from authcodes.printing import layouts, runs, selection
from authcodes.printing.labels.parts import Parts
from authcodes.printing.labels.presets import PRESETS, preset_for
from authcodes.printing.labels.sheet_pdf import calibration
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import Selection
from brands.identity.roles import ACT
from brands.models.tenants import Brand
from core.errors import DomainError
from portal.base.tenant_admin import TenantAdmin, page_of
from portal.base.tenant_scope import staff_user
from portal.lists.selection import filters_of

Select = Callable[[Any], Selection]  # selects the codes of a valid form
# Fields that do not change what is printed.
IGNORED_FIELDS = ("csrfmiddlewaretoken", "page_token", "again", "previewed", "draft", "layout_from")


class StudioAdmin(TenantAdmin):
    """The studio's URLs: for a batch, and for the codes of a list."""

    def own_views(self) -> dict[str, Any]:
        return {
            "batch": ("batch/<id:pk>/", self.of_batch),
            "preview": ("batch/<id:pk>/preview/", self.preview_of_batch),
            "codes": ("codes/", self.of_list),
            "codes_preview": ("codes/preview/", self.preview_of_list),
            "calibration": ("calibration/", self.calibration),
            **super().own_views(),
        }

    # --- A code range of a batch ---

    def batch(self, request: HttpRequest, pk: int) -> BatchRange:
        """The batch. Raises Http404 if the user cannot see it, PermissionDenied if they may not print it."""
        result: BatchRange = self.admin_site.get_model_admin(BatchRange).get_object(request, str(pk))
        if not may_print(request.user, result.brand_id):
            raise PermissionDenied
        return result

    def of_batch(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.batch(request, pk)
        try:
            so_far = full_range(batch)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_batchrange_change", batch.pk)
        first, last = named_in_address(request)
        initial = {
            **self.initial_values(request, [batch.brand]),
            "first": first or so_far.first,
            "last": last or so_far.last,
        }
        form = BatchPrintForm(request.POST if request.method == "POST" else initial)
        form.limit_to_brands(brand_queryset(batch))
        return self.respond(
            request,
            form,
            lambda valid: range_of(batch, valid),
            batch=batch,
            back=reverse("admin:authcodes_batchrange_change", args=[batch.pk]),
            live=reverse("admin:authcodes_printrun_preview", args=[batch.pk]),
        )

    def preview_of_batch(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.batch(request, pk)
        form = BatchPrintForm(request.GET)
        form.limit_to_brands(brand_queryset(batch))
        return self.render_preview(request, form, lambda valid: range_of(batch, valid))

    # --- The codes of a list ---

    def of_list(self, request: HttpRequest) -> HttpResponse:
        brands = self.brands_to_print(request)
        form = ListPrintForm(request.POST if request.method == "POST" else self.initial_values(request, brands))
        form.limit_to_brands(brands)
        query = list_filters(request)
        selected_of = list_selection if "confirm" in request.POST else partial(list_selection_up_to, MAX_COUNTED)
        back = f"{reverse('admin:authcodes_authcode_changelist')}?{query}"
        try:
            changes = self.admin_site.get_model_admin(AuthCode).get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(f"{reverse('admin:authcodes_authcode_changelist')}?e=1")
        return self.respond(
            request,
            form,
            lambda valid: selected_of(staff_user(request), valid.cleaned_data["brand"], query),
            parameters={"query": query, "time_zone": timezone.get_current_timezone_name()},
            filters=filters_of(request, changes),
            back=back,
            live=f"{reverse('admin:authcodes_printrun_codes_preview')}?{urlencode({'list': query})}",
        )

    def preview_of_list(self, request: HttpRequest) -> HttpResponse:
        form = ListPrintForm(request.GET)
        form.limit_to_brands(self.brands_to_print(request))
        query = request.GET.get("list", "")
        return self.render_preview(
            request,
            form,
            lambda valid: list_selection_up_to(MAX_COUNTED, staff_user(request), valid.cleaned_data["brand"], query),
        )

    def brands_to_print(self, request: HttpRequest) -> QuerySet[Brand]:
        """Raises PermissionDenied if there is none: a superuser may print for every brand before the first exists."""
        brands = self.brand_scope(request, ACT).of(Brand.objects.all(), "pk")
        if not brands:
            raise PermissionDenied
        return brands

    # --- Form, preview and start ---

    def initial_values(self, request: HttpRequest, brands: Iterable[Brand]) -> dict[str, Any]:
        """The settings of this user's last print for these brands, its printer, and the brand's default layout."""
        rows = PrintRun.objects.filter(started_by=staff_user(request), brand__in=brands)
        last = rows.select_related("brand").order_by("-id").first()
        brand = last.brand if last else next(iter(brands))
        paper = preset_for(brand.time_zone)
        if last is None:
            result = initial_of(PrintRequest(preset=paper))
        else:
            print_request = replace(PrintRequest.from_json(last.settings), start=1, level="")
            if print_request.preset not in PRESETS:  # of an earlier release
                print_request = replace(print_request, preset=paper)
            printer = Printer.objects.filter(brand=brand, name=print_request.printer).first()
            result = {**initial_of(print_request), "printer": printer.pk if printer else None}
            named = LabelLayout.objects.filter(brand=brand, name=print_request.layout).first()
            if named and layouts.content_of(named).parts == print_request.parts:
                result |= saved_layouts.form_values(named)
        default = LabelLayout.objects.filter(brand=brand, is_default=True).first()
        if default and result["layout"] in {AUTOMATIC, BY_HAND}:
            preset = preset_of(default, result["sheet"] if result["sheet"] in PRESETS else paper)
            result |= {**initial_sheet(preset), **saved_layouts.form_values(default)}
        return {**result, "brand": brand.pk}

    def render_preview(self, request: HttpRequest, form: Any, select: Select) -> HttpResponse:
        """The preview while the form is being filled in."""
        context: dict[str, Any] = {"form": form, **preview_context(form, select)}
        context |= {"rows": list(form.part_rows(context["all_boxes"])), "wrong": form.error_rows}
        context["calibration"] = calibration_address(request.GET)
        return TemplateResponse(request, "admin/authcodes/print/live.html", context)

    def respond(
        self,
        request: HttpRequest,
        form: Any,
        select: Select,
        *,
        parameters: dict[str, Any] | None = None,
        **page_context: Any,
    ) -> HttpResponse:
        """The page, or what a button asks for: the test page, the saved layout or the print run.

        Large selections are counted and checked only when Print is pressed. Warnings are shown before anything is
        printed.
        """
        if request.method == "POST" and form.chosen:
            form = saved_layouts.with_layout_values(form, form.chosen)
        is_printing, preview_outdated = "confirm" in request.POST, False
        preview = preview_context(form, select, is_thorough=is_printing)
        selected: Selection | None = preview["selection"]
        if request.method == "POST" and selected and form.is_valid():
            try:
                if "test" in request.POST:
                    return test_print(selected, form.print_request())
                if "save" in request.POST:
                    form = self.save_layout(request, form, selected.brand, preview.get("parts"))
                    preview = preview_context(form, select)
                elif is_printing:
                    preview_outdated = is_outdated(request.POST.get("previewed", ""), preview)
                    if not preview_outdated:
                        if started := self.start_print(request, selected, form, parameters):
                            return started
                        preview["before"] = earlier_runs(selected)  # another user may have printed some in the meantime
            except DomainError as error:
                form.add_domain_error(error)
        context = {
            "title": _("Print studio"),
            "form": form,
            "wrong": form.error_rows if request.method == "POST" else [],
            "calibration": calibration_address(form.data),
            "printers": reverse("admin:authcodes_printer_changelist"),
            "saved_layouts": reverse("admin:authcodes_labellayout_changelist"),
            "known": {
                key: {"name": row.name, "from": f"{key}:{layouts.version_of(row)}"} for key, row in form.saved.items()
            },
            "limits": limits(),
            "page_token": str(page_token_of(request) or uuid4()),
            "preview_outdated": preview_outdated,
            "must_confirm": is_printing and not preview_outdated and not form.errors,
            "rows": list(form.part_rows(preview["all_boxes"])),
            **preview,
            **page_context,
        }
        return self.render_page(request, "admin/authcodes/print/studio.html", context)

    def save_layout(self, request: HttpRequest, form: PrintForm, brand: Brand, parts: Parts | None) -> PrintForm:
        """Save the label layout and select it in the form, which it returns. Raises Invalid."""
        saved = saved_layouts.save(request, form, brand, parts)
        self.message_user(request, _("Layout “%(name)s” saved.") % {"name": saved}, messages.SUCCESS)
        return saved_layouts.with_layout_values(form, saved, is_saved=True)

    def start_print(
        self,
        request: HttpRequest,
        selected: Selection,
        form: Any,
        parameters: dict[str, Any] | None,
    ) -> HttpResponse | None:
        """Start the print. Returns None if some codes were printed before and reprinting was not confirmed.

        A second press of the same button leads to the run that the first press started.
        """
        cleaned = form.cleaned_data
        key = request_key(request, selected, parameters)
        instructions = runs.PrintInstructions(cleaned["due_on"], cleaned["order_note"], key)
        with transaction.atomic():
            runs.lock_batches(selected.brand)
            if key and (same := runs.started_with(selected.brand, key)):
                self.message_user(request, _("This print has already been started. It will not be printed twice."))
                return redirect("admin:authcodes_printrun_change", same.pk)
            newest = runs.earlier(selected).first()
            if not is_confirmed(request, newest):
                return None
            run = runs.start(
                selection=selected,
                print_request=form.print_request(),
                by=staff_user(request),
                parameters=parameters,
                instructions=instructions,
            )
            self.record_action(request, [run], gettext_noop("Printed"))
            if selected.batch:
                page_of(selected.batch, self.admin_site).record_action(
                    request, [selected.batch], gettext_noop("Printed: %(run)s") % {"run": run}
                )
        return redirect("admin:authcodes_printrun_change", run.pk)

    def calibration(self, request: HttpRequest) -> HttpResponse:
        """A page of rulers and crosses for the form's sheet and printer."""
        data = {**initial_of(PrintRequest()), **request.GET.dict(), "layout": AUTOMATIC}
        form = PrintForm(data)
        form.limit_to_brands(self.brands_to_print(request))
        if not form.is_valid():
            raise Http404
        try:
            page = calibration(form.print_request().design())
        except DomainError:
            raise Http404 from None
        return pdf(page, "calibration.pdf")


def range_of(batch: BatchRange, form: Any) -> Selection:
    return selection.of_range(
        resolve_range(batch=batch, first=form.cleaned_data["first"], last=form.cleaned_data["last"])
    )


def brand_queryset(batch: BatchRange) -> QuerySet[Brand]:
    return Brand.objects.filter(pk=batch.brand_id)


def calibration_address(data: Any) -> str:
    """The address of the rulers and crosses for the form's sheet and printer."""
    names = [*PrintForm.SHEET, "sheet", "printer"]
    requested = {name: data.get(name) for name in names if data.get(name) not in (None, "")}
    return f"{reverse('admin:authcodes_printrun_calibration')}?{urlencode(requested)}"


def request_key(request: HttpRequest, selected: Selection, parameters: dict[str, Any] | None) -> UUID | None:
    """The same key for a second press of the same button; a different key if anything was changed."""
    token = page_token_of(request)
    if token is None:
        return None
    requested = {name: request.POST.getlist(name) for name in sorted(request.POST) if name not in IGNORED_FIELDS}
    content = json.dumps([str(token), selected.brand.pk, parameters, requested], cls=DjangoJSONEncoder, sort_keys=True)
    return UUID(bytes=hashlib.sha256(content.encode()).digest()[:16])


def page_token_of(request: HttpRequest) -> UUID | None:
    """The token that identifies one opening of the page."""
    try:
        return UUID(request.POST.get("page_token", ""))
    except ValueError:
        return None
