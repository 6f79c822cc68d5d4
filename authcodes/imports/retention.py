"""How long imports are kept, and how they are discarded."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from authcodes.imports.uploads import FORGET, PATIENCE, RUNNING, ImportRefused, check_may_act, revive
from authcodes.models.imports import Import
from brands.models.people import User
from jobs import files

FORGET_CHANGES = "DELETE FROM authcodes_importchange WHERE upload_id = %s"


def discard(*, upload: Import, by: User) -> None:
    """Forget an import that was not committed, its rows and its file."""
    check_may_act(upload, by)
    revive(upload)
    idle = Import.objects.filter(pk=upload.pk, status__in=[Import.Status.CHECKED, Import.Status.REFUSED])
    with transaction.atomic():
        if not idle.update(status=Import.Status.DISCARDED):
            raise ImportRefused(_("Only an import that has not been committed can be discarded."))
        _forget_content(upload)
    upload.refresh_from_db(fields=["status", "file"])


def forget_old(*, at: datetime) -> int:
    """Delete file, rows and notes of one import that ended settings.IMPORT_DAYS before `at`; what came of it stays.

    One that still waits for its commit is discarded. Returns how many imports: one or none, so that a call is short.
    """
    ended = Greatest("uploaded_at", "committed_at", "undone_at")
    old = Import.objects.alias(ended=ended).exclude(file="").filter(ended__lt=at - timedelta(days=settings.IMPORT_DAYS))
    with transaction.atomic():
        upload = old.exclude(status__in=RUNNING).order_by("?").select_for_update(skip_locked=True).first()
        if upload is None:
            return 0
        waiting = Import.objects.filter(pk=upload.pk, status=Import.Status.CHECKED)
        waiting.update(status=Import.Status.DISCARDED)
        _forget_content(upload)
    return 1


def _forget_content(upload: Import) -> None:
    """Delete the rows, what undoing needs, and the file once that is committed. Call inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        cursor.execute(FORGET, [upload.pk])
        cursor.execute(FORGET_CHANGES, [upload.pk])
    mine = Import.objects.filter(pk=upload.pk)
    mine.update(file="")
    storage, name = upload.file.storage, upload.file.name

    def forget_file() -> None:
        if name and not files.forget(storage, name):
            mine.update(file=name)  # forget_old tries again

    transaction.on_commit(forget_file)
