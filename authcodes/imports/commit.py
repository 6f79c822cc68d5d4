"""Committing an import, and undoing it."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes.imports import assignments, checks
from authcodes.imports.uploads import (
    COUNT,
    PATIENCE,
    TURN,
    ImportRefused,
    check_may_act,
    refuse_repeated,
    revive,
    start,
)
from authcodes.models.imports import Import, ImportRow
from brands.models.people import User
from jobs import runner
from jobs.models import Job

UNDO_HOURS = 24
# What nothing was set on before needs no note to be undone.
REMEMBER = """
    INSERT INTO authcodes_importchange
           (upload_id, auth_code_id, product_id, inventory_location, location, notes, points_per_scan)
    SELECT %(upload)s, c.id, c.product_id, c.inventory_location, c.location, c.notes, c.points_per_scan
      FROM ({targets}) t JOIN authcodes_authcode c ON c.id = t.id
     WHERE c.product_id IS NOT NULL OR c.points_per_scan IS NOT NULL
        OR c.inventory_location <> '' OR c.location <> '' OR c.notes <> ''
       FOR UPDATE OF c
"""


def commit(*, upload: Import, skip_bad: bool, by: User) -> Job:
    """Have a worker assign the codes, all or nothing; with `skip_bad`, those of the rows without errors.

    Raises ImportRefused while there are errors, or when the import is not waiting for this; Forbidden for strangers.
    """
    check_may_act(upload, by)
    revive(upload)
    if upload.status == Import.Status.CHECKED and upload.bad_rows and not skip_bad:
        message = _("Nothing was imported: %(number)d rows have errors. Correct or skip them.")
        raise ImportRefused(message % {"number": upload.bad_rows})
    with transaction.atomic():
        ready = Import.objects.filter(pk=upload.pk, status=Import.Status.CHECKED, codes__gt=0)
        ready = ready if skip_bad else ready.filter(bad_rows=0)
        if not ready.update(status=Import.Status.COMMITTING, skip_bad=skip_bad):
            upload.refresh_from_db()
            raise ImportRefused(_why_not_committed(upload))
        upload.refresh_from_db()
        return start(upload, Job.Kind.COMMIT_IMPORT, _("Commit %(file)s") % {"file": upload.file_name}, by)


def _why_not_committed(upload: Import) -> str:
    if upload.status == Import.Status.CHECKED:
        return _("Nothing was imported: no row is without errors.")
    message = _("Import not committed. Its status is: %(status)s")
    return message % {"status": upload.get_status_display()}


def run_commit(run: runner.Run) -> None:
    """The job's handler: one transaction. Codes that were assigned meanwhile fail it, and the preview shows them."""
    upload = Import.objects.select_related("brand").get(pk=run.parameters["import_id"])
    run.progress(0, upload.codes)
    try:
        changed = _carry_out(upload, run.job.created_by)
    except ImportRefused:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(PATIENCE)
            checks.check_conflicts(upload)
            checks.check_points(upload, run.job.created_by)
            cursor.execute(COUNT, {"upload": upload.pk, "while": [Import.Status.COMMITTING]})
        raise
    run.tell(upload.codes, upload.codes)
    told = _("%(number)d codes assigned.") % {"number": changed}
    run.log(told if changed else _("This import has already been committed."))


def _carry_out(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        cursor.execute(TURN, [upload.brand_id])
        mine = Import.objects.filter(pk=upload.pk, status=Import.Status.COMMITTING)
        if not mine.update(status=Import.Status.COMMITTED, committed_at=timezone.now()):
            return 0
        refuse_repeated(upload)
        if checks.check_points(upload, by):
            raise ImportRefused(_("Nothing was imported: the file sets points that are not allowed. See the preview."))
        cursor.execute(REMEMBER.format(targets=assignments.IMPORTED[upload.kind]), assignments.import_facts(upload))
        changed = assignments.assign_imported(upload=upload, by=by)
        expected = _good_rows(upload).aggregate(codes=Sum("codes"))["codes"] or 0
        if changed != expected:
            message = _(
                "Nothing was imported: %(number)d codes have been assigned to another "
                "product in the meantime. The preview shows them."
            )
            raise ImportRefused(message % {"number": expected - changed})
        return changed


def _good_rows(upload: Import) -> Any:
    return ImportRow.objects.filter(upload=upload, error="")


def undo(*, upload: Import, by: User, at: datetime) -> Job:
    """Have a worker give every code of the import back what it held before.

    Raises ImportRefused later than UNDO_HOURS after the commit. Codes that were scanned or changed fail the job.
    """
    check_may_act(upload, by)
    revive(upload)
    with transaction.atomic():
        recent = Q(status=Import.Status.COMMITTED, committed_at__gt=at - timedelta(hours=UNDO_HOURS))
        if not Import.objects.filter(recent, pk=upload.pk).update(status=Import.Status.UNDOING):
            message = _("Only a committed import can be undone, within %(hours)d hours.") % {"hours": UNDO_HOURS}
            raise ImportRefused(message)
        upload.refresh_from_db()
        return start(upload, Job.Kind.UNDO_IMPORT, _("Undo %(file)s") % {"file": upload.file_name}, by)


def run_undo(run: runner.Run) -> None:
    """The job's handler: one transaction. A code that was changed or scanned meanwhile leaves all as it is."""
    upload = Import.objects.get(pk=run.parameters["import_id"])
    run.progress(0, upload.codes)
    try:
        restored = _take_back(upload, run.job.created_by)
    except ImportRefused:
        undoing = Import.objects.filter(pk=upload.pk, status=Import.Status.UNDOING)
        undoing.update(status=Import.Status.COMMITTED)
        raise
    run.tell(upload.codes, upload.codes)
    told = _("%(number)d codes restored.") % {"number": restored}
    run.log(told if restored else _("This import has already been undone."))


def _take_back(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        cursor.execute(TURN, [upload.brand_id])
        mine = Import.objects.filter(pk=upload.pk, status=Import.Status.UNDOING)
        if not mine.update(status=Import.Status.UNDONE, undone_at=timezone.now()):
            return 0
        if assignments.scanned_imported(upload=upload):
            raise ImportRefused(_("Nothing was undone: some of the codes have been scanned."))
        restored = assignments.unassign_imported(upload=upload, by=by)
        if restored != _good_rows(upload).aggregate(codes=Sum("codes"))["codes"]:
            raise ImportRefused(_("Nothing was undone: some of the codes have been changed or scanned since."))
        return restored
