"""Ends jobs together with the consequences, in one transaction."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from jobs import kinds
from jobs.models import Job, JobQuerySet


def end(rows: JobQuerySet, *, status: Job.Status, at: datetime, **fields: Any) -> int:
    """End those of `rows` that have not ended yet; returns how many. Joins or owns a transaction.

    For each job, its kind's `on_end` and the handlers in settings.JOB_END_HANDLERS run in the same transaction.
    """
    with transaction.atomic():
        locked = list(rows.unfinished().order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        if not locked:
            return 0
        Job.objects.filter(pk__in=locked).update(status=status, finished_at=at, **fields)
        for job in Job.objects.filter(pk__in=locked).select_related("brand").order_by("pk"):
            follow_up(job)
    return len(locked)


def follow_up(job: Job) -> None:
    """Run the handlers for the end of a job. Call in the transaction that ends it."""
    kind = kinds.declared().get(job.kind)
    if kind is not None and kind.on_end:
        kind.on_end(job)
    for path in settings.JOB_END_HANDLERS:
        import_string(path)(job)
