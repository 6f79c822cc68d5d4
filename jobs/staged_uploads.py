"""Uploads that wait for a confirmation: the only writer of StagedUpload, and of the files that it names."""

import hashlib
import uuid
from datetime import datetime, timedelta

from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core.errors import Invalid
from jobs import files
from jobs.models import StagedUpload

LIFETIME = timedelta(hours=1)


class UploadGone(Invalid):
    """The upload was used, replaced by a later one, or has expired."""


def stage(*, brand: Brand, by: User, resource: str, content: bytes, name: str, at: datetime) -> StagedUpload:
    """Store a file for an hour, in place of the one that the person uploaded before. Raises QuotaReached."""
    staged = StagedUpload(brand=brand, user=by, resource=resource, sha256=digest(content), expires_at=at + LIFETIME)
    staged.file_name = "".join(mark for mark in name if mark.isprintable())[:200] or "import"
    staged.file_bytes = len(content)
    with transaction.atomic():
        quotas.require(brand.pk, BrandQuota.Resource.STORAGE, more=len(content), field="file")
        for earlier in StagedUpload.objects.select_for_update().filter(user=by, brand=brand, resource=resource):
            discard(earlier)
        staged.file.save(uuid.uuid4().hex, ContentFile(content), save=False)
        try:
            staged.save()
        except IntegrityError:  # the same person uploads twice at once
            files.delete(staged.file.storage, str(staged.file.name))
            raise
    return staged


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read(staged: StagedUpload) -> bytes:
    """The file's bytes. Raises UploadGone if they are not those that were uploaded."""
    try:
        with staged.file.open("rb") as file:
            content: bytes = file.read(staged.file_bytes + 1)
    except FileNotFoundError as error:
        raise UploadGone(_("The uploaded file no longer exists. Upload it again.")) from error
    if digest(content) != staged.sha256:
        raise UploadGone(_("The uploaded file has changed. Upload it again."))
    return content


def discard(staged: StagedUpload) -> None:
    """Delete the row now and the file once that is committed. Call inside a transaction."""
    storage, name = staged.file.storage, str(staged.file.name)
    staged.delete()
    transaction.on_commit(lambda: files.delete(storage, name) and None)


def purge(*, at: datetime) -> int:
    """Delete the uploads that have expired. Returns how many."""
    with transaction.atomic():
        expired = list(StagedUpload.objects.select_for_update(skip_locked=True).filter(expires_at__lte=at)[:100])
        for staged in expired:
            discard(staged)
    return len(expired)
