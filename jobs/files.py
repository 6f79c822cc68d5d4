"""Files that jobs work on: temporary ones, and the deletion of those that have expired."""

import hashlib
import logging
import tempfile
from datetime import datetime
from typing import IO

from django.core.files.storage import Storage
from django.utils import timezone

from jobs.models import Job

logger = logging.getLogger(__name__)
CHUNK = 64 * 1024  # bytes that are read at once
MAX_FAILURES = 3  # of a storage, before it is taken to be away


def purge_files() -> int:
    """Delete the files of jobs that have expired; the jobs stay. Returns how many.

    A file that cannot be deleted holds no other up, and stays on its job until it can; a storage that is away is
    not asked for all of them.
    """
    gone = failed = 0
    ended = Job.objects.exclude(status=Job.Status.RUNNING)  # which may not have stored its file yet
    for job in ended.filter(expires_at__lte=timezone.now()).exclude(result="").order_by("?"):
        if delete(job.result.storage, str(job.result.name)):
            Job.objects.filter(pk=job.pk).update(result="")
            gone += 1
        else:
            failed += 1
            if failed == MAX_FAILURES:
                break
    return gone


def delete(storage: Storage, name: str) -> bool:
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


def digest(file: IO[bytes]) -> tuple[str, int]:
    """The SHA-256 of all of a file, and its length. It stands at its beginning afterwards."""
    file.seek(0)
    result, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK):
        result.update(chunk)
        size += len(chunk)
    file.seek(0)
    return result.hexdigest(), size


def expire_files_of_customer(*, brand_id: int, customer_id: int, at: datetime) -> None:
    """Exports of the customer's data are on offer no more, and deleted at the next sweep."""
    rows = Job.objects.filter(brand=brand_id, customer=customer_id).exclude(result="")
    rows.exclude(status=Job.Status.RUNNING).exclude(expires_at__lte=at).update(expires_at=at)
