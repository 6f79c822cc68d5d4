"""Files that jobs work on: temporary ones, and the deletion of expired ones."""

import hashlib
import logging
import tempfile
from datetime import datetime
from typing import IO

from django.core.files.storage import Storage
from django.utils import timezone

from jobs.models import Job

logger = logging.getLogger(__name__)
CHUNK = 64 * 1024  # bytes read at once
MAX_FAILURES = 3  # of a storage, before it counts as unavailable


def purge_files() -> int:
    """Delete the files of jobs that have expired; the jobs remain. Returns how many.

    A file that cannot be deleted does not delay others and is retried later. After MAX_FAILURES, the storage counts as
    unavailable until the next call.
    """
    gone = failed = 0
    ended = Job.objects.exclude(status=Job.Status.RUNNING)  # a running job may not have stored its file yet
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
    """Delete a file. False: the storage failed, which is logged."""
    try:
        storage.delete(name)
    except Exception:
        logger.exception("the file %s could not be deleted", name)
        return False
    return True


def workspace() -> IO[bytes]:
    """A temporary file for a result, deleted when it is closed."""
    return tempfile.TemporaryFile()


def digest(file: IO[bytes]) -> tuple[str, int]:
    """The SHA-256 and the length of the whole file. Leaves the file at its beginning."""
    file.seek(0)
    result, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK):
        result.update(chunk)
        size += len(chunk)
    file.seek(0)
    return result.hexdigest(), size


def expire_files_of_customer(*, brand_id: int, customer_id: int, at: datetime) -> None:
    """End the download of exports of the customer's data; the next sweep deletes them."""
    rows = Job.objects.filter(brand=brand_id, customer=customer_id).exclude(result="")
    rows.exclude(status=Job.Status.RUNNING).exclude(expires_at__lte=at).update(expires_at=at)
