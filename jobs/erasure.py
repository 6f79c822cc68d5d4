"""The erasure of a person's data from jobs: files that may name the person expire, and running exports stop."""

import re
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_noop

from brands.user_mentions import Mentions, replace_mentions
from jobs import kinds, staged_uploads
from jobs.models import Job


def erase_user(*, user_id: int, brand_id: int, to: int, mentions: Mentions, pseudonym: str, at: datetime) -> None:
    """Erase a person's data: files that may name them can no longer be downloaded, and are deleted at the next sweep.

    Running exports stop; they can be started again. Unconfirmed uploads must be uploaded again, because their rows may
    be about the person. Call inside the transaction that erases.
    """
    _delete_exports_of(customer_id=user_id, brand_id=brand_id, to=to, at=at)
    staged_uploads.expire(brand_id=brand_id, at=at)
    naming = kinds.names(lambda kind: kind.names_customers)
    exports = Job.objects.filter(brand_id=brand_id, kind__in=naming).order_by("pk")
    locked = list(exports.select_for_update(no_key=True).exclude(expires_at__lte=at, cancel_requested=True))
    for job in locked:
        text = mentions.in_their_own_rows if is_search_for(job, mentions) else mentions.anywhere
        job.title = replace_mentions(job.title, text, pseudonym)[:200]
        job.parameters = parameters_without(job.parameters, text, pseudonym)
        job.log = replace_mentions(job.log, text, pseudonym)
        job.cancel_requested = job.cancel_requested or job.status == Job.Status.RUNNING
        job.expires_at = at if job.result else job.expires_at
    Job.objects.bulk_update(locked, ["title", "parameters", "log", "cancel_requested", "expires_at"], batch_size=500)


def is_search_for(job: Job, mentions: Mentions) -> bool:
    """Whether the exported list was filtered by a search for only the person's names."""
    query = job.parameters.get("query")
    return isinstance(query, str) and any(map(mentions.as_a_search.fullmatch, QueryDict(query).getlist("q")))


def parameters_without(parameters: dict[str, Any], pattern: "re.Pattern[str]", pseudonym: str) -> dict[str, Any]:
    """The parameters without mentions; `query`, the filters of a list, is decoded before."""
    cleaned: dict[str, Any] = replace_mentions(parameters, pattern, pseudonym)
    if isinstance(cleaned.get("query"), str):
        query = QueryDict(mutable=True)
        for name, values in QueryDict(cleaned["query"]).lists():
            query.setlist(name, replace_mentions(values, pattern, pseudonym))
        cleaned["query"] = query.urlencode()
    return cleaned


def _delete_exports_of(*, customer_id: int, brand_id: int, to: int, at: datetime) -> None:
    """Delete exports of the customer's own data: queued ones are cancelled, running ones stop, and files expire."""
    rows = list(Job.objects.select_for_update(no_key=True).filter(brand=brand_id, customer=customer_id).order_by("pk"))
    for job in rows:
        job.cancel_requested = job.cancel_requested or job.is_unfinished
        if job.status == Job.Status.QUEUED:
            job.status, job.finished_at = Job.Status.CANCELLED, at
        job.expires_at = at if job.result else job.expires_at
        job.title, job.customer_id = gettext_noop("Data of an erased customer"), to
    fields = ["title", "status", "finished_at", "cancel_requested", "expires_at", "customer"]
    Job.objects.bulk_update(rows, fields, batch_size=500)
