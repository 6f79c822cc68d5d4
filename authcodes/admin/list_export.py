"""Exports of what a list shows: the page that starts one, and the job that asks the same list for all its rows."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.messages.api import MessageFailure
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes import exports, jobs
from authcodes.exports import Format
from authcodes.models import Job
from authcodes.reports import REPORTS
from brands.digits import AsciiDigits
from brands.exporting import ExportingAdmin, within
from brands.live import is_id
from brands.models import Brand, User
from brands.portal import person
from brands.refusals import Forbidden
from brands.unfolded import SelectWidget


class ExportForm(AsciiDigits, forms.Form):
    """For which brand, and as what kind of file."""

    brand = forms.ModelChoiceField(Brand.objects.none(), label=gettext_lazy("Brand"), widget=SelectWidget)
    format = forms.ChoiceField(choices=Format.choices, label=gettext_lazy("File"), widget=SelectWidget)

    def __init__(self, brands: QuerySet[Brand], *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["brand"].queryset = brands  # type: ignore[attr-defined]
        self.fields["brand"].empty_label = None  # type: ignore[attr-defined]


def view(page: ExportingAdmin, request: HttpRequest) -> HttpResponse:
    """The page that says what will be exported; posted, it starts the job."""
    may = within(request.user, page.opts.label_lower)
    if not may:
        raise PermissionDenied
    try:
        changes = page.get_changelist_instance(request)
    except IncorrectLookupParameters:
        return redirect(reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist") + "?e=1")
    brands = may.of(Brand.objects.all(), "pk")
    form = ExportForm(brands, request.POST or None, initial={"brand": request.GET.get("brand__id__exact")})
    if request.method == "POST" and form.is_valid():
        return redirect("admin:authcodes_job_change", start(page, request, **form.cleaned_data).pk)
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": page.export_name(request.GET),
        "form": form,
        "filters": filters_of(request, changes),
        "columns": list(REPORTS[page.export_kind_of(request.GET)][1].columns),
    }
    return TemplateResponse(request, "admin/authcodes/export.html", context)


def start(page: ExportingAdmin, request: HttpRequest, *, brand: Brand, format: str) -> Job:  # noqa: A002 - the field's name
    query = request.GET.copy()
    query.pop("p", None)
    zone = timezone.get_current_timezone_name()
    with transaction.atomic():
        return jobs.start(
            brand=brand,
            kind=Job.Kind(page.export_kind_of(query)),
            title=page.export_name(query),
            parameters={"query": query.urlencode(), "format": format, "time_zone": zone},
            by=person(request),
        )


def filters_of(request: HttpRequest, changes: Any) -> list[str]:
    """What limits the list, in words for the page."""
    shown = [
        f"{spec.title}{_end_of(name)}: {_words_of(request, spec, request.GET[name])}"
        for spec in changes.filter_specs
        for name in spec.expected_parameters()
        if request.GET.get(name)
    ]
    if changes.query:
        shown.append(_("search: %(words)s") % {"words": changes.query})
    return shown


def _end_of(parameter: str) -> str:
    ends = {"_from": _(" from"), "_to": _(" to")}
    return next((words for end, words in ends.items() if parameter.endswith(end)), "")


def _words_of(request: HttpRequest, spec: Any, value: str) -> str:
    """A filter's choice as the list names it; a row only if the person may see it."""
    field = getattr(spec, "field", None)
    if field is not None and field.related_model and is_id(value):
        page: Any = admin.site.get_model_admin(field.related_model)
        return str(page.get_queryset(request).filter(pk=value).first() or value)
    choices = getattr(field, "flatchoices", None) or getattr(spec, "lookup_choices", None) or ()
    return str(dict(choices).get(value, value))


def run(run: jobs.Run) -> None:
    """The jobs' handler: the list as whoever started it would see it now, of the job's brand."""
    model, report = REPORTS[run.job.kind]
    by = run.job.created_by
    page: Any = admin.site.get_model_admin(model)
    if by is None or run.job.brand_id not in within(by, page.opts.label_lower):
        message = _("Who started this may not export these rows any more.")
        raise Forbidden(message)
    with timezone.override(run.parameters["time_zone"]):
        rows = shown_to(by, model, run.parameters["query"]).filter(**{page.brand_path: run.job.brand})
        if run.job.kind == Job.Kind.EXPORT_UNSCANNED:
            rows = rows.filter(scan_count=0)
        exports.export(run=run, report=report, rows=rows)


def shown_to(somebody: User, model: Any, query: str) -> QuerySet[Any]:
    """Every row of a list's pages, in the list's order. Raises IncorrectLookupParameters."""
    page: Any = admin.site.get_model_admin(model)
    request = HttpRequest()
    request.method = "GET"
    request.GET = QueryDict(query)
    request.user = somebody
    try:
        changes = page.get_changelist_instance(request)
    except MessageFailure:  # a list complains of what cannot be searched for, and nobody is here to hear it
        raise IncorrectLookupParameters from None
    rows: QuerySet[Any] = changes.queryset
    return rows
