"""The print queue: what was requested, by whom, by when, its file, and whether it is printed."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.admin.printing.access import may_print
from authcodes.admin.printing.preview import pdf
from authcodes.admin.printing.printable import printable
from authcodes.admin.printing.run_panel import panel_context
from authcodes.admin.printing.studio import StudioAdmin
from authcodes.models.batches import Recall
from authcodes.models.prints import PrintRun
from authcodes.printing import documents, posters, runs
from authcodes.printing.documents import LibrariesMissing
from authcodes.printing.runs import WITHOUT_FILE
from brands.models.tenants import Brand
from core.errors import DomainError, RateLimited
from core.numbers import format_number
from jobs.models import Job
from portal.base.badges import badge
from portal.base.job_panel import COLOURS
from portal.base.links import link
from portal.base.sidebar import PRINT, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.lists.filters import DayFilter, OwnRowsFilter, StateFilter
from portal.mixins.live_lists import LiveAdmin
from portal.unfold import ChoicesFilter, action, display

MAX_OFFERED = 50  # batches to choose from, and prints next to them
BUTTON = '<button type="submit" class="queue-button" formaction="{}" formmethod="post" aria-label="{}">{}</button>'


class QueueFilter(StateFilter):
    """The states of the list's badges."""

    title = gettext_lazy("state")
    parameter_name = "state"
    states: ClassVar = {
        "todo": gettext_lazy("To print"),
        "making": gettext_lazy("Being created"),
        "done": gettext_lazy("Printed"),
        "failed": gettext_lazy("No file"),
    }

    def condition(self, state: str, brands: Sequence[Brand]) -> Q:
        return {
            "todo": Q(done_at__isnull=True, job__status=Job.Status.DONE),
            "making": Q(job__status__in=Job.UNFINISHED),
            "done": Q(done_at__isnull=False),
            "failed": Q(job__status__in=WITHOUT_FILE),
        }[state]


@admin.register(PrintRun)
class PrintRunAdmin(StudioAdmin, LiveAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act", "printer": "view act"}
    sidebar = SidebarEntry(PRINT, 1, "print")
    list_name = gettext_lazy("print queue")
    live_columns = ("state", "file", "done")
    list_display = (
        "run",
        "codes",
        "batch",
        "output",
        "started_by",
        "started_at",
        "needed_by",
        "state",
        "file",
        "done",
    )
    list_filter = (QueueFilter, ("output", ChoicesFilter), ("started_at", DayFilter), ("batch", OwnRowsFilter))
    list_select_related = ("job", "batch", "brand", "started_by")
    search_fields = ("first_code__startswith", "batch__range_name")
    search_help_text = gettext_lazy("Start of the first code, or part of the batch's name.")
    fieldsets = (
        (None, {"fields": ("brand", ("first_code", "last_code"), ("codes", "output"))}),
        (gettext_lazy("For the print shop"), {"fields": (("due_on", "order_note"), ("done_at", "done_by"))}),
        (gettext_lazy("History"), {"fields": (("started_by", "started_at"),)}),
    )
    change_form_outer_before_template = "admin/authcodes/print/panel.html"
    actions_list = ("print_codes",)

    class Media:
        css = {"all": ("authcodes/print_studio.css",)}

    def own_views(self) -> dict[str, Any]:
        return {
            "choose": ("choose/", self.choose),
            "done": ("<id:pk>/done/", self.mark_done),
            "open": ("<id:pk>/open/", self.mark_open),
            "cover": ("<id:pk>/cover/", self.cover),
            "poster": ("poster/<id:pk>/", self.poster),
            **super().own_views(),
        }

    # --- The list ---

    @action(description=gettext_lazy("Print codes"), url_path="new", icon="print", permissions=["act"])
    def print_codes(self, _request: HttpRequest) -> HttpResponse:
        return redirect("admin:authcodes_printrun_choose")

    def choose(self, request: HttpRequest) -> HttpResponse:
        """The prints that wait for paper, and the batches that can be printed."""
        brands = list(self.brands_to_print(request))
        context = {
            "title": _("Print codes"),
            "prints": [self.print_line(run) for run in self.waiting(brands)],
            "printable": printable(request, brands, most=MAX_OFFERED),
            "several": len(brands) > 1,
        }
        return self.render_page(request, "admin/authcodes/print/choose.html", context)

    def waiting(self, brands: Sequence[Brand]) -> QuerySet[PrintRun]:
        """Runs with a file that are not marked as done, most urgent first."""
        rows = PrintRun.objects.filter(brand__in=brands, done_at__isnull=True, job__status=Job.Status.DONE)
        rows = rows.select_related("job", "batch", "brand", "started_by")
        return rows.order_by("due_on", "id")[:MAX_OFFERED]  # runs without a day come last

    def print_line(self, run: PrintRun) -> dict[str, Any]:
        return {
            "run": run,
            "number": format_number(run.codes),
            "page": reverse("admin:authcodes_printrun_change", args=[run.pk]),
            "due": self.needed_by(run),
            "file": self.file(run),
            "done": reverse("admin:authcodes_printrun_done", args=[run.pk]),
        }

    def is_changing(self, obj: PrintRun) -> bool:
        return obj.job.is_unfinished

    @display(description=gettext_lazy("state"))
    def state(self, run: PrintRun) -> SafeString:
        return self.live(run, "state", self.state_badge(run))

    def state_badge(self, run: PrintRun) -> SafeString:
        job = run.job
        if job.status == Job.Status.RUNNING:
            return badge(COLOURS[job.status], _("Being created: %(percent)s %%") % {"percent": job.percent})
        if job.status != Job.Status.DONE:
            return badge(COLOURS[job.status], job.get_status_display())
        return badge("success", _("Printed")) if run.done_at else badge("warning", _("To print"))

    @display(description=gettext_lazy("codes"), ordering="first_code")
    def run(self, run: PrintRun) -> str:
        return str(run)

    @display(description=gettext_lazy("needed by"), ordering="due_on")
    def needed_by(self, run: PrintRun) -> SafeString | str:
        """The due day and the note; marked late while the run is not done."""
        day: SafeString | str = date_format(run.due_on, "j M Y") if run.due_on else ""
        if is_late(run):
            day = format_html("{} {}", day, badge("danger", _("Late")))
        return (
            format_html('{}<span class="queue-note">{}</span>', day, run.order_note) if run.order_note else day or "-"
        )

    @display(description=gettext_lazy("file"))
    def file(self, run: PrintRun) -> SafeString:
        """The download link, while the file is retained."""
        text = SafeString("-")
        if run.job.status == Job.Status.DONE and run.job.result:
            text = link(reverse("admin:jobs_job_download", args=[run.job_id]), _("Download"))
        return self.live(run, "file", text)

    @display(description=gettext_lazy("on paper"))
    def done(self, run: PrintRun) -> SafeString:
        """When the run was marked as done, or the button that marks it."""
        text = SafeString("-")
        if run.done_at:
            text = format_html("{}", date_format(run.done_at.astimezone(run.brand.zone), "j M Y, H:i"))
        elif run.job.status == Job.Status.DONE:
            address, label = reverse("admin:authcodes_printrun_done", args=[run.pk]), _("Mark as done")
            text = format_html(BUTTON, address, _("Mark %(run)s as done") % {"run": run}, label)
        return self.live(run, "done", text)

    # --- One run ---

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        run = self.get_object(request, object_id)
        page_context = {**panel_context(self.admin_site, request, run), "print_state": self.state_badge(run)}
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def mark_done(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Mark the run as printed."""
        return self.mark(
            request,
            pk,
            lambda run: runs.mark_done(run=run, by=staff_user(request), at=timezone.now()),
            gettext_noop("Marked as done"),
            gettext_lazy("Marked as done: %(run)s"),
        )

    def mark_open(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Mark the run as not printed after all."""
        return self.mark(
            request,
            pk,
            lambda run: runs.mark_open(run=run),
            gettext_noop("Marked as not done"),
            gettext_lazy("Marked as not done: %(run)s"),
        )

    def mark(
        self, request: HttpRequest, pk: int, change: Callable[[PrintRun], bool], action: str, message: Any
    ) -> HttpResponse:
        """Make the change on POST, once, and redirect to the page with the button; GET changes nothing."""
        run = self.get_object(request, str(pk))
        if not may_print(request.user, run.brand_id):
            raise PermissionDenied
        page = redirect("admin:authcodes_printrun_change", run.pk)
        if request.method != "POST":
            return page
        try:
            with transaction.atomic():
                self.remember(request, [run])
                if change(run):
                    self.record_action(request, [run], action)
            self.message_user(request, message % {"run": run})
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        return redirect(came_from(request)) if came_from(request) else page

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

    def poster(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The poster of the recall `pk` in the requested language, for users who may see the recall."""
        recall = self.admin_site.get_model_admin(Recall).get_object(request, str(pk))
        back = redirect("admin:authcodes_recall_change", recall.pk)
        language = posters.language_of(recall.brand_id, request.GET.get("language", ""))
        name = f"recall-{recall.pk}-{language}.pdf"
        return self.document(request, back, lambda: posters.as_pdf(posters.of_recall(recall), language), name)

    def document(self, request: HttpRequest, back: HttpResponse, made: Callable[[], bytes], name: str) -> HttpResponse:
        try:
            return pdf(made(), name)
        except (LibrariesMissing, RateLimited) as error:
            self.message_user(request, error.message, messages.ERROR)
            return back


def is_late(run: PrintRun) -> bool:
    waits = run.done_at is None and run.job.status not in WITHOUT_FILE
    return bool(waits and run.due_on and run.due_on < run.brand.day_at(timezone.now()))


def came_from(request: HttpRequest) -> str:
    """The list or the print page with its filters, if the request came from there; never another address."""
    try:
        came = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    for name in ("changelist", "choose"):
        address = reverse(f"admin:authcodes_printrun_{name}")
        if came.path == address and came.netloc == request.get_host():
            return f"{address}?{came.query}" if came.query else address
    return ""
