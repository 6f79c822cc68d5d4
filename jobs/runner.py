"""Jobs: the only code that starts, runs, cancels and restarts long work, and keeps the files that come of it."""

import logging
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from io import SEEK_END
from typing import IO, Any

from celery import current_app
from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage
from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat, Now
from django.utils import timezone
from django.utils.module_loading import import_string

from authcodes import heartbeat
from authcodes.models import Job
from authcodes.models.jobs import JobQuerySet
from brands import guard, quotas
from brands.database_outages import is_outage, through_outages
from brands.models import Brand, BrandQuota, User
from brands.refusals import Refused
from brands.tracing import Work

logger = logging.getLogger(__name__)

# A worker that gave no sign for so long, by the database's clock, is taken for dead, and its job is started again.
SILENCE = timedelta(seconds=8)
BEAT = timedelta(seconds=2)  # between two signs of a worker whose handler says nothing
ATTEMPTS = 5
MOST_INTERRUPTIONS = 20  # more are the job's own doing: a statement that ends the server's process
QUOTA = BrandQuota.Resource.JOBS
WITHOUT_QUOTA = (Job.Kind.NOTIFY_RECALL, Job.Kind.EXPORT_CUSTOMER_DATA)
MOST_FAILURES = 3  # of a storage, before it is taken to be away


# A handler says a word between its steps. One that is silent for so long will not return, whatever its process does.
LONGEST_STEP = timedelta(hours=1)
CLOCK = time.monotonic


class Cancelled(Exception):  # noqa: N818 - somebody's wish, not an error
    """Staff asked the job to stop."""


class Overtaken(Exception):  # noqa: N818 - a fact: another worker took the job for abandoned
    """Another attempt runs this job now."""


class Run:
    """One attempt at a job, as its handler sees it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.attempt = job.attempts
        self._heard_at = CLOCK()

    @property
    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = self.job.parameters
        return found

    def progress(self, done: int, total: int) -> None:
        """Say how far it is. Raises Cancelled or Overtaken: stop then, keeping what is whole."""
        if not self.tell(done, total):
            raise Overtaken
        if Job.objects.filter(pk=self.job.pk, cancel_requested=True).exists():
            raise Cancelled

    def tell(self, done: int, total: int) -> bool:
        """Say how far it is where it cannot stop any more: all is committed. False: another attempt runs it now."""
        self._heard_at = CLOCK()
        return bool(self._mine().update(done=done, total=total, alive_at=Now()))

    def give_sign(self) -> bool:
        """Say that its worker lives. False: another attempt runs it now, it has ended, or its handler hangs."""
        if CLOCK() - self._heard_at > LONGEST_STEP.total_seconds():
            logger.error(
                "job %s: its handler said nothing for %s; another worker may take it over", self.job.pk, LONGEST_STEP
            )
            return False
        return bool(self._mine().update(alive_at=Now()))

    def refuse_overtaken(self) -> None:
        """Raises Overtaken. Where attempts take turns by a lock, ask while it is held."""
        if not self._mine().exists():
            raise Overtaken

    def log(self, line: str) -> None:
        self._heard_at = CLOCK()
        self._mine().update(log=_logged(self.job, line), alive_at=Now())

    def keep(self, content: IO[bytes], *, name: str) -> None:
        """Offer `content` for download as `name`, until settings.JOB_FILE_DAYS have passed. Raises as progress does.

        Its place is on the job before the file is there, so that no file is ever without a job that forgets it.
        Raises QuotaReached above the brand's storage.
        """
        file, earlier = self.job.result, self.job.result.name
        lasts = timezone.now() + timedelta(days=settings.JOB_FILE_DAYS)
        where = file.storage.get_available_name(
            file.field.generate_filename(self.job, f"{self.job.pk}-{self.attempt}-{name}"), file.field.max_length
        )
        size = _size_of(content)
        fields = {"result": where, "result_name": name, "result_bytes": size, "expires_at": lasts}
        with transaction.atomic():
            more = size - (self.job.result_bytes if earlier else 0)
            quotas.require(self.job.brand_id, BrandQuota.Resource.STORAGE, more=more)
            placed = self._mine().filter(cancel_requested=False).update(**fields)
        if not placed:
            raise Cancelled if self._mine().exists() else Overtaken
        if earlier:
            transaction.on_commit(lambda: forget(file.storage, earlier))
        file.name = file.storage.save(where, File(content), file.field.max_length)
        if not self._mine().update(result=file.name):
            forget(file.storage, file.name)
            raise Overtaken

    def _mine(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job.pk, attempts=self.attempt, status=Job.Status.RUNNING)


def _size_of(content: IO[bytes]) -> int:
    place = content.tell()
    size = content.seek(0, SEEK_END)
    content.seek(place)
    return size


Handler = Callable[[Run], None]


@cache
def handler_of(kind: str) -> Handler:
    """What settings.JOB_HANDLERS names for this kind. It may be run again after a crash, and must bear that."""
    handler: Handler = import_string(settings.JOB_HANDLERS[kind])
    return handler


def start(
    *,
    brand: Brand,
    kind: Job.Kind,
    title: str,
    parameters: dict[str, Any],
    by: User | None,
    total: int = 0,
    customer: User | None = None,
) -> Job:
    """Store a job in the caller's transaction; a worker takes it up when that commits.

    Raises QuotaReached above the brand's jobs of a day; customers are warned of a recall, and get their data, at any
    rate. Raises IntegrityError while another job about `customer` is unfinished.
    """
    with transaction.atomic():
        if kind not in WITHOUT_QUOTA:
            quotas.require(brand.pk, QUOTA)
        return store(brand=brand, kind=kind, title=title, parameters=parameters, by=by, total=total, customer=customer)


def store(
    *,
    brand: Brand,
    kind: Job.Kind,
    title: str,
    parameters: dict[str, Any],
    by: User | None,
    total: int = 0,
    customer: User | None = None,
) -> Job:
    """`start` for a caller whose transaction has asked the brand's quota of jobs, `QUOTA`, itself."""
    job = Job.objects.create(
        brand=brand,
        kind=kind,
        title=title[:200],
        parameters=parameters,
        created_by=by,
        total=total,
        customer=customer,
    )
    transaction.on_commit(lambda: _call_worker(job.pk))
    return job


def _call_worker(job_id: int) -> None:
    try:
        current_app.send_task("authcodes.tasks.run_job", [job_id], ignore_result=True)
    except Exception as error:  # noqa: BLE001 - whatever the broker's trouble, the sweep finds the row
        logger.warning("no worker could be called for job %s (%s); the sweep will start it", job_id, error)


def run(job_id: int) -> None:
    """Run a job, unless another worker is at it or it is not its turn. Every way it can end is written on it.

    While the database is away this waits for it: the job then begins, or is queued again.
    """
    job = through_outages(lambda: _take(job_id))
    if job is None:
        return
    with Work("job", job.kind, job_id=str(job_id)):
        _attempt(job)
    for waiting in through_outages(lambda: list(in_turn().values_list("pk", flat=True)[:1])):
        _call_worker(waiting)


def _attempt(job: Job) -> None:
    run = Run(job)
    try:
        with heartbeat.beating(run.give_sign, every=BEAT), guard.within([job.brand_id], user_id=job.created_by_id):
            handler_of(job.kind)(run)
    except Overtaken:
        logger.warning("job %s: another worker took it over", job.pk)
    except Cancelled:
        _finish(job, Job.Status.CANCELLED, "Cancelled.")
    except Refused as refusal:
        _finish(job, Job.Status.FAILED, refusal.message)
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
    """Its worker lives and lost the database only, which counts as no attempt that ended its worker."""
    mine = Job.objects.filter(pk=job.pk, attempts=job.attempts, status=Job.Status.RUNNING)
    if job.interruptions >= MOST_INTERRUPTIONS:
        log = Concat(F("log"), Value(f"Given up: the database went away {MOST_INTERRUPTIONS} times during it.\n"))
        mine.update(status=Job.Status.FAILED, finished_at=timezone.now(), log=log)
        return
    mine.update(status=Job.Status.QUEUED, interruptions=F("interruptions") + 1, alive_at=Now())


def _take(job_id: int) -> Job | None:
    """The job, if it is its turn: one conditional update decides who runs it."""
    taken = in_turn().filter(pk=job_id)
    if not taken.update(status=Job.Status.RUNNING, attempts=F("attempts") + 1, alive_at=Now(), started_at=Now()):
        return None
    return Job.objects.select_related("brand", "created_by").get(pk=job_id)


def in_turn() -> JobQuerySet:
    """Those that a worker may take now."""
    workers = settings.JOB_WORKERS
    most = min(settings.JOBS_PER_BRAND, workers - 1)
    if not settings.FAIR_SHARES:
        most = workers = 1_000_000
    return Job.objects.in_turn(silent=Now() - SILENCE, of_a_brand=most, workers=workers)


def _finish(job: Job, status: Job.Status, line: str) -> None:
    mine = Job.objects.filter(pk=job.pk, attempts=job.attempts, status=Job.Status.RUNNING)
    fields: dict[str, Any] = {"status": status, "finished_at": timezone.now(), "alive_at": Now()}
    if line:
        fields["log"] = _logged(job, line)
    through_outages(lambda: mine.update(**fields))


def _logged(job: Job, line: str) -> Concat:
    """The log with one line more, which begins with the time in the brand's zone."""
    return Concat(F("log"), Value(f"{timezone.now().astimezone(job.brand.zone):%H:%M:%S} {line}\n"))


def cancel(*, job: Job) -> bool:
    """Ask a job to stop; one that waits is cancelled at once. False: it has ended already."""
    waiting = Job.objects.filter(pk=job.pk, status=Job.Status.QUEUED)
    if waiting.update(status=Job.Status.CANCELLED, cancel_requested=True, finished_at=timezone.now()):
        return True
    return bool(Job.objects.filter(pk=job.pk, status=Job.Status.RUNNING).update(cancel_requested=True))


def resume() -> list[int]:
    """Call workers for jobs whose turn it is; bury those that end their workers. Returns the called."""
    now = timezone.now()
    Job.objects.abandoned(silent=Now() - SILENCE).filter(attempts__gte=F("interruptions") + ATTEMPTS).update(
        status=Job.Status.FAILED,
        finished_at=now,
        log=Concat(F("log"), Value(f"Given up: its worker ended {ATTEMPTS} times without a word.\n")),
    )
    just_called = Q(status=Job.Status.QUEUED, created_at__gte=now - timedelta(seconds=5))
    called = list(in_turn().exclude(just_called).values_list("pk", flat=True))
    for job_id in called:
        _call_worker(job_id)
    return called


def forget_files() -> int:
    """Delete the files of jobs that have expired; the jobs stay. Returns how many.

    A file that cannot be deleted holds no other up, and stays on its job until it can; a storage that is away is
    not asked for all of them.
    """
    gone = failed = 0
    ended = Job.objects.exclude(status=Job.Status.RUNNING)  # which may not have stored its file yet
    for job in ended.filter(expires_at__lte=timezone.now()).exclude(result="").order_by("?"):
        if forget(job.result.storage, str(job.result.name)):
            Job.objects.filter(pk=job.pk).update(result="")
            gone += 1
        else:
            failed += 1
            if failed == MOST_FAILURES:
                break
    return gone


def forget(storage: Storage, name: str) -> bool:
    """Delete a file that nobody shall have any more. False: the storage failed, which the log tells."""
    try:
        storage.delete(name)
    except Exception:
        logger.exception("the file %s could not be deleted", name)
        return False
    return True


def workspace() -> IO[bytes]:
    """A file of this worker's own to write a result to before it is kept; gone when it is closed."""
    return tempfile.TemporaryFile()


def expire_files_of_customer(*, brand_id: int, customer_id: int, at: datetime) -> None:
    """Exports of the customer's data are on offer no more, and deleted at the next sweep."""
    theirs = Job.objects.filter(brand=brand_id, customer=customer_id).exclude(result="")
    theirs.exclude(status=Job.Status.RUNNING).exclude(expires_at__lte=at).update(expires_at=at)
