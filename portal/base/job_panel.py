"""A job's progress, for its page, other pages and the scripts that refresh them."""

import re
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from core import languages
from core.numbers import grouped
from jobs.models import Job

COLOURS = {"queued": "", "running": "info", "done": "success", "failed": "danger", "cancelled": "warning"}
LOG_LINE = re.compile(r"((?:[0-9]{2}:){2}[0-9]{2} )?(.*)")  # with or without the time


def is_on_offer(job: Job) -> bool:
    return bool(job.status == Job.Status.DONE and job.result and job.expires_at and job.expires_at > timezone.now())


def job_context(job: Job) -> dict[str, Any]:
    """A job's state as text, for its page and for the script that refreshes the page."""
    text = f"{job.percent} %"
    if job.total:
        counts = {"done": grouped(job.done), "total": grouped(job.total), "percent": job.percent}
        text = _("%(done)s of %(total)s (%(percent)d %%)") % counts
    return {
        "id": job.pk,
        "status": job.status,
        "label": job.get_status_display(),
        "colour": COLOURS[job.status],
        "percent": job.percent,
        "text": text,
        "rate": rate_of(job),
        "log": in_readers_language(job.log),
        "ended": not job.is_unfinished,
        "stopping": job.cancel_requested,
        "file": job.result_name if is_on_offer(job) else "",
        "expires_at": job.expires_at,
        "expired": job.status == Job.Status.DONE and bool(job.expires_at) and not is_on_offer(job),
        "download": reverse("admin:jobs_job_download", args=[job.pk]),
        "cancel": reverse("admin:jobs_job_cancel", args=[job.pk]),
    }


def in_readers_language(log: str) -> str:
    """A job's lines in the reader's language. Platform texts are stored in English; others are in the language of the
    user who started the job."""
    lines = (LOG_LINE.fullmatch(line) for line in log.splitlines())
    return "".join(f"{line[1] or ''}{languages.translated(line[2])}\n" for line in lines if line)


def rate_of(job: Job) -> str:
    """The rate per second since a worker started it."""
    until = job.finished_at or job.alive_at
    if not (job.started_at and until and job.done):
        return ""
    seconds = max((until - job.started_at).total_seconds(), 0.001)
    return _("%(rate)s a second") % {"rate": grouped(round(job.done / seconds))}
