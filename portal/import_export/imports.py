"""Imports of reference data, started by staff on a page or by a program over the API."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.audit_log import AuditContext
from brands.identity import roles
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Invalid
from core.spreadsheets.csv_files import neutral
from jobs import staged_uploads
from jobs.models import Job, StagedUpload
from portal.base.gone_rows import ConcurrentChange, conflict_text
from portal.import_export import tables
from portal.import_export.checks import Seen
from portal.import_export.plans import Outcome, Plan
from portal.import_export.previews import Preview, Tally
from portal.import_export.resource import TenantResource

# Deferred constraints would only be checked at the commit, which is too late for an answer.
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE"
ReportProgress = Callable[[int], None]  # how many rows are done


def stage(
    resource: type[TenantResource],
    *,
    brand: Brand,
    by: User | None,
    key_id: int | None = None,
    file: IO[bytes],
    size: int,
    name: str,
) -> StagedUpload:
    """Store a file for its preview. Raises Invalid for errors at its beginning, and QuotaReached."""
    if size > tables.MAX_LARGE_BYTES:
        raise Invalid(tables.too_large(tables.MAX_LARGE_BYTES), details={"field": "file"})
    first, is_small = tables.begin(file, size=size)
    resource(brand).check_table(first)
    if not is_small and resource.max_rows <= tables.MAX_ROWS:
        is_long = size > tables.MAX_BYTES
        message = tables.too_large(tables.MAX_BYTES) if is_long else tables.too_many_rows(resource.max_rows)
        raise Invalid(message, details={"field": "file"})
    with conflict_text():
        return staged_uploads.stage(
            brand=brand,
            by=by,
            key_id=key_id,
            resource=resource.label(),
            file=file,
            name=name,
            at=timezone.now(),
            is_large=not is_small,
        )


def preview(upload: StagedUpload, resource: type[TenantResource]) -> Preview:
    """What a file without a job would change now. Raises Invalid."""
    tally = Tally()
    for _used, plan in plans(upload, resource):
        tally.add(plan)
    return tally.preview()


def plans(
    upload: StagedUpload, resource: type[TenantResource], *, lock: bool = False
) -> Iterator[tuple[TenantResource, Plan]]:
    """What the file would change now, in portions, in the brand's time zone and with current rights. Raises Invalid."""
    seen, (may_add, may_change) = Seen(), rights(upload, resource)
    with staged_uploads.opened(upload) as file, timezone.override(upload.brand.zone):
        for table in tables.parts(file, most=resource.max_rows):
            used = resource(upload.brand, may_add=may_add, may_change=may_change, seen=seen)
            used.by, used.key = upload.user, upload.api_key
            yield used, used.plan(table, lock=lock)


def rights(upload: StagedUpload, resource: type[TenantResource]) -> tuple[bool, bool]:
    """Whether the uploader may add rows, and change them, now."""
    if upload.user is not None:
        verbs = (resource.add_verb, resource.change_verb)
        scopes = (roles.full_scope(upload.user, verb, upload.resource) for verb in verbs)
        may_add, may_change = (upload.brand_id in scope for scope in scopes)
        return may_add, may_change
    usable = ApiKey.objects.filter(pk=upload.api_key_id or 0, revoked_at=None, scopes__contains=[resource.write_scope])
    is_usable = usable.exclude(expires_at__lte=timezone.now()).exists()
    return is_usable, is_usable


def write(
    upload: StagedUpload,
    resource: type[TenantResource],
    *,
    digest: str,
    context: AuditContext,
    report_progress: ReportProgress = lambda _done: None,
) -> Preview:
    """Import what the preview with this digest showed, all of it or nothing. Joins a transaction or starts one.

    Raises Invalid. The upload must be locked.
    """
    tally, done = Tally(), 0
    with _all_or_nothing():
        for used, plan in plans(upload, resource, lock=True):
            tally.add(plan)
            if any(plan.of(Outcome.ERROR)):
                break
            used.write(plan, context=context)
            done += len(plan.rows)
            report_progress(done)
        if tally.digest != digest:
            message = _("The rows have changed since the preview. Nothing was imported. Upload the file again.")
            raise Invalid(message)
        if tally.faulty:
            raise Invalid(_("Lines of the file have errors. Nothing was imported."))
        result = tally.preview()
        staged_uploads.set_imported(upload, preview=result.as_json())
    return result


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Raises ConcurrentChange for a constraint that the rows violate because of another transaction."""
    try:
        with conflict_text(), transaction.atomic():
            yield
            with connection.cursor() as cursor:
                cursor.execute(CHECK_NOW)
    except IntegrityError as error:  # such as a ceiling that was lowered since the rows were checked
        raise ConcurrentChange from error


def audit_reason(upload: StagedUpload) -> str:
    return gettext_noop("Import of %(file)s") % {"file": upload.file_name}


def error_file(upload: StagedUpload, resource: type[TenantResource]) -> IO[bytes]:
    """The lines with errors as a file; for a large upload the job created it. Raises Invalid if there is none."""
    if not upload.is_large:
        file = io.BytesIO()
        errors = ErrorFile(file)
        for _used, plan in plans(upload, resource):
            errors.add(plan)
        errors.finish()
        file.seek(0)
        return file
    check = Job.objects.filter(parameters__upload_id=upload.pk, brand=upload.brand_id).exclude(result="").first()
    try:
        if check and check.expires_at and check.expires_at > timezone.now():
            opened: IO[bytes] = check.result.open("rb")
            return opened
    except FileNotFoundError:
        pass
    raise Invalid(_("There is no error file."))


class ErrorFile:
    """The lines with errors as a CSV that can be corrected and uploaded."""

    name = "import-errors.csv"

    def __init__(self, file: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._writer: Any = csv.writer(self._text, lineterminator="\r\n")
        self.lines = 0
        self._is_empty = True

    def add(self, plan: Plan) -> None:
        if self._is_empty:
            self._text.write("\ufeff")  # the byte order mark makes Excel read it as UTF-8
            self._writer.writerow([*plan.columns, tables.ERROR_COLUMN])
            self._is_empty = False
        for row in plan.of(Outcome.ERROR):
            self._writer.writerow([neutral(cell) for cell in (*row.values, f"{row.line}: {row.errors_text}")])
            self.lines += 1

    def finish(self) -> None:
        """Complete the file, which stays open."""
        self._text.detach()
