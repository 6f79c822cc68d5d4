"""Exports of lists: the page that starts an export, and the job that queries the same list for all its rows."""

from functools import partial
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.printing import report_pdf
from authcodes.reports.lists import REPORTS
from brands.models.tenants import Brand
from core.errors import Forbidden
from core.forms.digits import AsciiDigits
from core.spreadsheets.report import ReportFormat
from jobs import file_exports, runner
from jobs.kinds import NO_FILE, JobKind
from jobs.models import Job
from portal.base.links import admin_address
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin, start_export, within
from portal.lists.selection import displayed_to, filters_of
from portal.unfold import SelectWidget

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class ExportForm(AsciiDigits, forms.Form):
    """The brand, and the file format."""

    brand = forms.ModelChoiceField(Brand.objects.none(), label=gettext_lazy("Brand"), widget=SelectWidget)
    format = forms.ChoiceField(choices=ReportFormat.choices, label=gettext_lazy("File"), widget=SelectWidget)

    def __init__(self, brands: QuerySet[Brand], *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.fields["brand"].queryset = brands  # type: ignore[attr-defined]
        self.fields["brand"].empty_label = None  # type: ignore[attr-defined]


def view(page: ExportingAdmin, request: HttpRequest) -> HttpResponse:
    """Describe what will be exported; on POST, start the job."""
    may = within(request.user, page.opts.label_lower)
    if not may:
        raise PermissionDenied
    try:
        changes = page.get_changelist_instance(request)
    except IncorrectLookupParameters:
        return redirect(admin_address(page.opts.label_lower, "changelist") + "?e=1")
    brands = may.of(Brand.objects.all(), "pk")
    form = ExportForm(brands, request.POST or None, initial={"brand": request.GET.get("brand__id__exact")})
    if request.method == "POST" and form.is_valid():
        return redirect("admin:jobs_job_change", start(page, request, **form.cleaned_data).pk)
    context = {
        "title": page.export_name(request.GET),
        "form": form,
        "filters": filters_of(request, changes),
        "columns": list(REPORTS[page.export_kind_of(request.GET)][1].columns),
    }
    return page.render_page(request, "admin/portal/export.html", context)


def start(page: ExportingAdmin, request: HttpRequest, *, brand: Brand, format: str) -> Job:  # noqa: A002 - the field's name
    query = request.GET.copy()
    query.pop("p", None)
    zone = timezone.get_current_timezone_name()
    with transaction.atomic():
        return start_export(page, query=query, brand=brand, file_format=format, time_zone=zone, by=staff_user(request))


def run(run: runner.Run) -> None:
    """Job handler: export the list's rows of the job's brand, as the user who started the job sees it now."""
    model, report = REPORTS[run.job.kind]
    by = run.job.created_by
    page: Any = admin.site.get_model_admin(model)
    if by is None or run.job.brand_id not in within(by, page.opts.label_lower):
        message = _("The person who started this may no longer export these rows.")
        raise Forbidden(message)
    with timezone.override(run.parameters["time_zone"]):
        rows = displayed_to(by, model, run.parameters["query"]).filter(**{page.brand_path: run.job.brand})
        if run.job.kind == UNSCANNED.name:
            rows = rows.filter(scan_count=0)
        write_pdf = partial(report_pdf.write, title=run.job.title, brand=run.job.brand)
        file_exports.export(run=run, report=report, rows=rows, write_pdf=write_pdf)


def kind_of(name: str, label: "StrOrPromise", *, names_customers: bool = False) -> JobKind:
    model, _report = REPORTS[name]
    return JobKind(
        name=name,
        label=label,
        run=run,
        on_cancel=NO_FILE,
        visible_with=model._meta.label_lower,
        names_customers=names_customers,
    )


SCANS = kind_of("export-scans", gettext_lazy("Export the scan report"), names_customers=True)
UNSCANNED = kind_of("export-unscanned", gettext_lazy("Export unscanned codes"))
CODES = kind_of("export-codes", gettext_lazy("Export codes"))
BATCHES = kind_of("export-batches", gettext_lazy("Export batches"))
PRODUCTS = kind_of("export-products", gettext_lazy("Export products"))
MEMBERS = kind_of("export-members", gettext_lazy("Export members"), names_customers=True)
LEDGER = kind_of("export-ledger", gettext_lazy("Export the points ledger"), names_customers=True)
REDEMPTIONS = kind_of("export-redemptions", gettext_lazy("Export redemptions"), names_customers=True)
REFERRALS = kind_of("export-referrals", gettext_lazy("Export referrals"), names_customers=True)
CLAIMS = kind_of("export-claims", gettext_lazy("Export reward claims"), names_customers=True)
PROGRESS = kind_of("export-progress", gettext_lazy("Export campaign progress"), names_customers=True)
AUDIT = kind_of("export-audit", gettext_lazy("Export the audit log"), names_customers=True)
