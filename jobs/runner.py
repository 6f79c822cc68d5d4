"""Runs jobs: takes them from the queue, reports their progress, and stores how they end."""

import logging
import time
import traceback
from datetime import timedelta
from io import SEEK_END
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat, Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from core import languages
from core.db import row_guard
from core.db.outages import is_outage, through_outages
from core.errors import DomainError
from core.observability.tracing import TraceContext
from jobs import endings, heartbeat, kinds
from jobs.files import delete
from jobs.models import Job
from jobs.queue import call_worker, in_turn

logger = logging.getLogger(__name__)
FILE_LASTS = timedelta(days=7)
BEAT = timedelta(seconds=2)  # between signs of life, while the handler reports nothing
MAX_INTERRUPTIONS = 20  # more are caused by the job itself: a statement that crashes the database server
CANCELLED = gettext_noop("Cancelled.")
ABANDONED = gettext_noop("Given up: the database became unavailable several times during the job.")

# A handler reports between its steps. One that reports nothing for this long counts as hanging.
MAX_STEP = timedelta(hours=1)
CLOCK = time.monotonic


class JobCancelledError(Exception):
    """The job was cancelled."""


class JobSupersededError(Exception):
    """Another attempt runs this job now."""


class Run:
    """One attempt at a job, as passed to its handler."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.attempt = job.attempts
        self._heard_at = CLOCK()

    @property
    def parameters(self) -> dict[str, Any]:
        result: dict[str, Any] = self.job.parameters
        return result

    def progress(self, done: int, total: int) -> None:
        """Report progress. Raises JobCancelledError or JobSupersededError: the handler must stop cleanly."""
        if not self.note_progress(done, total):
            raise JobSupersededError
        if Job.objects.filter(pk=self.job.pk, cancel_requested=True).exists():
            raise JobCancelledError

    def note_progress(self, done: int, total: int) -> bool:
        """Report progress once all is committed and it cannot stop any longer. False: another attempt runs it now."""
        self._heard_at = CLOCK()
        return bool(self._own_row().update(done=done, total=total, alive_at=Now()))

    def beat(self) -> bool:
        """Report that the worker lives. False: another attempt runs the job, it has ended, or its handler hangs."""
        if CLOCK() - self._heard_at > MAX_STEP.total_seconds():
            logger.error(
                "job %s: its handler said nothing for %s; another worker may take it over", self.job.pk, MAX_STEP
            )
            return False
        return bool(self._own_row().update(alive_at=Now()))

    def check_superseded(self) -> None:
        """Raises JobSupersededError. If a lock serialises attempts, call while it is locked."""
        if not self._own_row().exists():
            raise JobSupersededError

    def log(self, line: str) -> None:
        """Add a line to the log. A text without values is marked with gettext_noop, and pages translate it; one with
        values is already in the language of the user who started the job."""
        self._heard_at = CLOCK()
        self._own_row().update(log=_logged(self.job, line), alive_at=Now())

    def save_file(self, content: IO[bytes], *, name: str) -> None:
        """Offer `content` for download as `name`, for FILE_LASTS. Raises the same errors as progress.

        The path is stored on the job before the file is written, so that no file exists without a job that deletes it
        later. Raises QuotaReached above the brand's storage quota.
        """
        file, earlier = self.job.result, self.job.result.name
        lasts = timezone.now() + FILE_LASTS
        where = file.storage.get_available_name(
            file.field.generate_filename(self.job, f"{self.job.pk}-{self.attempt}-{name}"), file.field.max_length
        )
        size = _size_of(content)
        fields = {"result": where, "result_name": name, "result_bytes": size, "expires_at": lasts}
        with transaction.atomic():
            more = size - (self.job.result_bytes if earlier else 0)
            quotas.require(self.job.brand_id, BrandQuota.Resource.STORAGE, more=more)
            placed = self._own_row().filter(cancel_requested=False).update(**fields)
        if not placed:
            raise JobCancelledError if self._own_row().exists() else JobSupersededError
        if earlier:
            transaction.on_commit(lambda: delete(file.storage, earlier))
        file.name = file.storage.save(where, File(content), file.field.max_length)
        if not self._own_row().update(result=file.name):
            delete(file.storage, file.name)
            raise JobSupersededError

    def _own_row(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job.pk, attempts=self.attempt, status=Job.Status.RUNNING)


def _size_of(content: IO[bytes]) -> int:
    place = content.tell()
    size = content.seek(0, SEEK_END)
    content.seek(place)
    return size


def run(job_id: int) -> None:
    """Run a job, unless another worker has it or it is not its turn. However it ends, the result is stored on it.

    Waits during database outages: the job is then begun or queued again.
    """
    job = through_outages(lambda: _take(job_id))
    if job is None:
        return
    with TraceContext("job", job.kind, job_id=str(job_id)):
        _attempt(job)
    for waiting in through_outages(lambda: list(in_turn().values_list("pk", flat=True)[:1])):
        call_worker(waiting)


def _attempt(job: Job) -> None:
    run, language = Run(job), job.language or settings.LANGUAGE_CODE
    guard = row_guard.within([job.brand_id], user_id=job.created_by_id)
    try:
        with heartbeat.beating(run.beat, every=BEAT), guard, languages.override(language):
            kinds.declared()[job.kind].run(run)
    except JobSupersededError:
        logger.warning("job %s: another worker took it over", job.pk)
    except JobCancelledError:
        _finish(job, Job.Status.CANCELLED, CANCELLED)
    except DomainError as domain_error:
        _finish(job, Job.Status.FAILED, domain_error.message)
    except Exception as error:
        if is_outage(error):
            logger.warning("job %s: the database went away (%s); it is queued again", job.pk, str(error).strip())
            through_outages(lambda: _queue_again(job))
            return
        logger.exception("job %s failed", job.pk)
        _finish(job, Job.Status.FAILED, "".join(traceback.format_exception_only(error)).strip()[:500])
    else:
        _finish(job, Job.Status.DONE, "")


def _queue_again(job: Job) -> None:
    """Queue the job again after a database outage. The worker lives, so this does not count as a crash."""
    rows = Job.objects.filter(pk=job.pk, attempts=job.attempts, status=Job.Status.RUNNING)
    if job.interruptions >= MAX_INTERRUPTIONS:
        log = Concat(F("log"), Value(f"{ABANDONED}\n"))
        endings.end(rows, status=Job.Status.FAILED, at=timezone.now(), log=log)
        return
    rows.update(status=Job.Status.QUEUED, interruptions=F("interruptions") + 1, alive_at=Now())


def _take(job_id: int) -> Job | None:
    """Take the job if it is its turn: one conditional update decides which worker runs it."""
    taken = in_turn().filter(pk=job_id)
    if not taken.update(status=Job.Status.RUNNING, attempts=F("attempts") + 1, alive_at=Now(), started_at=Now()):
        return None
    return Job.objects.select_related("brand", "created_by").get(pk=job_id)


def _finish(job: Job, status: Job.Status, line: str) -> None:
    rows = Job.objects.filter(pk=job.pk, attempts=job.attempts, status=Job.Status.RUNNING)
    fields: dict[str, Any] = {"alive_at": Now()}
    if line:
        fields["log"] = _logged(job, line)
    through_outages(lambda: endings.end(rows, status=status, at=timezone.now(), **fields))


def _logged(job: Job, line: str) -> Concat:
    """The log with another line, which begins with the time in the brand's zone."""
    return Concat(F("log"), Value(f"{timezone.now().astimezone(job.brand.zone):%H:%M:%S} {line}\n"))
