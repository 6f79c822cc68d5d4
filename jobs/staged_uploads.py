"""Uploads that wait for a confirmation. Only this module writes StagedUpload, and the files that it refers to."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Any

from django.core.files import File
from django.core.files.storage import Storage
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core.errors import Invalid
from jobs import files
from jobs.models import Job, StagedUpload

Status = StagedUpload.Status

LIFETIME = timedelta(hours=1)
LARGE_LIFETIME = timedelta(days=1)  # of a file that a job checks, which may have to wait for its turn
ORPHANED = timedelta(days=2)  # older files without a row were left by a crash between writing the file and the commit
FOLDER = "imports/staged"
REPLACED = (Status.CHECKING, Status.CHECKED, Status.REJECTED)  # by the next upload of the same user or key


class UploadGone(Invalid):
    """The upload was used, replaced by a later one, or has expired."""


def stage(
    *,
    brand: Brand,
    by: User | None,
    key_id: int | None = None,
    resource: str,
    file: IO[bytes],
    name: str,
    at: datetime,
    is_large: bool = False,
) -> StagedUpload:
    """Store a file temporarily, replacing an earlier upload of the same user or key. Raises QuotaReached."""
    staged = StagedUpload(brand=brand, user=by, api_key_id=key_id, resource=resource, is_large=is_large)
    staged.sha256, staged.file_bytes = files.digest(file)
    staged.status = Status.CHECKING if is_large else Status.CHECKED
    staged.expires_at = at + (LARGE_LIFETIME if is_large else LIFETIME)
    staged.file_name = "".join(mark for mark in name if mark.isprintable())[:200] or "import"
    with transaction.atomic():
        quotas.require(brand.pk, BrandQuota.Resource.STORAGE, more=staged.file_bytes, field="file")
        rows = StagedUpload.objects.filter(user=by, api_key=key_id, brand=brand, resource=resource)
        for earlier in rows.filter(status__in=REPLACED).select_for_update():
            discard(earlier)
        staged.file.save(uuid.uuid4().hex, File(file), save=False)
        try:
            staged.save()
        except IntegrityError:  # the same user uploads twice at once
            files.delete(staged.file.storage, str(staged.file.name))
            raise
    return staged


@contextmanager
def opened(staged: StagedUpload) -> Iterator[IO[bytes]]:
    """The file. Raises UploadGone if it is missing or was changed."""
    try:
        file = staged.file.open("rb")
    except (FileNotFoundError, ValueError) as error:
        raise UploadGone(_("The uploaded file no longer exists. Upload it again.")) from error
    with file:
        if files.digest(file) != (staged.sha256, staged.file_bytes):
            raise UploadGone(_("The uploaded file has changed. Upload it again."))
        yield file


def follow(staged: StagedUpload, job: Job, *, status: StagedUpload.Status) -> None:
    """Store that a job works on the upload. Call in the transaction that starts the job."""
    staged.job, staged.status = job, status
    staged.save(update_fields=["job", "status"])


def hold(pk: Any, *, status: StagedUpload.Status) -> StagedUpload | None:
    """The upload, if it has this status, locked until the transaction ends."""
    rows = StagedUpload.objects.filter(pk=pk, status=status).select_related("brand", "user")
    return rows.select_for_update(of=("self",)).first()


def set_checked(staged: StagedUpload, *, preview: dict[str, Any], at: datetime) -> None:
    staged.status, staged.preview, staged.expires_at = Status.CHECKED, preview, at + LARGE_LIFETIME
    staged.save(update_fields=["status", "preview", "expires_at"])


def set_imported(staged: StagedUpload, *, preview: dict[str, Any]) -> None:
    """Mark it imported and delete its file; the row keeps the result until it expires. Call in the transaction."""
    storage, name = staged.file.storage, str(staged.file.name)
    staged.status, staged.file, staged.file_bytes, staged.preview = Status.IMPORTED, "", 0, preview
    staged.save(update_fields=["status", "file", "file_bytes", "preview"])
    transaction.on_commit(lambda: files.delete(storage, name) and None)


def reject(pk: Any, problem: str) -> None:
    """Mark it rejected: its file has to be corrected, or the rows have changed."""
    waiting = StagedUpload.objects.filter(pk=pk, status__in=(Status.CHECKING, Status.IMPORTING))
    waiting.update(status=Status.REJECTED, problem=problem)


def release(pk: Any) -> None:
    """Release it after its job ended without a result: reject a check, let an import be confirmed again."""
    release_checks(StagedUpload.objects.filter(pk=pk))
    StagedUpload.objects.filter(pk=pk, status=Status.IMPORTING).update(status=Status.CHECKED)


def release_checks(uploads: QuerySet[StagedUpload]) -> None:
    """Reject running checks; they then find no upload to store their preview in."""
    problem = gettext_noop("The check did not finish. Upload the file again.")
    uploads.filter(status=Status.CHECKING).update(status=Status.REJECTED, problem=problem)


def expire(*, brand_id: int, at: datetime) -> None:
    """Expire a brand's uploads except running imports: previews are deleted now, files at the next purge."""
    waiting = StagedUpload.objects.filter(brand=brand_id, expires_at__gt=at).exclude(status=Status.IMPORTING)
    release_checks(waiting)
    waiting.update(expires_at=at, preview={})


def discard(staged: StagedUpload) -> None:
    """Delete the row now, and the file after the commit. Call inside a transaction."""
    storage, name = staged.file.storage, str(staged.file.name)
    staged.delete()
    transaction.on_commit(lambda: files.delete(storage, name) and None if name else None)


def purge(*, at: datetime) -> int:
    """Delete expired uploads, except those that a job checks or imports now. Returns how many.

    Such a job always ends, and a check that succeeds renews the lifetime.
    """
    with transaction.atomic():
        rows = StagedUpload.objects.select_for_update(skip_locked=True).filter(expires_at__lte=at)
        expired = list(rows.exclude(status__in=(Status.CHECKING, Status.IMPORTING))[:100])
        for staged in expired:
            discard(staged)
    return len(expired)


def purge_orphans(*, at: datetime) -> int:
    """Delete files without a row, whose process ended after writing them and before the commit. Returns how many.

    Files that a request is writing now are not old enough.
    """
    storage: Storage = StagedUpload._meta.get_field("file").storage
    try:
        _folders, result = storage.listdir(FOLDER)
    except FileNotFoundError:
        return 0
    names = {f"{FOLDER}/{name}" for name in result}
    known = set(StagedUpload.objects.filter(file__in=names).values_list("file", flat=True))
    old = [name for name in names - known if _modified(storage, name) <= at - ORPHANED]
    return sum(files.delete(storage, name) for name in old)


def _modified(storage: Storage, name: str) -> datetime:
    """A file deleted in the meantime counts as new."""
    try:
        return storage.get_modified_time(name)
    except FileNotFoundError:
        return datetime.max.replace(tzinfo=UTC)
