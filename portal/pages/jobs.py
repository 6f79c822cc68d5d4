"""Page: jobs, their current progress and their files, for users who may see the files' content."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from brands.identity import roles
from brands.identity.roles import ACT, STOP, VIEW
from core.numbers import is_id
from jobs import kinds, queue
from jobs.models import Job
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction
from portal.base.job_panel import COLOURS, is_on_offer, job_context
from portal.base.links import admin_address
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.downloads import as_attachment
from portal.import_export.exportable import within
from portal.lists.filters import DayFilter
from portal.mixins.live_lists import MAX_WATCHED, LiveAdmin
from portal.unfold import ChoicesFilter, display

TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".zip": "application/zip",
    ".pdf": "application/pdf",
}
BELL_TIME = timedelta(days=1)  # how long the bell shows jobs after they end
MAX_IN_BELL = 10


@admin.register(Job)
class JobAdmin(LiveAdmin):
    role_permissions: ClassVar = {
        "owner": "view act stop",
        "manager": "view act stop",
        "printer": "view act",
        "support": "view",
    }
    sidebar = SidebarEntry(SETTINGS, 13, "pending_actions", tab=False)
    live_columns = ("state", "progress")
    list_display = ("title", "kind", "state", "progress", "created_by", "created_at")
    list_filter = (("kind", ChoicesFilter), ("status", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("created_by",)
    search_fields = ("title",)
    fieldsets = (
        (None, {"fields": ("brand", ("title", "kind"))}),
        (gettext_lazy("History"), {"fields": (("created_by", "created_at"), ("started_at", "finished_at"))}),
    )
    change_form_outer_before_template = "admin/portal/job_panel.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        by_label = defaultdict(list)
        for kind in kinds.declared().values():
            if kind.visible_with:
                by_label[kind.visible_with].append(kind.name)
        for label, names in by_label.items():
            seen = roles.brand_scope(request.user, VIEW, label)
            if not seen.everywhere:
                rows = rows.filter(~Q(kind__in=names) | Q(brand__in=seen.brand_ids))
        return rows

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        (name, options), *remaining = super().get_fieldsets(request, obj)
        own = [*options["fields"], "customer"] if obj and obj.customer_id else options["fields"]
        return [(name, {**options, "fields": own}), *remaining]

    def own_views(self) -> dict[str, Any]:
        return {
            "bell": ("bell/", self.bell_view),
            "progress": ("progress/", self.progress_view),
            "download": ("<id:pk>/download/", self.download),
            "cancel": ("<id:pk>/cancel/", self.cancel),
            **super().own_views(),
        }

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        page_context = {
            "job": job_context(job),
            "job_link": self.related_links(request, [job]).get(job.pk),
            "may_download": self.may_download(request, job),
            "may_cancel": self.may_cancel(request, job),
            "print_address": details_of(job),
        }
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **page_context})

    def may_download(self, request: HttpRequest, job: Job) -> bool:
        """Whether the user may download the job's file."""
        kind = kinds.declared()[job.kind]
        if kind.may_have_file and not kind.may_have_file(job, staff_user(request)):
            return False
        label = kind.visible_with
        scope = within(request.user, label) if label else self.brand_scope(request, ACT)
        return job.brand_id in scope

    def may_cancel(self, request: HttpRequest, job: Job) -> bool:
        """Printers cancel their own jobs, managers and owners anyone's, unless the kind decides."""
        if not self.may_download(request, job):
            return False
        if may_cancel := kinds.declared()[job.kind].may_cancel:
            return may_cancel(job, staff_user(request))
        return job.created_by_id == staff_user(request).pk or self.may(request, STOP, job)

    def related_links(self, request: HttpRequest, jobs: Sequence[Job]) -> dict[int, dict[str, str]]:
        """By job id, the related row, such as a batch, if the user may see it."""
        by_source = defaultdict(list)
        for job in jobs:
            if source := kinds.declared()[job.kind].related_rows:
                by_source[source].append(job)
        rows = {pk: row for source, of_source in by_source.items() for pk, row in source(of_source).items()}
        return {pk: link_to(row) for pk, row in rows.items() if self.page_of(row).has_view_permission(request, row)}

    def page_of(self, row: Any) -> Any:
        return self.admin_site.get_model_admin(type(row))

    def is_changing(self, job: Job) -> bool:
        return job.is_unfinished

    @display(description=gettext_lazy("state"), ordering="status")
    def state(self, job: Job) -> SafeString:
        return self.live(job, "state", badge(COLOURS[job.status], job.get_status_display()))

    @display(description=gettext_lazy("progress"))
    def progress(self, job: Job) -> SafeString:
        return self.live(job, "progress", format_html("{}", job_context(job)["text"]))

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """The progress of the jobs in `id` that the user may see, for the page's script."""
        ids = [text for text in request.GET.getlist("id")[:MAX_WATCHED] if is_id(text)]
        return JsonResponse({"jobs": [job_context(job) for job in self.get_queryset(request).filter(pk__in=ids)]})

    def bell_view(self, request: HttpRequest) -> JsonResponse:
        """The content of the header's bell: this user's jobs that are running or ended recently."""
        since = timezone.now() - BELL_TIME
        started = self.get_queryset(request).filter(created_by=staff_user(request))
        newest = started.filter(Q(status__in=Job.UNFINISHED) | Q(finished_at__gte=since)).order_by("-pk")
        detailed = newest.select_related(*kinds.details_fields())[:MAX_IN_BELL]
        jobs = sorted(detailed, key=lambda job: not job.is_unfinished)
        links = self.related_links(request, jobs)
        rows = [
            {
                **job_context(job),
                "title": job.title,
                "may_download": self.may_download(request, job),
                "link": links.get(job.pk),
                "page": page_about(job),
            }
            for job in jobs
        ]
        running = sum(job.is_unfinished for job in jobs)
        name = ngettext("Jobs: %(number)d running", "Jobs: %(number)d running", running) % {"number": running}
        html = render_to_string("admin/portal/bell.html", {"jobs": rows})
        return JsonResponse({"running": running, "name": name if running else _("Jobs"), "html": html})

    def cancel(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A page states the consequences; its button cancels. If the job has ended already, it only says so."""
        job = self.get_object(request, str(pk))
        if not self.may_cancel(request, job):
            raise PermissionDenied
        if not job.is_unfinished:
            self.cancelled(request, job)
            return redirect(page_about(job))
        action = ConfirmedAction(
            title=_("Cancel this job?"),
            paragraphs=[kinds.declared()[job.kind].on_cancel],
            form=forms.Form,
            button=_("Cancel job"),
            dangerous=True,
            cancel=_("Go back"),
            back_to=page_about(job),
        )
        return action.respond(self, request, job, lambda _answers: self.cancelled(request, job))

    def cancelled(self, request: HttpRequest, job: Job) -> None:
        requested = queue.cancel(job=job)
        if requested:
            self.record_action(request, [job], gettext_noop("Cancelled"))
        self.message_user(request, _("The job will stop shortly.") if requested else _("The job has already finished."))

    def download(self, request: HttpRequest, pk: int) -> HttpResponse | FileResponse:
        job = self.get_object(request, str(pk))
        if not self.may_download(request, job):
            raise PermissionDenied
        try:
            content = job.result.open("rb") if is_on_offer(job) else None
        except FileNotFoundError:
            content = None
        if content is None:
            gone = _("The file has expired. Start the job again to create a new one.")
            text = gone if job.expires_at else _("There is no file to download.")
            self.message_user(request, text, messages.ERROR)
            return redirect(page_about(job))
        if job.customer_id:
            self.record_action(request, [job], gettext_noop("Downloaded"))
        kind = TYPES.get(PurePath(job.result_name).suffix, "application/octet-stream")
        return as_attachment(FileResponse(content, content_type=kind), job.result_name)


def details_of(job: Job) -> str:
    """The address of the row with details, if the job's kind has one."""
    name = kinds.declared()[job.kind].details
    row = getattr(job, name, None) if name else None
    return link_to(row)["page"] if row else ""


def page_about(job: Job) -> str:
    """The page to follow the job: the one of the row with details, else the job's own."""
    return details_of(job) or reverse("admin:jobs_job_change", args=[job.pk])


def link_to(row: Any) -> dict[str, str]:
    """The kind of a row, its name, and the address of its page."""
    model = row._meta
    page = admin_address(model.label_lower, "change", row.pk)
    return {"kind": capfirst(model.verbose_name), "name": str(row), "page": page}
