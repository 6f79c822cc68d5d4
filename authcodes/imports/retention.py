"""How long imports are retained, and how they are discarded."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from authcodes.errors import ImportRejected
from authcodes.imports.uploads import RUNNING, check_may_act, reset_stuck
from authcodes.models.imports import Import, ImportChange, ImportRow
from brands.models.people import User
from core.db.timeouts import SET_LONG_TIMEOUT
from jobs import files
from jobs.models import Job


def discard(*, upload: Import, by: User) -> None:
    """Discard an import that was not committed, with its rows and its file."""
    check_may_act(upload, by)
    reset_stuck(upload)
    idle = Import.objects.filter(pk=upload.pk, status__in=[Import.Status.CHECKED, Import.Status.REJECTED])
    with transaction.atomic():
        if not idle.update(status=Import.Status.DISCARDED):
            raise ImportRejected(_("Only an import that has not been committed can be discarded."))
        _erase_content(upload)
    upload.refresh_from_db(fields=["status", "file"])


def purge_old(*, at: datetime) -> int:
    """Delete file, rows and changes of one import that ended settings.IMPORT_DAYS before `at`; its result stays.

    An import that still waits for its commit is discarded. Returns how many imports: at most one, to keep a call short.
    """
    ended = Greatest("uploaded_at", "committed_at", "undone_at")
    old = Import.objects.alias(ended=ended).exclude(file="").filter(ended__lt=at - timedelta(days=settings.IMPORT_DAYS))
    with transaction.atomic():
        at_work = Job.objects.unfinished().filter(kind__in=RUNNING.values())
        running = list(at_work.values_list("parameters__import_id", flat=True))
        idle = old.exclude(status__in=RUNNING, pk__in=running)
        upload = idle.order_by("?").select_for_update(skip_locked=True).first()
        if upload is None:
            return 0
        reset_stuck(upload)
        if upload.status in RUNNING:  # its job was started a moment ago
            return 0
        waiting = Import.objects.filter(pk=upload.pk, status=Import.Status.CHECKED)
        waiting.update(status=Import.Status.DISCARDED)
        _erase_content(upload)
    return 1


def _erase_content(upload: Import) -> None:
    """Delete the rows, the data for undoing, and, once that is committed, the file. Call inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(SET_LONG_TIMEOUT)
        ImportRow.objects.filter(upload=upload).delete()
        ImportChange.objects.filter(upload=upload).delete()
    rows = Import.objects.filter(pk=upload.pk)
    rows.update(file="")
    storage, name = upload.file.storage, upload.file.name

    def delete_file() -> None:
        if name and not files.delete(storage, name):
            rows.update(file=name)  # purge_old tries again

    transaction.on_commit(delete_file)
