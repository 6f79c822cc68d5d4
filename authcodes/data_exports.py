"""Exports of customers' data: a job writes what a brand stores about one of its customers, who downloads the file.

A customer has one export at a brand at a time, whether they or staff requested it. The next one replaces its file.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any
from uuid import uuid4

from django.core import signing
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.models.people import User
from brands.models.tenants import Brand
from core import languages, personal_data
from core.db import row_guard
from core.errors import Invalid, NotFound, RateLimited, raises
from jobs import files, queue, runner
from jobs.kinds import JobKind
from jobs.models import Job

KIND = "export-customer-data"
SALT = "authcodes.data-exports"
LINK_LASTS = timedelta(minutes=15)
MAX_LINK_LENGTH = 200
MAX_QUEUED_EXPORTS = 100  # of a brand; to choose the next one, each is compared with the others
RETRY_SECONDS = 300  # when a brand with a full queue may request again
PROGRESS_SECONDS = 0.5  # between two checks for cancellation, above all by an erasure
EXPIRED = "expired"
STATES = [*Job.Status.values, EXPIRED]


@dataclass(frozen=True, slots=True)
class DataExport:
    """The state of a customer's newest export. `link` gives access to its file until `link_until`."""

    status: str
    requested_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None
    size: int | None
    link: str
    link_until: datetime | None


def start(*, brand: Brand, customer: User, by: User | None, at: datetime) -> Job:
    """Have a worker write the customer's data, or return the job that will.

    Call in a transaction that holds the lock on the customer (`users.lock_user`), after checking that the brand still
    knows them: an erasure finds every job started before it. Raises RateLimited.
    """
    if result := _unfinished(brand.pk, customer.pk):
        return result
    waiting = Job.objects.filter(brand=brand, kind=KIND, status=Job.Status.QUEUED).count()
    if waiting >= MAX_QUEUED_EXPORTS:
        raise RateLimited(_("Too many data exports are waiting. Try again later."), retry_after=RETRY_SECONDS)
    title = gettext_noop("Data of customer %(number)s") % {"number": customer.pk}
    try:
        with transaction.atomic():
            job = queue.start(
                brand=brand, kind=KIND, title=title, parameters={"file": str(uuid4())}, by=by, customer=customer
            )
    except IntegrityError:
        result = _unfinished(brand.pk, customer.pk)
        if result is None:
            raise
        return result
    files.expire_files_of_customer(brand_id=brand.pk, customer_id=customer.pk, at=at)
    return job


def run(run: runner.Run) -> None:
    """Job handler."""
    brand, customer_id = run.job.brand, run.job.customer_id
    if customer_id is None:
        raise Invalid(_("The customer no longer exists."))
    with row_guard.within([brand.pk], user_id=customer_id), files.workspace() as file:
        with languages.in_english():
            parts = personal_data.parts(user_id=customer_id, brand_id=brand.pk)
            write(file, parts, progress=lambda number: run.progress(number, 0))
        file.seek(0)
        day = brand.day_at(timezone.now())
        run.save_file(file, name=f"customer-data-{brand.slug}-{day}.json")


EXPORT = JobKind(
    name=KIND,
    label=gettext_lazy("Export a customer's data"),
    run=run,
    on_cancel=gettext_lazy("No file is created. You or the customer can start the export again."),
    visible_with="loyalty.userpoints",
    for_customer=True,
)


def write(file: IO[bytes], parts: Iterator[str], *, progress: Callable[[int], None]) -> None:
    """Write JSON parts in the format of the API. Regularly calls `progress`, which may raise, with their number."""
    file.write(b'{"success": true, "data": ')
    due, number = time.monotonic(), 0
    for number, part in enumerate(parts, 1):
        file.write(part.encode())
        if time.monotonic() >= due:
            progress(number)
            due = time.monotonic() + PROGRESS_SECONDS
    file.write(b"}")
    progress(number)


@raises(NotFound)
def newest(*, brand_id: int, customer_id: int, at: datetime) -> DataExport:
    """Raises NotFound if no export was requested."""
    job = _of(brand_id, customer_id).first()
    if job is None:
        raise NotFound(_("You have not requested a data export yet."))
    offered = _is_offered(job, at)
    return DataExport(
        status=job.status if offered or job.status != Job.Status.DONE else EXPIRED,
        requested_at=job.created_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at if offered else None,
        size=job.result_bytes if offered else None,
        link=_signer(brand_id, customer_id).sign(job.parameters["file"]) if offered else "",
        link_until=at + LINK_LASTS if offered else None,
    )


@raises(NotFound)
def opened(*, brand_id: int, customer_id: int, link: str, at: datetime) -> IO[bytes]:
    """The customer's file: the file of `link`, or the newest file without a link. Raises NotFound."""
    job = _of(brand_id, customer_id).filter(status=Job.Status.DONE).first()
    if job is None or not _is_offered(job, at) or (link and not _leads_to(job, link)):
        raise gone()
    try:
        content: IO[bytes] = job.result.open("rb")
    except FileNotFoundError:
        raise gone() from None
    return content


def gone() -> NotFound:
    return NotFound(_("The file does not exist or its link has expired. Request a new export or a new link."))


def _of(brand_id: int, customer_id: int) -> Any:
    return Job.objects.filter(brand=brand_id, customer=customer_id, kind=KIND).order_by("-id")


def _unfinished(brand_id: int, customer_id: int) -> Job | None:
    row: Job | None = _of(brand_id, customer_id).filter(status__in=Job.UNFINISHED).first()
    return row


def _is_offered(job: Job, at: datetime) -> bool:
    return bool(job.status == Job.Status.DONE and job.result and job.expires_at and job.expires_at > at)


def _signer(brand_id: int, customer_id: int) -> signing.TimestampSigner:
    """The salt makes a link valid only for this customer at this brand."""
    return signing.TimestampSigner(salt=f"{SALT}:{brand_id}:{customer_id}")


def _leads_to(job: Job, link: str) -> bool:
    signer = _signer(job.brand_id, job.customer_id or 0)
    try:
        file = signer.unsign(link, max_age=LINK_LASTS) if len(link) <= MAX_LINK_LENGTH else ""
    except signing.BadSignature:
        return False
    return bool(file == job.parameters["file"])
