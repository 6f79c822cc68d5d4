"""Page: imports of codes from CSV files. A worker checks a file; staff review it, then commit or discard it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.admin.batches.forms import SCAN_VALUE_FIELDS
from authcodes.admin.import_forms import CorrectedFileForm, UploadForm
from authcodes.admin.product_lookup import ActiveProductLookup
from authcodes.codes import scan_value
from authcodes.errors import ImportRejected
from authcodes.imports import commit as imports
from authcodes.imports import files, printed_elsewhere, retention, uploads
from authcodes.imports.checks import COLUMNS
from authcodes.imports.hints import hints
from authcodes.models.imports import Import, ImportRow
from brands.identity import roles
from brands.identity.roles import ACT, ADD, SCAN_VALUE
from core.errors import DomainError
from portal.base.badges import badge
from portal.base.fieldsets import fieldsets_without
from portal.base.job_panel import in_readers_language
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.downloads import as_attachment
from portal.lists.filters import DayFilter
from portal.mixins.live_lists import LiveAdmin
from portal.undo import offers
from portal.unfold import ChoicesFilter, display

COLOURS = {
    "checking": "info",
    "refused": "danger",
    "checked": "warning",
    "committing": "info",
    "committed": "success",
    "undoing": "info",
    "undone": "",
    "discarded": "",
}
GUIDE = {
    "auth_code": gettext_lazy("The code as printed. Each code once per file. Required."),
    "payload": gettext_lazy(
        "Exactly what the printed symbol says, if that is not the code itself: usually an address, "
        "at most 500 characters."
    ),
    "inventory_location": gettext_lazy(
        "Where the item is stored, at most 120 characters. Leave empty to keep the current value."
    ),
    "notes": gettext_lazy("Anything worth noting. Leave empty to keep the current value."),
    "product_sku": gettext_lazy("The product's SKU, exactly as in the portal. Required."),
    "auth_code_start": gettext_lazy("The first code of the range. Required."),
    "auth_code_end": gettext_lazy("The last code, of the same batch. Required."),
    "location": gettext_lazy(
        "Where the items are sold, at most 120 characters. Leave empty to keep the current value."
    ),
    "points_per_scan": gettext_lazy(
        "A whole number, at most the brand's ceiling; managers and owners only. "
        "Leave empty to keep the current value (initially the batch's)."
    ),
}
ERRORS_PER_PAGE = 100
CORRECTABLE = (Import.Status.REJECTED, Import.Status.CHECKED, Import.Status.DISCARDED)


@admin.register(Import)
class ImportAdmin(LiveAdmin):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view add act", "printer": "view add act"}
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 4, "upload_file")
    live_columns = ("state",)
    list_display = ("file_name", "state", "kind", "product", "rows", "bad_rows", "codes", "uploaded_by", "uploaded_at")
    list_filter = (("kind", ChoicesFilter), ("status", ChoicesFilter), ("uploaded_at", DayFilter))
    list_select_related = ("product", "uploaded_by")
    search_fields = ("file_name",)
    autocomplete_fields = ("product",)
    lookups = {"product": ActiveProductLookup}
    fieldsets = (
        (None, {"fields": ("brand", ("file_name", "kind"), "product")}),
        (gettext_lazy("History"), {"fields": (("uploaded_by", "uploaded_at"), ("committed_at", "undone_at"))}),
    )
    add_fieldsets = (
        (None, {"fields": ("brand", "file", "product")}),
        (
            gettext_lazy("Codes printed elsewhere"),
            {
                "fields": (
                    "range_name",
                    ("points_per_scan", "scan_limit"),
                    "expiration_date",
                    ("campaign", "after_campaign"),
                ),
                "description": gettext_lazy(
                    "Only for a file of codes that another company printed. The codes become a batch with this name."
                ),
            },
        ),
    )
    change_form_outer_before_template = "admin/authcodes/import/before.html"

    class Media:
        js = ("authcodes/import_file.js",)

    def own_views(self) -> dict[str, Any]:
        names = ("commit", "discard", "undo", "again", "errors")
        views = {name: (f"<id:pk>/{name}/", getattr(self, name)) for name in names}
        return {**views, "template": ("<slug:kind>/template/", self.template), **super().own_views()}

    def is_changing(self, upload: Import) -> bool:
        return upload.status in uploads.RUNNING

    @display(description=gettext_lazy("state"), ordering="status")
    def state(self, upload: Import) -> SafeString:
        text = upload.get_status_display().partition(":")[0]
        return self.live(upload, "state", badge(COLOURS[upload.status], text))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is None:
            help_texts = {
                "product": _("The product of the codes. Not used for ranges, because each row names its product.")
            }
            options |= {"form": UploadForm, "help_texts": help_texts}
        form: Any = super().get_form(request, obj, change, **options)
        form.request = request
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the batch settings from users who may not set them for any brand."""
        result = super().get_fieldsets(request, obj)
        hidden = obj is None and not roles.brand_scope(request.user, SCAN_VALUE, scan_value.LABEL)
        return fieldsets_without(result, SCAN_VALUE_FIELDS) if hidden else result

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        guide = [
            {"kind": kind, "label": Import.Kind(kind).label, "columns": [(name, GUIDE[name]) for name in names]}
            for kind, names in COLUMNS.items()
        ]
        page_context = {
            "title": _("Assign codes"),
            "import_guide": guide,
            "import_columns": json.dumps(COLUMNS),
            "show_save_and_continue": False,
        }
        return super().add_view(request, form_url, {**page_context, **(extra_context or {})})

    def create(self, request: HttpRequest, obj: Import, form: Any) -> Import:
        chosen = form.cleaned_data
        return uploads.upload(
            brand=obj.brand,
            kind=chosen["kind"],
            product=chosen["product"],
            file=chosen["file"],
            name=chosen["file"].name,
            by=staff_user(request),
            batch_settings=form.batch_settings(),
        )

    def response_add(self, request: HttpRequest, obj: Import, post_url_continue: str | None = None) -> HttpResponse:
        return redirect("admin:authcodes_import_change", obj.pk)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """If the import's job died, show the status that the import falls back to. The next action stores it."""
        result = super().get_object(request, object_id, from_field)
        if request.method != "POST":
            for name, value in uploads.reset_values(result).items():
                setattr(result, name, value)
        return result

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        upload = self.get_object(request, object_id)
        page_context = preview_of(upload, request.GET.get("errors", "1"))
        page_context |= {"upload_state": self.state(upload), "may_act": self.may_act(request, upload)}
        if upload.status in CORRECTABLE and (upload.problem or upload.bad_rows):
            page_context["upload_again"] = (
                CorrectedFileForm() if upload.brand_id in self.brand_scope(request, ADD) else None
            )
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def may_act(self, request: HttpRequest, upload: Import) -> bool:
        """Whether the user may commit, discard or undo the import."""
        return uploads.may_act(upload, staff_user(request)) and upload.brand_id in self.brand_scope(request, ACT)

    def again(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Upload a corrected file with the same settings as this import."""
        before = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if before.brand_id not in self.brand_scope(request, ADD):
            raise PermissionDenied
        form = CorrectedFileForm(request.POST, request.FILES)
        try:
            if not form.is_valid():
                raise ImportRejected(_("Choose the corrected file."))
            file = form.cleaned_data["file"]
            made = uploads.upload(
                brand=before.brand,
                kind=before.kind,
                product=before.product,
                file=file,
                name=file.name,
                by=staff_user(request),
                batch_settings=printed_elsewhere.settings_of(before),
            )
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_import_change", pk)
        self.log_addition(request, made, gettext_noop("Corrected file uploaded: %(file)s") % {"file": before})
        return redirect("admin:authcodes_import_change", made.pk)

    def commit(self, request: HttpRequest, pk: int) -> HttpResponse:
        skip_bad = request.POST.get("skip_bad") == "1"
        return self.act(
            request,
            pk,
            lambda upload: imports.commit(upload=upload, skip_bad=skip_bad, by=staff_user(request)),
            gettext_noop("The import is being committed."),
            undo="import",
        )

    def discard(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = gettext_noop("Discarded. Nothing was imported.")
        return self.act(request, pk, lambda upload: retention.discard(upload=upload, by=staff_user(request)), done)

    def undo(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = gettext_noop("The import is being undone. Every code returns to what it was before.")
        return self.act(
            request, pk, lambda upload: imports.undo(upload=upload, by=staff_user(request), at=timezone.now()), done
        )

    def act(self, request: HttpRequest, pk: int, action: Any, done: str, *, undo: str = "") -> HttpResponse:
        """Run the action, show its result (`done`, marked with gettext_noop) and note it in the history.

        `undo`: the kind of the undo offer.
        """
        upload = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may_act(request, upload):
            raise PermissionDenied
        try:
            action(upload)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.log_change(request, upload, done)
            if undo:
                offers.report_with_undo(
                    request, _(done), undo, brand_id=upload.brand_id, arguments={"import": upload.pk}
                )
            else:
                self.message_user(request, _(done))
        return redirect("admin:authcodes_import_change", pk)

    def errors(self, request: HttpRequest, pk: int) -> StreamingHttpResponse:
        upload = self.get_object(request, str(pk))
        stem = slugify(upload.file_name.rpartition(".")[0]) or "import"
        return as_csv(files.error_csv(upload), f"{stem}-errors.csv")

    def template(self, request: HttpRequest, kind: str) -> StreamingHttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if kind not in COLUMNS:
            raise Http404
        return as_csv(iter([files.template(kind)]), f"template-{kind}.csv")


def as_csv(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    """A download; the byte order mark makes Excel read it as UTF-8."""
    content = (part.encode() for part in chain(["\ufeff"], lines))
    return as_attachment(StreamingHttpResponse(content, content_type="text/csv; charset=utf-8"), name)


def preview_of(upload: Import, page: str) -> dict[str, Any]:
    """The panel above the form on the import's page."""
    lines = ImportRow.objects.filter(upload=upload).order_by("line")
    counted: Any = CountedRows(lines.exclude(error=""), upload.bad_rows)
    faulty: Page[ImportRow] = Paginator(counted, ERRORS_PER_PAGE).get_page(page)
    mending = hints(upload, list(faulty.object_list))
    for row in faulty.object_list:
        row.hint = mending.get(row.pk, "")  # type: ignore[attr-defined]
    jobs = list(uploads.jobs_of(upload)[:1])
    running = bool(jobs) and upload.status in uploads.RUNNING
    until = upload.committed_at and upload.committed_at + timedelta(hours=imports.UNDO_HOURS)
    return {
        "upload": upload,
        "upload_columns": COLUMNS[upload.kind],
        "upload_lines": lines[: uploads.PREVIEW_ROWS],
        "upload_errors": faulty,
        "upload_good": upload.rows - upload.bad_rows,
        "is_upload_purged": not upload.file,
        "upload_job": jobs[0] if jobs else None,
        "upload_log": in_readers_language(jobs[0].log) if jobs else "",
        "upload_runs": running,
        "undo_until": until if upload.status == Import.Status.COMMITTED and until and until > timezone.now() else None,
    }


class CountedRows:
    """Rows with a known count, which saves the paginator a query."""

    def __init__(self, rows: Any, number: int) -> None:
        self.rows, self.number = rows, number
        self.ordered = True

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, part: slice) -> Any:
        return self.rows[part]
