"""Lists whose rows are imported and exported as files with the same columns, through a preview and a confirmation."""

from typing import Any, ClassVar

from django import forms
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from brands.identity.roles import BrandScope
from brands.models.tenants import Brand
from core import languages
from core.errors import DomainError, Invalid
from core.forms.digits import AsciiDigits
from core.numbers import grouped
from core.spreadsheets.report import Format
from jobs.models import StagedUpload
from portal.base.audit_mixin import audit_context
from portal.base.job_panel import job_context
from portal.base.links import admin_address
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export import downloads, exportable, imports, large_files, tables, tickets
from portal.import_export.imports import ErrorFile
from portal.import_export.plans import Outcome
from portal.import_export.previews import PREVIEW_ROWS, Preview
from portal.import_export.resource import TenantResource
from portal.import_export.tickets import Ticket
from portal.lists.selection import filters_of
from portal.unfold import FileWidget, SelectWidget

WORKING = (StagedUpload.Status.CHECKING, StagedUpload.Status.IMPORTING)


class BrandForm(AsciiDigits, forms.Form):
    """The choice of the brand."""

    brand = forms.ModelChoiceField(
        Brand.objects.none(), label=gettext_lazy("Brand"), widget=SelectWidget, empty_label=None
    )

    def __init__(self, brands: QuerySet[Brand], *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.fields["brand"].queryset = brands  # type: ignore[attr-defined]


class UploadForm(BrandForm):
    """The choice of the file."""

    file = forms.FileField(
        label=gettext_lazy("File (CSV or XLSX)"),
        widget=FileWidget(attrs={"accept": ".csv,.xlsx"}),
        allow_empty_file=True,  # `tables` rejects it with its own message
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > tables.MAX_LARGE_BYTES:
            raise forms.ValidationError(tables.too_large(tables.MAX_LARGE_BYTES))
        return file


class ExportForm(BrandForm):
    """The choice of the file format."""

    format = forms.ChoiceField(choices=Format.choices, label=gettext_lazy("File"), widget=SelectWidget)


class ImportingAdmin(TenantAdmin):
    """A list whose rows can be imported and exported with the columns of `resource`."""

    resource: ClassVar[type[TenantResource]]
    list_before_template = "admin/portal/export_link.html"

    def own_views(self) -> dict[str, Any]:
        return {
            "import": ("import/", self.import_view),
            "import_preview": ("import/preview/", require_safe(self.preview_view)),
            "import_errors": ("import/errors/", require_safe(self.errors_view)),
            "import_confirm": ("import/confirm/", require_POST(self.confirm_view)),
            "import_template": ("import/template/", require_safe(self.template_view)),
            "import_export": ("import/export/", self.export_view),
            **super().own_views(),
        }

    def _address(self, name: str) -> str:
        return reverse(f"admin:{self.url_name(name)}")

    def import_scope(self, request: HttpRequest) -> BrandScope:
        """The brands where the user may import: add or change rows."""
        return self.brand_scope(request, self.resource.add_verb + self.resource.change_verb)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        names = {"name": self.opts.verbose_name_plural}
        links = []
        if self.import_scope(request):
            links.append((self._address("import"), "upload", _("Import %(name)s") % names))
        if self.offers_export and exportable.within(request.user, self.opts.label_lower):
            address = self._address("import_export") + (f"?{request.GET.urlencode()}" if request.GET else "")
            links.append((address, "download", _("Export %(rows)s") % {"rows": names["name"]}))
        return super().changelist_view(request, {"import_links": links, **(extra_context or {})})

    @property
    def offers_export(self) -> bool:
        """Whether to offer this export, because the list has no other."""
        return self.resource.exports and not hasattr(self, "export_kind")

    # --- In

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """The upload form; a POST stores the file and redirects to the preview."""
        within = self.import_scope(request)
        if not within:
            raise PermissionDenied
        brands = within.of(Brand.objects.all(), "pk")
        form = UploadForm(brands, request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            try:
                return self._staged(request, form.cleaned_data["brand"], form.cleaned_data["file"])
            except DomainError as error:
                form.add_error("file", error.message)
        return self._import_page(request, form, status=400 if form.is_bound else 200)

    def _staged(self, request: HttpRequest, brand: Brand, file: Any) -> HttpResponse:
        upload = large_files.receive(
            self.resource, brand=brand, by=staff_user(request), file=file, size=file.size, name=file.name
        )
        return redirect(f"{self._address('import_preview')}?{urlencode({'ticket': tickets.sign(upload)})}")

    def _import_page(self, request: HttpRequest, form: UploadForm, *, status: int) -> HttpResponse:
        resource = self.resource(Brand())
        context = {
            **self._context(_("Import %(name)s") % {"name": self.opts.verbose_name_plural}),
            "form": form,
            "columns": resource.columns_for_people(),
            "template_address": self._address("import_template"),
            "export_address": self._address("import_export") if resource.exports else "",
            "note": resource.note,
            "max_rows": grouped(resource.max_rows),
            "waits_above": grouped(tables.MAX_ROWS) if resource.max_rows > tables.MAX_ROWS else "",
        }
        return self.render_page(request, "admin/portal/import/upload.html", context, status=status)

    def _context(self, title: str) -> dict[str, Any]:
        return {"title": title, "import_address": self._address("import")}

    def _ticket(self, request: HttpRequest, text: str, *, lock: bool = False) -> Ticket:
        within, resource = self.import_scope(request), self.opts.label_lower
        return tickets.read(
            text, by=staff_user(request), resource=resource, within=within, at=timezone.now(), lock=lock
        )

    def _rejected(self, request: HttpRequest, error: DomainError) -> HttpResponse:
        context = {**self._context(_("Nothing was imported")), "problem": error.message}
        return self.render_page(request, "admin/portal/import/rejected.html", context, status=error.status)

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The changes that the file would make. Nothing has changed yet."""
        self._require(request)
        try:
            upload = self._ticket(request, request.GET.get("ticket", "")).upload
            if upload.status in WORKING:
                return self._working(request, upload)
            result = self._preview(upload)
        except DomainError as error:
            return self._rejected(request, error)
        return self._previewed(request, upload, result)

    def _preview(self, upload: StagedUpload) -> Preview:
        """Raises Invalid."""
        if upload.status == StagedUpload.Status.REJECTED:
            raise Invalid(languages.translated(upload.problem))
        return large_files.stored_preview(upload) if upload.is_large else imports.preview(upload, self.resource)

    def _working(self, request: HttpRequest, upload: StagedUpload) -> HttpResponse:
        """The progress of the job; the page reloads itself when the job has ended."""
        context = {
            **self._context(_("Preview: %(file)s") % {"file": upload.file_name}),
            "job": job_context(upload.job) if upload.job else None,
        }
        return self.render_page(request, "admin/portal/import/working.html", context)

    def _previewed(self, request: HttpRequest, upload: StagedUpload, preview: Preview) -> HttpResponse:
        faults = preview.count(Outcome.ERROR)
        context = {
            **self._context(_("Preview: %(file)s") % {"file": upload.file_name}),
            "brand": upload.brand if self.works_for_several(request) else None,
            "counts": [(outcome.label, preview.count(outcome)) for outcome in Outcome],
            "rows": preview.rows,
            "preview_rows": PREVIEW_ROWS,
            "faulty": preview.faulty,
            "more_faulty": faults - len(preview.faulty),
            "is_empty": preview.is_empty,
            "ticket": tickets.sign(upload, plan=preview.digest),
            "confirm_address": self._address("import_confirm"),
            "errors_address": f"{self._address('import_errors')}?{urlencode({'ticket': request.GET['ticket']})}",
        }
        return self.render_page(request, "admin/portal/import/preview.html", context)

    def _require(self, request: HttpRequest) -> None:
        if not self.import_scope(request):
            raise PermissionDenied

    def errors_view(self, request: HttpRequest) -> HttpResponseBase:
        """The lines with errors as a CSV that can be corrected and uploaded."""
        self._require(request)
        try:
            upload = self._ticket(request, request.GET.get("ticket", "")).upload
            content = imports.error_file(upload, self.resource)
        except DomainError as error:
            return self._rejected(request, error)
        return downloads.file(content, name=ErrorFile.name)

    def confirm_view(self, request: HttpRequest) -> HttpResponse:
        """Import what the preview showed, all of it or nothing."""
        self._require(request)
        try:
            with transaction.atomic():
                where = self._confirmed(request, request.POST.get("ticket", ""))
        except DomainError as error:
            return self._rejected(request, error)
        return redirect(*where)

    def _confirmed(self, request: HttpRequest, text: str) -> tuple[Any, ...]:
        """Returns what to show next."""
        ticket = self._ticket(request, text, lock=True)
        upload, context = ticket.upload, audit_context(request, imports.audit_reason(ticket.upload))
        if upload.is_large:
            job = large_files.start_import(upload, digest=ticket.plan, request_id=context.request_id)
            return "admin:jobs_job_change", job.pk
        result = imports.write(upload, self.resource, digest=ticket.plan, context=context)
        self.message_user(request, large_files.done_text(result))
        return (f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist",)

    # --- Out

    def template_view(self, request: HttpRequest) -> HttpResponse:
        """The header and an example."""
        self._require(request)
        try:
            requested = Format(request.GET.get("format", Format.CSV))
        except ValueError as error:
            raise Http404 from error
        return downloads.template(self.resource, format=requested)

    def export_view(self, request: HttpRequest) -> HttpResponse:
        """The list's rows of one brand, with the columns of an import."""
        if not self.resource.exports:
            raise Http404
        within = exportable.within(request.user, self.opts.label_lower)
        if not within:
            raise PermissionDenied
        try:
            changes = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(admin_address(self.opts.label_lower, "changelist") + "?e=1")
        form = ExportForm(within.of(Brand.objects.all(), "pk"), request.POST or None)
        if request.method == "POST" and form.is_valid():
            brand = form.cleaned_data["brand"]
            try:
                requested = Format(form.cleaned_data["format"])
                return downloads.export(self.resource, changes.queryset, brand=brand, format=requested)
            except Invalid as error:
                form.add_error(None, error.message)
        name = _("Export %(rows)s") % {"rows": self.opts.verbose_name_plural}
        context = {
            **self._context(name),
            "form": form,
            "filters": filters_of(request, changes),
            "columns": self.resource(Brand()).column_names(),
        }
        status = 400 if form.is_bound else 200
        return self.render_page(request, "admin/portal/export.html", context, status=status)
