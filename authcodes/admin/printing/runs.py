"""Pages about print runs: one asks what to print and starts it, others list and show what was printed."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.codes.bulk_actions import step
from authcodes.admin.overview import home
from authcodes.admin.printing.access import MAX_EARLIER_RUNS, may_print, needs_confirmation
from authcodes.admin.printing.forms import BatchPrintForm, ListPrintForm, PrintForm, initial_of
from authcodes.admin.printing.list_print import list_of, listed
from authcodes.admin.printing.preview import glimpse_of, live_preview, pdf, pictured, preview_address, respond_preview
from authcodes.codes.ranges import full_range, resolve_range
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.prints import Printer, PrintRun
from authcodes.printing import checks, documents, posters, runs, selection
from authcodes.printing.documents import LibrariesMissing
from authcodes.printing.labels.presets import preset_for
from authcodes.printing.labels.sheet_pdf import calibration
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import Selection
from brands.identity.roles import ACT
from brands.models.tenants import Brand
from core.errors import DomainError
from portal.base.badges import badge
from portal.base.sidebar import PRINT, SidebarEntry
from portal.base.tenant_admin import TenantAdmin, page_of
from portal.base.tenant_scope import staff_user
from portal.lists import local_time
from portal.lists.filters import DayFilter, OwnRowsFilter
from portal.lists.selection import filters_of
from portal.pages.jobs import COLOURS
from portal.unfold import ChoicesFilter, action, display

MAX_OFFERED = 50  # batches to choose from


@admin.register(PrintRun)
class PrintRunAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "printer": "view act"}
    sidebar = SidebarEntry(PRINT, 1, "print")
    list_display = ("started_at", "what", "state", "run", "codes", "batch", "started_by")
    list_filter = (("what", ChoicesFilter), ("started_at", DayFilter), ("batch", OwnRowsFilter))
    list_select_related = ("job", "batch", "started_by")
    search_fields = ("first_code__startswith", "batch__range_name")
    search_help_text = gettext_lazy("Start of the first code, or part of the batch's name.")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    ("batch", "what"),
                    ("first_code", "last_code"),
                    "codes",
                    ("pages", "read_back", "pages_read"),
                )
            },
        ),
        (gettext_lazy("History"), {"fields": (("started_by", "started_at"),)}),
    )
    change_form_outer_before_template = "admin/authcodes/print/panel.html"
    actions_list = ("print_codes",)

    def get_urls(self) -> list[Any]:
        views = {
            "batch/<id:pk>/": (self.of_batch, "batch"),
            "batch/<id:pk>/page/": (self.page_of_batch, "page"),
            "batch/<id:pk>/preview/": (self.preview_of_batch, "preview"),
            "choose/": (self.choose, "choose"),
            "codes/": (self.of_list, "codes"),
            "codes/page/": (self.page_of_list, "codes_page"),
            "codes/preview/": (self.preview_of_list, "codes_preview"),
            "calibration/": (self.calibration, "calibration"),
            "<id:pk>/cover/": (self.cover, "cover"),
            "recall/<id:pk>/": (self.warning, "notice"),
        }
        own = [
            path(where, self.admin_site.admin_view(view), name=f"authcodes_printrun_{name}")
            for where, (view, name) in views.items()
        ]
        return [*own, *super().get_urls()]

    @action(description=gettext_lazy("Print codes"), url_path="new", icon="print", permissions=["act"])
    def print_codes(self, _request: HttpRequest) -> HttpResponse:
        return redirect("admin:authcodes_printrun_choose")

    def choose(self, request: HttpRequest) -> HttpResponse:
        """The batches that can be printed."""
        brands = list(self.brands_to_print(request))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Print codes"),
            "printable": home.printable(request, brands, most=MAX_OFFERED),
            "several": len(brands) > 1,
        }
        return TemplateResponse(request, "admin/authcodes/print/choose.html", context)

    @display(description=gettext_lazy("state"))
    def state(self, run: PrintRun) -> SafeString:
        return badge(COLOURS[run.job.status], run.job.get_status_display())

    @display(description=gettext_lazy("codes"), ordering="first_code")
    def run(self, run: PrintRun) -> str:
        return str(run)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        run = self.get_object(request, object_id)
        page_context = {
            "print_state": self.state(run),
            "print_settings": documents.settings_of(run),
            "print_job": reverse("admin:jobs_job_change", args=[run.job_id]),
            "print_cover": reverse("admin:authcodes_printrun_cover", args=[run.pk]) if run.sha256 else "",
        }
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def cover(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The run's cover sheet."""
        run = self.get_object(request, str(pk))
        back = redirect("admin:authcodes_printrun_change", run.pk)
        if not run.sha256:
            self.message_user(
                request, _("A cover sheet needs a finished file, and this print run has none yet."), messages.ERROR
            )
            return back
        return self.document(request, back, lambda: documents.cover_sheet(run), f"cover-sheet-{run.pk}.pdf")

    def warning(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A recall's poster in the language asked for, for those who may see the recall."""
        recall = self.admin_site.get_model_admin(Recall).get_object(request, str(pk))
        back = redirect("admin:authcodes_recall_change", recall.pk)
        language = posters.language_of(recall.brand_id, request.GET.get("language", ""))
        name = f"recall-{recall.pk}-{language}.pdf"
        return self.document(request, back, lambda: posters.as_pdf(posters.of_recall(recall), language), name)

    def document(self, request: HttpRequest, back: HttpResponse, made: Callable[[], bytes], name: str) -> HttpResponse:
        try:
            return pdf(made(), name)
        except LibrariesMissing as error:
            self.message_user(request, error.message, messages.ERROR)
            return back

    # --- A stretch of a batch ---

    def batch(self, request: HttpRequest, pk: int) -> BatchRange:
        """The batch, of one of the person's brands, where they may print. Raises Http404 or PermissionDenied."""
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
        usual = {**self.usual(request, [batch.brand]), "first": so_far.first, "last": so_far.last}
        form = BatchPrintForm(request.POST if request.method == "POST" else None, initial=usual)
        form.offer(brand_alone(batch))
        return self.ask(
            request,
            form,
            lambda: range_of(batch, form),
            batch=batch,
            back=reverse("admin:authcodes_batchrange_change", args=[batch.pk]),
            preview_url=reverse("admin:authcodes_printrun_page", args=[batch.pk]),
            live=reverse("admin:authcodes_printrun_preview", args=[batch.pk]),
        )

    def page_of_batch(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.batch(request, pk)
        form = BatchPrintForm(request.GET)
        form.offer(brand_alone(batch))
        return respond_preview(form, lambda: range_of(batch, form))

    def preview_of_batch(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.batch(request, pk)
        form = BatchPrintForm(request.GET)
        form.offer(brand_alone(batch))
        return live_preview(request, form, lambda: range_of(batch, form))

    # --- What the list of codes shows ---

    def of_list(self, request: HttpRequest) -> HttpResponse:
        brands = self.brands_to_print(request)
        form = ListPrintForm(request.POST if request.method == "POST" else None, initial=self.usual(request, brands))
        form.offer(brands)
        query = listed(request)
        back = f"{reverse('admin:authcodes_authcode_changelist')}?{query}"
        try:
            changes = self.admin_site.get_model_admin(AuthCode).get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(f"{reverse('admin:authcodes_authcode_changelist')}?e=1")
        return self.ask(
            request,
            form,
            lambda: list_of(staff_user(request), form.cleaned_data["brand"], query),
            parameters={"query": query, "time_zone": timezone.get_current_timezone_name()},
            filters=filters_of(request, changes),
            back=back,
            preview_url=reverse("admin:authcodes_printrun_codes_page"),
            live=f"{reverse('admin:authcodes_printrun_codes_preview')}?{urlencode({'list': query})}",
            listed=query,
        )

    def page_of_list(self, request: HttpRequest) -> HttpResponse:
        form = ListPrintForm(request.GET)
        form.offer(self.brands_to_print(request))
        return respond_preview(
            form, lambda: list_of(staff_user(request), form.cleaned_data["brand"], request.GET.get("list", ""))
        )

    def preview_of_list(self, request: HttpRequest) -> HttpResponse:
        form = ListPrintForm(request.GET)
        form.offer(self.brands_to_print(request))
        query = request.GET.get("list", "")
        return live_preview(request, form, lambda: glimpse_of(staff_user(request), form.cleaned_data["brand"], query))

    def brands_to_print(self, request: HttpRequest) -> QuerySet[Brand]:
        within = self.brand_scope(request, ACT)
        if not within:
            raise PermissionDenied
        return within.of(Brand.objects.all(), "pk")

    # --- Asking, showing, starting ---

    def usual(self, request: HttpRequest, brands: Iterable[Brand]) -> dict[str, Any]:
        """How this person printed for these brands the last time, and on which printer."""
        rows = PrintRun.objects.filter(started_by=staff_user(request), brand__in=brands)
        last = rows.order_by("-id").first()
        if last is None:
            zone = next((brand.time_zone for brand in brands), "")
            return initial_of(PrintRequest(preset=preset_for(zone)))
        print_request = replace(PrintRequest.read(last.settings), start=1, level="")
        printer = Printer.objects.filter(brand=last.brand_id, name=print_request.printer).first()
        return {**initial_of(print_request), "printer": printer.pk if printer else None}

    def ask(
        self,
        request: HttpRequest,
        form: Any,
        select: Callable[[], Selection],
        *,
        parameters: dict[str, Any] | None = None,
        **page_context: Any,
    ) -> HttpResponse:
        """The form, then what it would print, then the job."""
        if request.method == "POST" and form.is_valid():
            try:
                selection, print_request = select(), form.print_request()
                checks.check(selection, print_request)
                if step(request) == "confirm" and (begun := self.begin(request, selection, print_request, parameters)):
                    return begun
                if step(request) != "form":
                    page_context |= confirmation_context(selection, print_request)
            except DomainError as error:
                form.add_domain_error(error)
        page_context["preview_url"] = preview_address(request, **page_context) if "selection" in page_context else ""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Print"),
            "form": form,
            "calibration": reverse("admin:authcodes_printrun_calibration"),
            "printers": reverse("admin:authcodes_printer_changelist"),
            **page_context,
        }
        return TemplateResponse(request, "admin/authcodes/print/page.html", context)

    def begin(
        self, request: HttpRequest, selection: Selection, print_request: PrintRequest, parameters: dict[str, Any] | None
    ) -> HttpResponse | None:
        """Have it printed; None where some of it was printed before, and the person has not read so."""
        with transaction.atomic():
            runs.lock_batches(selection.brand)
            if not needs_confirmation(request, runs.earlier(selection).first()):
                return None
            run = runs.start(
                selection=selection, print_request=print_request, by=staff_user(request), parameters=parameters
            )
            self.note(request, [run], _("Printed"))
            if selection.batch:
                page_of(selection.batch, self.admin_site).note(
                    request, [selection.batch], _("Printed: %(run)s") % {"run": run}
                )
        return redirect("admin:jobs_job_change", run.job_id)

    def calibration(self, request: HttpRequest) -> HttpResponse:
        """A page of rulers and crosses, on the sheet and with the printer's settings that the form has."""
        form = PrintForm({**initial_of(PrintRequest()), **request.GET.dict()})
        form.offer(self.brands_to_print(request))
        if not form.is_valid():
            raise Http404
        try:
            design = form.print_request().design()
            design.check()
        except DomainError:
            raise Http404 from None
        return pdf(calibration(design), "calibration.pdf")


def range_of(batch: BatchRange, form: Any) -> Selection:
    return selection.of_range(
        resolve_range(batch=batch, first=form.cleaned_data["first"], last=form.cleaned_data["last"])
    )


def brand_alone(batch: BatchRange) -> QuerySet[Brand]:
    return Brand.objects.filter(pk=batch.brand_id)


def confirmation_context(selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """What would be printed, for the page that asks whether it shall be."""
    before = runs.earlier(selection)[:MAX_EARLIER_RUNS]
    return {
        "selection": selection,
        "wanted": print_request,
        "what": PrintRun.What(print_request.what).label,
        "warnings": checks.warnings(selection, print_request),
        "before": [(run, local_time.display_moment(run.started_at, run.brand.zone)) for run in before],
        "pages": print_request.design().sheet.pages(selection.count, start=print_request.start)
        if print_request.is_labels
        else 0,
        **pictured(selection, print_request),
    }
