"""Imports: the only code that stores uploaded assignments, checks them, carries them out and takes them back."""

import csv
import hashlib
import io
import itertools
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.files import File
from django.db import connection, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes import changes, import_assignments, import_checks, jobs, spreadsheets
from authcodes.import_checks import COLUMNS, ERROR_COLUMN, FORMAT
from authcodes.models import Import, ImportRow, Job, Product
from authcodes.models.jobs import JobQuerySet
from brands import quotas
from brands.models import Brand, BrandQuota, Membership, User
from brands.refusals import Forbidden, Invalid, QuotaReached

Resource = BrandQuota.Resource

MAX_BYTES = 200_000_000
MAX_ROWS = 1_000_000
PORTION = 20_000  # rows stored at once
UNDO_HOURS = 24
PREVIEW_ROWS = 100
TURN = changes.TURN
PATIENCE = changes.PATIENCE
# What goes on, and the job that does it.
RUNNING = {
    Import.Status.CHECKING: Job.Kind.CHECK_IMPORT,
    Import.Status.COMMITTING: Job.Kind.COMMIT_IMPORT,
    Import.Status.UNDOING: Job.Kind.UNDO_IMPORT,
}

SAMPLES = {
    Import.Kind.LIST.value: [
        ["ACME-0000000001", "Warehouse 2, shelf A", "first pallet"],
        ["ACME-0000000002", "Warehouse 2, shelf B", ""],
    ],
    Import.Kind.RANGES.value: [
        ["SKU-1001", "ACME-0000000001", "ACME-0000000500", "Pune", "10"],
        ["SKU-1002", "ACME-0000000501", "ACME-0000001000", "Mumbai", ""],
    ],
}

# PostgreSQL copies into no table with row-level security, so the lines come through one of the session's own.
STORED = """upload_id, line, values, code, code_end, sku, location, notes, points_per_scan, codes, error, error_column,
             repaired"""
STAGE = f"CREATE TEMPORARY TABLE import_lines AS SELECT {STORED} FROM authcodes_importrow LIMIT 0"  # noqa: S608
FILL = f"COPY import_lines ({STORED}) FROM STDIN"
STORE = f"INSERT INTO authcodes_importrow ({STORED}) SELECT {STORED} FROM import_lines"  # noqa: S608
UNSTAGE = "DROP TABLE import_lines"
FORGET = "DELETE FROM authcodes_importrow WHERE upload_id = %s"
FORGET_CHANGES = "DELETE FROM authcodes_importchange WHERE upload_id = %s"
COUNT = """
    UPDATE authcodes_import i
       SET rows = c.rows, bad_rows = c.bad, repaired_rows = c.repaired, codes = c.codes, status = 'checked'
      FROM (SELECT count(*) AS rows, count(*) FILTER (WHERE error <> '') AS bad,
                   count(*) FILTER (WHERE error = '' AND repaired) AS repaired,
                   least(coalesce(sum(codes) FILTER (WHERE error = ''), 0), 2147483647) AS codes
              FROM authcodes_importrow WHERE upload_id = %(upload)s) c
     WHERE i.id = %(upload)s AND i.status = ANY(%(while)s)
"""
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


class Settled(Exception):  # noqa: N818 - a fact: another attempt came to the end, or somebody let go of the import
    """There is nothing left to check."""


class ImportRefused(Invalid):
    """An import that cannot be uploaded, committed or undone; the message says why and what to do."""


def upload(*, brand: Brand, kind: str, product: Product | None, file: "File[Any]", name: str, by: User) -> Import:
    """Keep a file and have a worker check it. Returns at once.

    Raises ImportRefused for what shows without reading, and QuotaReached.
    """
    name = "".join(mark for mark in name if mark.isprintable())[:200] or "import.csv"
    if kind not in COLUMNS:
        raise ImportRefused(_("Choose what the file holds."), details={"field": "kind"})
    if kind == Import.Kind.LIST and (product is None or product.brand_id != brand.pk):
        raise ImportRefused(_("Choose the product that these codes are for."), details={"field": "product"})
    if kind == Import.Kind.LIST and product is not None and not product.is_active:
        raise ImportRefused(_("This product is no longer sold."), details={"field": "product"})
    if not file.size:
        empty = _("the file is empty. Begin with the template.")
        raise ImportRefused(f"{FORMAT}: {empty}", details={"field": "file"})
    if file.size > MAX_BYTES:
        message = _("The file has more than %(most)d MB. Divide it.") % {"most": MAX_BYTES // 1_000_000}
        raise ImportRefused(message, details={"field": "file"})
    made = Import(brand=brand, kind=kind, file_name=name, sha256=_digest(file), uploaded_by=by)
    made.product = product if kind == Import.Kind.LIST else None
    made.file_bytes = file.size
    _require_room(made)  # before the file is stored; decided below, where nobody else uploads
    made.file.save(f"{uuid.uuid4().hex}.csv", file, save=False)
    try:
        with transaction.atomic():
            _require_room(made)
            made.save()
            _start(made, Job.Kind.CHECK_IMPORT, _("Check %(file)s") % {"file": name}, by, has_room=True)
    except QuotaReached:
        jobs.forget(made.file.storage, str(made.file.name))
        raise
    return made


def _require_room(upload: Import) -> None:
    """For the file and for the job that checks it. Raises QuotaReached."""
    wanted = {Resource.UPLOADS: 1, Resource.STORAGE: upload.file_bytes, jobs.QUOTA: 1}
    quotas.require_all(upload.brand_id, wanted, field="file")


def _digest(file: "File[Any]") -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _start(upload: Import, kind: Job.Kind, title: str, by: User, *, has_room: bool = False) -> Job:
    parameters = {"import_id": upload.pk}
    start = jobs.store if has_room else jobs.start
    return start(brand=upload.brand, kind=kind, title=title, parameters=parameters, by=by)


def run_check(run: jobs.Run) -> None:
    """The job's handler: store the rows, and what is wrong with them. May be run again."""
    upload = Import.objects.select_related("brand", "uploaded_by").get(pk=run.parameters["import_id"])
    try:
        rows = _check(upload, run)
    except Settled:
        return
    except Invalid as refusal:
        _refuse(upload, run, refusal.message)
        raise
    run.log(_("%(number)d rows checked.") % {"number": rows})


def _check(upload: Import, run: jobs.Run) -> int:
    with _checking(upload, run):
        _refuse_repeated(upload)
        _forget(upload)
    rows = _store(upload, run)
    with _checking(upload, run) as cursor:
        import_checks.check(upload)
        import_checks.check_points(upload, upload.uploaded_by)
        cursor.execute(COUNT, {"upload": upload.pk, "while": [Import.Status.CHECKING]})
    return rows


@contextmanager
def _checking(upload: Import, run: jobs.Run) -> Iterator[Any]:
    """A transaction in which this attempt alone may touch the rows of the import; yields a cursor.

    Two attempts at once take turns here. Raises Overtaken in the older one, Settled once the check has its outcome.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        held = Import.objects.select_for_update(of=("self",)).get(pk=upload.pk)
        if held.status != Import.Status.CHECKING:
            raise Settled
        run.refuse_overtaken()
        yield cursor


def _refuse(upload: Import, run: jobs.Run, problem: str) -> None:
    with suppress(Settled), _checking(upload, run):
        _forget(upload)
        Import.objects.filter(pk=upload.pk).update(status=Import.Status.REFUSED, problem=problem)


def _refuse_repeated(upload: Import) -> None:
    same = Import.objects.filter(brand=upload.brand_id, kind=upload.kind, product=upload.product_id)
    done = same.filter(sha256=upload.sha256, status=Import.Status.COMMITTED).exclude(pk=upload.pk).first()
    if done:
        message = _("This very file was committed as import %(number)d. Change the file, or undo that import first.")
        raise ImportRefused(message % {"number": done.pk})


def _store(upload: Import, run: jobs.Run) -> int:
    """Copy the rows of the file into the database, portion by portion. Returns how many."""
    stored = 0
    with upload.file.open("rb") as file:
        rows = spreadsheets.read(file)
        header = next(rows).values
        if wrong := import_checks.wrong_header(upload.kind, header):
            raise ImportRefused(wrong)
        error_at = len(header) - 1 if header[-1].strip() == ERROR_COLUMN else None
        # Read before it is copied: a COPY that a refusal broke off would be an error in PostgreSQL's log.
        while portion := _copy(upload, run, list(itertools.islice(rows, PORTION)), error_at):
            stored += portion
            if stored > MAX_ROWS:
                message = _("The file has more than %(most)s rows. Divide it.") % {"most": f"{MAX_ROWS:,}"}
                raise ImportRefused(message)
            run.progress(min(file.tell(), upload.file.size), upload.file.size)
    if not stored:
        raise ImportRefused(f"{FORMAT}: {_('there is no row below the header.')}")
    return stored


def _copy(upload: Import, run: jobs.Run, rows: Iterable[spreadsheets.Row], error_at: int | None) -> int:
    copied = 0
    with _checking(upload, run) as cursor:
        cursor.execute(STAGE)
        with cursor.copy(FILL) as copy:
            for row in rows:
                values = row.values if error_at is None else row.values[:error_at] + row.values[error_at + 1 :]
                it = import_checks.understood(upload.kind, values)
                stated = (upload.pk, row.line, _array(values), it.code, it.code_end, it.sku, it.location, it.notes)
                copy.write_row((*stated, it.points, it.codes, it.error, it.column, "f"))
                copied += 1
        cursor.execute(STORE)
        cursor.execute(UNSTAGE)
    return copied


def _array(values: list[str]) -> str:
    """A text array as PostgreSQL writes it."""
    quoted = '","'.join([value.replace("\\", "\\\\").replace('"', '\\"') for value in values])
    return f'{{"{quoted}"}}'


def _forget(upload: Import) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [upload.pk])


def commit(*, upload: Import, skip_bad: bool, by: User) -> Job:
    """Have a worker assign the codes, all or nothing; with `skip_bad`, those of the rows without errors.

    Raises ImportRefused while there are errors, or when the import is not waiting for this; Forbidden for strangers.
    """
    refuse_stranger(upload, by)
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
        return _start(upload, Job.Kind.COMMIT_IMPORT, _("Commit %(file)s") % {"file": upload.file_name}, by)


def _why_not_committed(upload: Import) -> str:
    if upload.status == Import.Status.CHECKED:
        return _("Nothing was imported: no row is without errors.")
    message = _("Nothing was imported: this import is not waiting for it. It is: %(status)s")
    return message % {"status": upload.get_status_display()}


def run_commit(run: jobs.Run) -> None:
    """The job's handler: one transaction. Codes that were assigned meanwhile fail it, and the preview shows them."""
    upload = Import.objects.select_related("brand").get(pk=run.parameters["import_id"])
    run.progress(0, upload.codes)
    try:
        changed = _carry_out(upload, run.job.created_by)
    except ImportRefused:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(PATIENCE)
            import_checks.check_conflicts(upload)
            import_checks.check_points(upload, run.job.created_by)
            cursor.execute(COUNT, {"upload": upload.pk, "while": [Import.Status.COMMITTING]})
        raise
    run.tell(upload.codes, upload.codes)
    told = _("%(number)d codes assigned.") % {"number": changed}
    run.log(told if changed else _("This import was committed before."))


def _carry_out(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        cursor.execute(TURN, [upload.brand_id])
        mine = Import.objects.filter(pk=upload.pk, status=Import.Status.COMMITTING)
        if not mine.update(status=Import.Status.COMMITTED, committed_at=timezone.now()):
            return 0
        _refuse_repeated(upload)
        if import_checks.check_points(upload, by):
            raise ImportRefused(_("Nothing was imported: the file sets points that are not allowed. See the preview."))
        cursor.execute(
            REMEMBER.format(targets=import_assignments.IMPORTED[upload.kind]), import_assignments.import_facts(upload)
        )
        changed = import_assignments.assign_imported(upload=upload, by=by)
        expected = _good_rows(upload).aggregate(codes=Sum("codes"))["codes"] or 0
        if changed != expected:
            message = _(
                "Nothing was imported: %(number)d codes were given another product meanwhile. The preview shows them."
            )
            raise ImportRefused(message % {"number": expected - changed})
        return changed


def _good_rows(upload: Import) -> Any:
    return ImportRow.objects.filter(upload=upload, error="")


def undo(*, upload: Import, by: User, at: datetime) -> Job:
    """Have a worker give every code of the import back what it held before.

    Raises ImportRefused later than UNDO_HOURS after the commit. Codes that were scanned or changed fail the job.
    """
    refuse_stranger(upload, by)
    revive(upload)
    with transaction.atomic():
        recent = Q(status=Import.Status.COMMITTED, committed_at__gt=at - timedelta(hours=UNDO_HOURS))
        if not Import.objects.filter(recent, pk=upload.pk).update(status=Import.Status.UNDOING):
            message = _("Only a committed import can be undone, within %(hours)d hours.") % {"hours": UNDO_HOURS}
            raise ImportRefused(message)
        upload.refresh_from_db()
        return _start(upload, Job.Kind.UNDO_IMPORT, _("Undo %(file)s") % {"file": upload.file_name}, by)


def run_undo(run: jobs.Run) -> None:
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
    told = _("%(number)d codes are as they were before.") % {"number": restored}
    run.log(told if restored else _("This import was undone before."))


def _take_back(upload: Import, by: User | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PATIENCE)
        cursor.execute(TURN, [upload.brand_id])
        mine = Import.objects.filter(pk=upload.pk, status=Import.Status.UNDOING)
        if not mine.update(status=Import.Status.UNDONE, undone_at=timezone.now()):
            return 0
        if import_assignments.scanned_imported(upload=upload):
            raise ImportRefused(_("Nothing was undone: some of the codes have been scanned."))
        restored = import_assignments.unassign_imported(upload=upload, by=by)
        if restored != _good_rows(upload).aggregate(codes=Sum("codes"))["codes"]:
            raise ImportRefused(_("Nothing was undone: some of the codes have been changed or scanned since."))
        return restored


def discard(*, upload: Import, by: User) -> None:
    """Forget an import that was not committed, its rows and its file."""
    refuse_stranger(upload, by)
    revive(upload)
    idle = Import.objects.filter(pk=upload.pk, status__in=[Import.Status.CHECKED, Import.Status.REFUSED])
    with transaction.atomic():
        if not idle.update(status=Import.Status.DISCARDED):
            raise ImportRefused(_("Only an import that waits for its commit can be discarded."))
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
        if name and not jobs.forget(storage, name):
            mine.update(file=name)  # forget_old tries again

    transaction.on_commit(forget_file)


def refuse_stranger(upload: Import, by: User) -> None:
    """Raises Forbidden."""
    if not may_act(upload, by):
        raise Forbidden(_("Only who uploaded this file, a manager or an owner of the brand may do this."))


def may_act(upload: Import, by: User) -> bool:
    """Whether `by` may import for this brand and uploaded this, or is manager or owner."""
    if by.is_superuser and by.is_active:
        return True
    mine = Membership.objects.filter(user=by, brand=upload.brand_id, user__is_active=True).first()
    leads = mine is not None and mine.role in {Membership.Role.OWNER, Membership.Role.MANAGER}
    printer = mine is not None and mine.role == Membership.Role.PRINTER
    return leads or (printer and upload.uploaded_by_id == by.pk)


def revive(upload: Import) -> None:
    """Let go of an import whose job ended without a word: cancelled, or given up after crashes."""
    if fields := released(upload):
        Import.objects.filter(pk=upload.pk, status=upload.status).update(**fields)
        upload.refresh_from_db()


def released(upload: Import) -> dict[str, str]:
    """What `revive` would store. Pages that are only opened show it and store nothing."""
    kind = RUNNING.get(Import.Status(upload.status))
    if not kind or jobs_of(upload).unfinished().filter(kind=kind).exists():
        return {}
    if kind == Job.Kind.CHECK_IMPORT:
        return {
            "status": Import.Status.REFUSED,
            "problem": _("The check did not finish. Upload the file again."),
        }
    return {"status": Import.Status.CHECKED if kind == Job.Kind.COMMIT_IMPORT else Import.Status.COMMITTED}


def jobs_of(upload: Import) -> JobQuerySet:
    """Its jobs, the latest first."""
    return Job.objects.filter(brand=upload.brand_id, parameters__import_id=upload.pk).order_by("-id")


def error_csv(upload: Import) -> Iterator[str]:
    """The lines of the file as it was uploaded, with a last column `error`; formula-safe, and fit to come back."""
    yield _csv_line([*COLUMNS[upload.kind], ERROR_COLUMN])
    width = len(COLUMNS[upload.kind])
    for row in ImportRow.objects.filter(upload=upload).order_by("line").iterator(chunk_size=2000):
        cells = [*row.values[:width], *[""] * (width - len(row.values))]
        yield _csv_line([spreadsheets.neutral(cell) for cell in [*cells, row.error, *row.values[width:]]])


def template(kind: str) -> str:
    """A CSV to begin with: the columns and two sample rows."""
    return "".join(_csv_line(row) for row in [COLUMNS[kind], *SAMPLES[kind]])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()
