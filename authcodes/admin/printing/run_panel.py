"""The panel on a print run's page: what the file contains, its progress, and the permitted actions."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import ngettext

from authcodes.admin.printing.access import may_print
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from authcodes.printing import documents
from authcodes.printing.runs import outcome_message
from core.numbers import grouped
from jobs.models import Job
from portal.base.job_panel import job_context

RESULT_FIELDS = ("codes", "pages", "read_back", "pages_read")


def panel_context(site: Any, request: HttpRequest, run: PrintRun) -> dict[str, Any]:
    """The context of the template `print/panel.html`."""
    job = run.job
    job_page = site.get_model_admin(Job)
    may_act = may_print(request.user, run.brand_id)
    is_made = job.status == Job.Status.DONE
    return {
        "print_title": title_of(run),
        "print_batch": visible_batch(site, request, run),
        "print_outcome": outcome_of(run) if is_made else "",
        "print_settings": documents.settings_of(run),
        "print_job": reverse("admin:jobs_job_change", args=[job.pk]),
        "print_done": address_of("done", run) if may_act and is_made and not run.done_at else "",
        "print_open": address_of("open", run) if may_act and run.done_at else "",
        "print_cover": address_of("cover", run) if run.sha256 else "",
        "job": job_context(job),
        "may_download": job_page.may_download(request, job),
        "may_cancel": job_page.may_cancel(request, job),
    }


def title_of(run: PrintRun) -> str:
    """The kind of file, and how many codes it has."""
    if run.output == PrintRun.Output.LABELS:
        text = ngettext("PDF with %(number)s label", "PDF with %(number)s labels", run.codes)
    else:
        text = ngettext("ZIP with %(number)s image", "ZIP with %(number)s images", run.codes)
    return text % {"number": grouped(run.codes)}


def outcome_of(run: PrintRun) -> str:
    known = {name: getattr(run, name) for name in RESULT_FIELDS}
    return outcome_message({name: number for name, number in known.items() if number is not None})


def visible_batch(site: Any, request: HttpRequest, run: PrintRun) -> BatchRange | None:
    may_see = run.batch and site.get_model_admin(BatchRange).has_view_permission(request, run.batch)
    return run.batch if may_see else None


def address_of(name: str, run: PrintRun) -> str:
    return reverse(f"admin:authcodes_printrun_{name}", args=[run.pk])
