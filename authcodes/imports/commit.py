"""Committing and undoing an import."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.codes import bulk_changes, prefixes
from authcodes.codes.bulk_changes import ALL_OR_NOTHING
from authcodes.errors import ImportRejected
from authcodes.imports import assignments, checks, printed_elsewhere
from authcodes.imports.uploads import (
    COUNT_ROWS,
    RUNNING,
    check_may_act,
    may_cancel,
    reject_repeated,
    reset_stuck,
    start,
)
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from brands.models.people import User
from core.db.timeouts import SET_LONG_TIMEOUT
from core.texts import shortened
from jobs import runner
from jobs.kinds import JobKind
from jobs.models import Job

UNDO_HOURS = 24


def commit(*, upload: Import, skip_bad: bool, by: User) -> Job:
    """Have a worker assign the codes, all or nothing; with `skip_bad`, only those of rows without errors.

    Raises ImportRejected if there are errors or the import is in another state; Forbidden if `by` may not act on it.
    """
    check_may_act(upload, by)
    reset_stuck(upload)
    if upload.status == Import.Status.CHECKED and upload.bad_rows and not skip_bad:
        message = ngettext(
            "Nothing was imported: %(number)d row has errors. Correct or skip it.",
            "Nothing was imported: %(number)d rows have errors. Correct or skip them.",
            upload.bad_rows,
        )
        raise ImportRejected(message % {"number": upload.bad_rows})
    with transaction.atomic():
        ready = Import.objects.filter(pk=upload.pk, status=Import.Status.CHECKED, codes__gt=0)
        ready = ready if skip_bad else ready.filter(bad_rows=0)
        if not ready.update(status=Import.Status.COMMITTING, skip_bad=skip_bad):
            upload.refresh_from_db()
            raise ImportRejected(_why_not_committed(upload))
        upload.refresh_from_db()
        return start(upload, COMMIT.name, gettext_noop("Commit %(file)s") % {"file": upload.file_name}, by)


def _why_not_committed(upload: Import) -> str:
    if upload.status == Import.Status.CHECKED:
        return _("Nothing was imported: every row has errors.")
    message = _("Import not committed. Its status is: %(status)s")
    return message % {"status": upload.get_status_display()}


def run_commit(run: runner.Run) -> None:
    """Job handler, in one transaction. Codes assigned in the meantime make it fail, and the preview shows them."""
    upload = Import.objects.select_related("brand").get(pk=run.parameters["import_id"])
    run.progress(0, upload.codes)
    try:
        changed = _carry_out(upload, run.job.created_by)
    except ImportRejected:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(SET_LONG_TIMEOUT)
            checks.check_conflicts(upload)
            checks.check_points(upload, run.job.created_by)
            COUNT_ROWS.run(upload=upload.pk, status=Import.Status.COMMITTING.value)
            if upload.kind == Import.Kind.PRINTED:
                _count_not_usable(upload)
        raise
    run.note_progress(upload.codes, upload.codes)
    message = (
        ngettext("%(number)d code added.", "%(number)d codes added.", changed)
        if upload.kind == Import.Kind.PRINTED
        else ngettext("%(number)d code assigned.", "%(number)d codes assigned.", changed)
    )
    details = message % {"number": changed}
    run.log(details if changed else gettext_noop("This import has already been committed."))


def _count_not_usable(upload: Import) -> None:
    """Codes taken since the check reveal as much about other brands as those found by the check, so count them too."""
    try:
        printed_elsewhere.check_not_usable(upload)
    except printed_elsewhere.CodesNotUsable as error:
        ImportRow.objects.filter(upload=upload).delete()
        Import.objects.filter(pk=upload.pk).update(status=Import.Status.REJECTED, problem=error.message)


def _carry_out(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SET_LONG_TIMEOUT)
        bulk_changes.lock_code_changes(upload.brand_id, waits=True)
        rows = Import.objects.filter(pk=upload.pk, status=Import.Status.COMMITTING)
        if not rows.update(status=Import.Status.COMMITTED, committed_at=timezone.now()):
            return 0
        reject_repeated(upload)
        if checks.check_points(upload, by):
            raise ImportRejected(_("Nothing was imported: the file sets points that are not allowed. See the preview."))
        if upload.kind == Import.Kind.PRINTED:
            return _bring_in(upload, by)
        _check_products(upload)
        assignments.note_imported(upload=upload)
        changed = assignments.assign_imported(upload=upload, by=by)
        expected = _good_rows(upload).aggregate(codes=Sum("codes"))["codes"] or 0
        if changed != expected:
            missing = expected - changed
            message = ngettext(
                "Nothing was imported: %(number)d code has been assigned to another "
                "product in the meantime. The preview shows it.",
                "Nothing was imported: %(number)d codes have been assigned to another "
                "product in the meantime. The preview shows them.",
                missing,
            )
            raise ImportRejected(message % {"number": missing})
        return changed


def _check_products(upload: Import) -> None:
    """Raises ImportRejected for products that are no longer sold since the check."""
    of_rows = _good_rows(upload).values("product")
    unsold = Product.objects.filter(Q(pk=upload.product_id) | Q(pk__in=of_rows), is_active=False)
    titles = list(unsold.order_by("title", "pk").values_list("title", flat=True))
    if titles:
        message = _("Nothing was imported, because these products are no longer sold: %(products)s.")
        raise ImportRejected(message % {"products": shortened(titles)})


def _bring_in(upload: Import, by: User | None) -> int:
    prefixes.lock_prefixes(upload.brand)
    if checks.check_conflicts(upload):
        raise ImportRejected(printed_elsewhere.conflict_text())
    return printed_elsewhere.import_codes(upload=upload, by=by)


def _good_rows(upload: Import) -> Any:
    return ImportRow.objects.filter(upload=upload, error="")


def undo(*, upload: Import, by: User, at: datetime) -> Job:
    """Have a worker restore the earlier values of every code of the import.

    Raises ImportRejected more than UNDO_HOURS after the commit. Scanned or changed codes make the job fail.
    """
    check_may_act(upload, by)
    reset_stuck(upload)
    with transaction.atomic():
        recent = Q(status=Import.Status.COMMITTED, committed_at__gt=at - timedelta(hours=UNDO_HOURS))
        if not Import.objects.filter(recent, pk=upload.pk).update(status=Import.Status.UNDOING):
            message = _("Only a committed import can be undone, and only within %(hours)d hours.") % {
                "hours": UNDO_HOURS
            }
            raise ImportRejected(message)
        upload.refresh_from_db()
        return start(upload, UNDO.name, gettext_noop("Undo %(file)s") % {"file": upload.file_name}, by)


def run_undo(run: runner.Run) -> None:
    """Job handler, in one transaction. If a code was changed or scanned in the meantime, nothing is undone."""
    upload = Import.objects.get(pk=run.parameters["import_id"])
    run.progress(0, upload.codes)
    try:
        restored = _undo(upload, run.job.created_by)
    except ImportRejected:
        undoing = Import.objects.filter(pk=upload.pk, status=Import.Status.UNDOING)
        undoing.update(status=Import.Status.COMMITTED)
        raise
    run.note_progress(upload.codes, upload.codes)
    message = (
        ngettext("%(number)d code deleted.", "%(number)d codes deleted.", restored)
        if upload.kind == Import.Kind.PRINTED
        else ngettext("%(number)d code restored.", "%(number)d codes restored.", restored)
    )
    details = message % {"number": restored}
    run.log(details if restored else gettext_noop("This import has already been undone."))


def _undo(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SET_LONG_TIMEOUT)
        bulk_changes.lock_code_changes(upload.brand_id, waits=True)
        rows = Import.objects.filter(pk=upload.pk, status=Import.Status.UNDOING)
        if not rows.update(status=Import.Status.UNDONE, undone_at=timezone.now()):
            return 0
        if upload.kind == Import.Kind.PRINTED:
            return printed_elsewhere.delete_imported(upload=upload, by=by, at=timezone.now())
        if assignments.scanned_imported(upload=upload):
            raise ImportRejected(_("Nothing was undone: some of the codes have been scanned."))
        restored = assignments.unassign_imported(upload=upload, by=by)
        if restored != _good_rows(upload).aggregate(codes=Sum("codes"))["codes"]:
            raise ImportRejected(_("Nothing was undone: some of the codes have been changed or scanned since."))
        return restored


COMMIT = JobKind(
    name=RUNNING[Import.Status.COMMITTING],
    label=gettext_lazy("Commit an import"),
    run=run_commit,
    on_cancel=ALL_OR_NOTHING,
    may_cancel=may_cancel,
)
UNDO = JobKind(
    name=RUNNING[Import.Status.UNDOING],
    label=gettext_lazy("Undo an import"),
    run=run_undo,
    on_cancel=ALL_OR_NOTHING,
    may_cancel=may_cancel,
)
