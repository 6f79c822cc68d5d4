"""The queue of jobs: starts, cancels and resumes them."""

import logging
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Concat, Now
from django.utils import timezone
from django.utils.translation import get_language, gettext_noop

from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core import languages
from jobs import endings, kinds
from jobs.models import Job, JobQuerySet

logger = logging.getLogger(__name__)

# A worker without a sign of life for this long, by the database's clock, counts as dead, and its job is started again.
SILENCE = timedelta(seconds=8)
ATTEMPTS = 5
QUOTA = BrandQuota.Resource.JOBS
ABANDONED = gettext_noop("Given up: the job's worker ended several times without a message.")


def start(
    *,
    brand: Brand,
    kind: str,
    title: str,
    parameters: dict[str, Any],
    by: User | None,
    total: int = 0,
    customer: User | None = None,
) -> Job:
    """Store a job in the caller's transaction; a worker takes it after the commit.

    Raises QuotaReached above the brand's daily quota of jobs, which urgent jobs and exports of customers' data do not
    need. Raises IntegrityError while another job about `customer` is unfinished.
    """
    with transaction.atomic():
        if kind not in kinds.names(lambda each: each.is_urgent or each.for_customer):
            quotas.require(brand.pk, QUOTA)
        return store(brand=brand, kind=kind, title=title, parameters=parameters, by=by, total=total, customer=customer)


def store(
    *,
    brand: Brand,
    kind: str,
    title: str,
    parameters: dict[str, Any],
    by: User | None,
    total: int = 0,
    customer: User | None = None,
) -> Job:
    """Like `start`, for a caller whose transaction has checked the brand's quota of jobs, `QUOTA`, itself.

    The job's later texts are in the current language, or in English if no staff started it.
    """
    language = get_language() if by else None
    with languages.in_english():
        title = str(title)
    job = Job.objects.create(
        brand=brand,
        kind=kind,
        title=title[:200],
        language=language or settings.LANGUAGE_CODE,
        parameters=parameters,
        created_by=by,
        total=total,
        customer=customer,
    )
    transaction.on_commit(lambda: call_worker(job.pk))
    return job


def call_worker(job_id: int) -> None:
    try:
        current_app.send_task("jobs.tasks.run_job", [job_id], ignore_result=True)
    except Exception as error:  # noqa: BLE001 - whatever the broker's trouble, the sweep finds the row
        logger.warning("no worker could be called for job %s (%s); the sweep will start it", job_id, error)


def in_turn() -> JobQuerySet:
    """Jobs that a worker may take now."""
    workers = settings.JOB_WORKERS
    most = min(settings.JOBS_PER_BRAND, workers - 1)
    if not settings.FAIR_SHARES:
        most = workers = 1_000_000
    return Job.objects.in_turn(silent=Now() - SILENCE, of_a_brand=most, workers=workers)


def cancel(*, job: Job) -> bool:
    """Request a job to stop; a queued one is cancelled at once. False: it has ended already."""
    waiting = Job.objects.filter(pk=job.pk, status=Job.Status.QUEUED)
    if endings.end(waiting, status=Job.Status.CANCELLED, at=timezone.now(), cancel_requested=True):
        return True
    return bool(Job.objects.filter(pk=job.pk, status=Job.Status.RUNNING).update(cancel_requested=True))


def resume() -> list[int]:
    """Call workers for jobs in turn; fail jobs that repeatedly crash their workers. Returns the called jobs' IDs."""
    now = timezone.now()
    abandoned = Job.objects.abandoned(silent=Now() - SILENCE).filter(attempts__gte=F("interruptions") + ATTEMPTS)
    not_ended = [each for each in abandoned.values_list("pk", flat=True) if not _give_up(abandoned, each, at=now)]
    just_called = Q(status=Job.Status.QUEUED, created_at__gte=now - timedelta(seconds=5))
    called = list(in_turn().exclude(just_called).exclude(pk__in=not_ended).values_list("pk", flat=True))
    for job_id in called:
        call_worker(job_id)
    return called


def _give_up(abandoned: JobQuerySet, job_id: int, *, at: datetime) -> bool:
    """Fail one of these jobs. False: a handler of its end failed, for which the jobs of other brands must not wait."""
    log = Concat(F("log"), Value(f"{ABANDONED}\n"))
    try:
        endings.end(abandoned.filter(pk=job_id), status=Job.Status.FAILED, at=at, log=log)
    except Exception:
        logger.exception("job %s could not be ended", job_id)
        return False
    return True
