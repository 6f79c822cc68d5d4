"""Stores uploaded files of imports, and has them checked."""

import itertools
import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from django.core.files import File
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.errors import ImportRejected
from authcodes.imports import checks, printed_elsewhere
from authcodes.imports.checks import COLUMNS, ERROR_COLUMN, FORMAT
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core.db.statements import command
from core.db.timeouts import SET_LONG_TIMEOUT
from core.errors import Forbidden, Invalid
from core.numbers import grouped
from core.spreadsheets import csv_files
from jobs import files, queue, runner
from jobs.kinds import JobKind
from jobs.models import Job, JobQuerySet

Resource = BrandQuota.Resource

MAX_BYTES = 200_000_000
MAX_ROWS = 1_000_000
PORTION = 20_000  # rows stored at once
PREVIEW_ROWS = 100
# The states in progress, and the job of each.
RUNNING = {
    Import.Status.CHECKING: "check-import",
    Import.Status.COMMITTING: "commit-import",
    Import.Status.UNDOING: "undo-import",
}

# PostgreSQL cannot COPY into a table with row-level security, so the rows go through a temporary table.
STORED = """upload_id, line, values, code, code_end, sku, location, notes, points_per_scan, codes, error, error_values,
             error_column, repaired, payload, payload_code, payload_host"""
STAGE = f"CREATE TEMPORARY TABLE import_lines AS SELECT {STORED} FROM authcodes_importrow LIMIT 0"  # noqa: S608
FILL = f"COPY import_lines ({STORED}) FROM STDIN"
STORE = f"INSERT INTO authcodes_importrow ({STORED}) SELECT {STORED} FROM import_lines"  # noqa: S608
UNSTAGE = "DROP TABLE import_lines"
COUNT_ROWS = command("authcodes/imports/sql/count_rows.sql")


class ImportFinishedError(Exception):
    """The import has already been checked."""


def upload(
    *,
    brand: Brand,
    kind: str,
    product: Product | None,
    file: "File[Any]",
    name: str,
    by: User,
    batch_settings: BatchSettings | None = None,
) -> Import:
    """Store a file and have a worker check it. Returns at once. `batch_settings`: for codes printed elsewhere.

    Raises ImportRejected for errors that show without reading the file, and QuotaReached.
    """
    name = "".join(mark for mark in name if mark.isprintable())[:200] or "import.csv"
    if kind not in COLUMNS:
        raise ImportRejected(_("Choose what the file holds."), details={"field": "kind"})
    if kind != Import.Kind.RANGES and (product is None or product.brand_id != brand.pk):
        raise ImportRejected(_("Choose the product that these codes are for."), details={"field": "product"})
    if kind != Import.Kind.RANGES and product is not None and not product.is_active:
        raise ImportRejected(_("This product is no longer sold."), details={"field": "product"})
    batch_settings = batch_settings if kind == Import.Kind.PRINTED else None
    if kind == Import.Kind.PRINTED:
        batch_settings = replace(batch_settings or BatchSettings("", 1, signed=False), product=product)
        batches.check(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=by)
    if not file.size:
        empty = _("the file is empty. Start from the template.")
        raise ImportRejected(f"{FORMAT}: {empty}", details={"field": "file"})
    if file.size > MAX_BYTES:
        message = _("The file is larger than %(most)d MB. Split it into smaller files.") % {
            "most": MAX_BYTES // 1_000_000
        }
        raise ImportRejected(message, details={"field": "file"})
    sha256, _size = files.digest(file)
    made = Import(brand=brand, kind=kind, file_name=name, sha256=sha256, uploaded_by=by)
    made.product = product if kind != Import.Kind.RANGES else None
    made.batch_settings = printed_elsewhere.settings_as_stored(batch_settings) if batch_settings else {}
    made.file_bytes = file.size
    _require_room(made)  # before the file is stored; checked again below, under the lock
    made.file.save(f"{uuid.uuid4().hex}.csv", file, save=False)
    try:
        with transaction.atomic():
            _require_room(made)
            made.save()
            start(made, CHECK.name, gettext_noop("Check %(file)s") % {"file": name}, by, has_room=True)
    except Exception:  # such as a lock that another request holds for too long
        files.delete(made.file.storage, str(made.file.name))
        raise
    return made


def _require_room(upload: Import) -> None:
    """Check the quotas for the file and its check job. Raises QuotaReached."""
    amounts = {Resource.UPLOADS: 1, Resource.STORAGE: upload.file_bytes, queue.QUOTA: 1}
    quotas.require_all(upload.brand_id, amounts, field="file")


def start(upload: Import, kind: str, title: str, by: User, *, has_room: bool = False) -> Job:
    parameters = {"import_id": upload.pk}
    start = queue.store if has_room else queue.start
    return start(brand=upload.brand, kind=kind, title=title, parameters=parameters, by=by)


def run_check(run: runner.Run) -> None:
    """Job handler: store the rows and their errors. Can run again."""
    upload = Import.objects.select_related("brand", "uploaded_by").get(pk=run.parameters["import_id"])
    try:
        rows = _check(upload, run)
    except ImportFinishedError:
        return
    except Invalid as error:
        _reject(upload, run, error.message)
        if isinstance(error, printed_elsewhere.CodesNotUsable):
            printed_elsewhere.note_not_usable(upload)
        raise
    run.log(ngettext("%(number)d row checked.", "%(number)d rows checked.", rows) % {"number": rows})


def _check(upload: Import, run: runner.Run) -> int:
    with _checking(upload, run):
        reject_repeated(upload)
        ImportRow.objects.filter(upload=upload).delete()
    rows = _store(upload, run)
    with _checking(upload, run):
        checks.check(upload)
        checks.check_points(upload, upload.uploaded_by)
        if upload.kind == Import.Kind.PRINTED:
            _check_printed(upload)
        COUNT_ROWS.run(upload=upload.pk, status=Import.Status.CHECKING.value)
    return rows


def _check_printed(upload: Import) -> None:
    printed_elsewhere.check_not_usable(upload)
    sequential = printed_elsewhere.is_sequential(upload)
    Import.objects.filter(pk=upload.pk).update(is_sequential=sequential)


@contextmanager
def _checking(upload: Import, run: runner.Run) -> Iterator[Any]:
    """A transaction in which only this attempt may change the import's rows; yields a cursor.

    Concurrent attempts take turns. Raises JobSupersededError in the older attempt, ImportFinishedError once the check
    has a result.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SET_LONG_TIMEOUT)
        locked = Import.objects.select_for_update(of=("self",)).get(pk=upload.pk)
        if locked.status != Import.Status.CHECKING:
            raise ImportFinishedError
        run.check_superseded()
        yield cursor


def _reject(upload: Import, run: runner.Run, problem: str) -> None:
    with suppress(ImportFinishedError), _checking(upload, run):
        ImportRow.objects.filter(upload=upload).delete()
        Import.objects.filter(pk=upload.pk).update(status=Import.Status.REJECTED, problem=problem)


def reject_repeated(upload: Import) -> None:
    same = Import.objects.filter(brand=upload.brand_id, kind=upload.kind, product=upload.product_id)
    done = same.filter(sha256=upload.sha256, status=Import.Status.COMMITTED).exclude(pk=upload.pk).first()
    if done:
        message = _(
            "This file has already been committed as import %(number)d. Change the file or undo that import first."
        )
        raise ImportRejected(message % {"number": done.pk})


def _store(upload: Import, run: runner.Run) -> int:
    """Copy the rows of the file into the database, portion by portion. Returns how many."""
    stored = 0
    with upload.file.open("rb") as file:
        rows = csv_files.read(file)
        header = next(rows).values
        if wrong := checks.wrong_header(upload.kind, header):
            raise ImportRejected(wrong)
        error_at = len(header) - 1 if header[-1].strip() == ERROR_COLUMN else None
        # Parse before copying: an error during COPY would appear in PostgreSQL's log.
        while portion := _copy(upload, run, list(itertools.islice(rows, PORTION)), error_at):
            stored += portion
            if stored > MAX_ROWS:
                message = _("The file has more than %(most)s rows. Split it into smaller files.") % {
                    "most": grouped(MAX_ROWS)
                }
                raise ImportRejected(message)
            run.progress(min(file.tell(), upload.file.size), upload.file.size)
    if not stored:
        raise ImportRejected(f"{FORMAT}: {_('the file has no rows below the header.')}")
    return stored


def _copy(upload: Import, run: runner.Run, rows: Iterable[csv_files.Row], error_at: int | None) -> int:
    copied = 0
    with _checking(upload, run) as cursor:
        cursor.execute(STAGE)
        with cursor.copy(FILL) as copy:
            for row in rows:
                values = row.values if error_at is None else row.values[:error_at] + row.values[error_at + 1 :]
                it = checks.parse_row(upload.kind, values)
                stated = (upload.pk, row.line, _array(values), it.code, it.code_end, it.sku, it.location, it.notes)
                wrong = (it.error, json.dumps(it.values) if it.values else "{}", it.column)
                copy.write_row((*stated, it.points, it.codes, *wrong, "f", *it.printed))
                copied += 1
        cursor.execute(STORE)
        cursor.execute(UNSTAGE)
    return copied


def _array(values: list[str]) -> str:
    """A text array in PostgreSQL's syntax."""
    quoted = '","'.join([value.replace("\\", "\\\\").replace('"', '\\"') for value in values])
    return f'{{"{quoted}"}}'


def check_may_act(upload: Import, by: User) -> None:
    """Raises Forbidden if `by` may not act on the import."""
    if not may_act(upload, by):
        raise Forbidden(_("Only the uploader, a manager or an owner can do this."))


def may_act(upload: Import, by: User) -> bool:
    """Whether `by` may import for this brand, and uploaded this import or is a manager or owner."""
    if by.is_superuser and by.is_active:
        return True
    rows = StaffRole.objects.filter(user=by, brand=upload.brand_id, user__is_active=True).first()
    leads = rows is not None and rows.role in {StaffRole.Role.OWNER, StaffRole.Role.MANAGER}
    printer = rows is not None and rows.role == StaffRole.Role.PRINTER
    return leads or (printer and upload.uploaded_by_id == by.pk)


def may_cancel(job: Job, by: User) -> bool:
    return may_act(Import.objects.get(pk=job.parameters["import_id"]), by)


CHECK = JobKind(
    name=RUNNING[Import.Status.CHECKING],
    label=gettext_lazy("Check an import"),
    run=run_check,
    on_cancel=gettext_lazy("Nothing is imported. The file has to be uploaded again."),
    may_cancel=may_cancel,
)


def reset_stuck(upload: Import) -> None:
    """Release an import whose job was cancelled, or given up after crashes, and so never updated it."""
    if fields := reset_values(upload):
        Import.objects.filter(pk=upload.pk, status=upload.status).update(**fields)
        upload.refresh_from_db()


def reset_values(upload: Import) -> dict[str, str]:
    """The values that `reset_stuck` would store. Pages on GET show them without storing."""
    kind = RUNNING.get(Import.Status(upload.status))
    if not kind or jobs_of(upload).unfinished().filter(kind=kind).exists():
        return {}
    if kind == CHECK.name:
        return {
            "status": Import.Status.REJECTED,
            "problem": gettext_noop("The check did not finish. Upload the file again."),
        }
    return {"status": Import.Status.CHECKED if kind == RUNNING[Import.Status.COMMITTING] else Import.Status.COMMITTED}


def jobs_of(upload: Import) -> JobQuerySet:
    """The import's jobs, newest first."""
    return Job.objects.filter(brand=upload.brand_id, parameters__import_id=upload.pk).order_by("-id")
