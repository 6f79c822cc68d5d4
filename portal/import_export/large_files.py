"""Files of reference data that take too long for a request: one job checks them, another imports the confirmed ones."""

from typing import IO, Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from core import languages
from core.db.timeouts import SET_LONG_TIMEOUT
from core.errors import DomainError, Invalid
from core.numbers import grouped
from jobs import concurrent_progress, files, queue, runner, staged_uploads
from jobs.kinds import JobKind
from jobs.models import Job, StagedUpload
from portal.import_export import imports, previews, registry, tables
from portal.import_export.imports import ErrorFile
from portal.import_export.plans import Outcome
from portal.import_export.previews import Preview, Tally
from portal.import_export.resource import TenantResource

Status = StagedUpload.Status


def receive(
    resource: type[TenantResource],
    *,
    brand: Brand,
    by: User | None,
    key_id: int | None = None,
    file: IO[bytes],
    size: int,
    name: str,
) -> StagedUpload:
    """Store a file for its preview; for a large one, have a worker create the preview.

    Raises Invalid for errors at its beginning, and QuotaReached.
    """
    upload = None
    try:
        with transaction.atomic():
            upload = imports.stage(resource, brand=brand, by=by, key_id=key_id, file=file, size=size, name=name)
            if upload.is_large:
                start_check(upload)
    except DomainError:
        if upload is not None:
            files.delete(upload.file.storage, str(upload.file.name))
        raise
    return upload


def start_check(upload: StagedUpload) -> Job:
    """Have a worker check an upload. Call in the transaction that stored it."""
    return _start(upload, CHECK.name, Status.CHECKING, gettext_noop("Check %(file)s") % {"file": upload.file_name}, {})


def start_import(upload: StagedUpload, *, digest: str, request_id: str) -> Job:
    """Have a worker import what the preview with this digest shows. The upload must be locked.

    Raises Invalid unless it waits for a confirmation and has no errors.
    """
    check_confirmable(upload, digest)
    more = {"digest": digest, "request_id": request_id}
    return _start(
        upload, IMPORT.name, Status.IMPORTING, gettext_noop("Import %(file)s") % {"file": upload.file_name}, more
    )


def check_confirmable(upload: StagedUpload, digest: str) -> None:
    """Raises Invalid for a large file that is not checked, has errors, or has another preview."""
    if upload.status == Status.REJECTED:
        raise Invalid(languages.translated(upload.problem))
    if upload.status == Status.IMPORTED:
        raise Invalid(already_imported())
    if upload.status != Status.CHECKED:
        raise Invalid(_("The file is still being checked or imported."))
    result = stored_preview(upload)
    if result.digest != digest:
        raise Invalid(_("The rows have changed since the preview. Nothing was imported. Upload the file again."))
    if result.faulty:
        raise Invalid(_("Lines of the file have errors. Nothing was imported."))


def already_imported() -> str:
    return _("This file has already been imported.")


def _start(upload: StagedUpload, kind: str, status: StagedUpload.Status, title: str, more: dict[str, Any]) -> Job:
    with transaction.atomic():
        total = sum(upload.preview["counts"].values()) if upload.preview else 0
        parameters = {"upload_id": upload.pk, **more}
        job = queue.start(
            brand=upload.brand, kind=kind, title=title, parameters=parameters, by=upload.user, total=total
        )
        staged_uploads.follow(upload, job, status=status)
    return job


def stored_preview(upload: StagedUpload) -> Preview:
    return previews.from_json(upload.preview)


def run_check(run: runner.Run) -> None:
    """The job's handler: creates the preview and the error file, and writes no row. Idempotent."""
    pk = run.parameters["upload_id"]
    upload = StagedUpload.objects.filter(pk=pk, status=Status.CHECKING).select_related("brand", "user").first()
    if upload is None:
        run.log(_why_not_checked(pk))
        return
    try:
        result = _checked(upload, run)
    except DomainError as error:
        staged_uploads.reject(pk, error.message)
        raise
    with transaction.atomic():
        locked = staged_uploads.hold(pk, status=Status.CHECKING)
        run.check_superseded()
        if locked:
            staged_uploads.set_checked(locked, preview=result.as_json(), at=timezone.now())
    if locked is None:
        run.log(_why_not_checked(pk))
        return
    counts = ", ".join(f"{outcome.label}: {grouped(result.count(outcome))}" for outcome in Outcome)
    run.log(_("Checked. %(counts)s.") % {"counts": counts})


def _why_not_checked(pk: int) -> str:
    """Why an upload does not wait for its check any longer: it was rejected, such as by an erasure, or replaced."""
    rejected = StagedUpload.objects.filter(pk=pk, status=Status.REJECTED).first()
    if rejected is not None:
        return rejected.problem
    return gettext_noop("The file was replaced by a later one, or has been checked already.")


def _checked(upload: StagedUpload, run: runner.Run) -> Preview:
    resource = registry.of_label(upload.resource)
    total = _count(upload, resource.max_rows)
    tally, done = Tally(), 0
    run.progress(0, total)
    with files.workspace() as file:
        errors = ErrorFile(file)
        for _used, plan in imports.plans(upload, resource):
            tally.add(plan)
            errors.add(plan)
            done += len(plan.rows)
            run.progress(done, total)
        errors.finish()
        if errors.lines:
            file.seek(0)
            run.save_file(file, name=ErrorFile.name)
    return tally.preview()


def _count(upload: StagedUpload, most: int) -> int:
    """Count the rows by reading all of them. Raises Invalid for a file that cannot be read to its end."""
    with staged_uploads.opened(upload) as file:
        return sum(len(table.rows) for table in tables.parts(file, most=most))


def run_import(run: runner.Run) -> None:
    """The job's handler: everything in one transaction, so that a killed worker leaves nothing half-written."""
    pk = run.parameters["upload_id"]
    try:
        result = _imported(pk, run)
    except DomainError as error:
        staged_uploads.reject(pk, error.message)
        raise
    if result is None:
        run.log(gettext_noop("This file has already been imported."))
        return
    run.note_progress(run.job.total, run.job.total)
    run.log(done_text(result))


def _imported(pk: int, run: runner.Run) -> Preview | None:
    with concurrent_progress.report_progress(run) as progress, transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(SET_LONG_TIMEOUT)  # an attempt waits until a concurrent one has ended
        upload = staged_uploads.hold(pk, status=Status.IMPORTING)
        run.check_superseded()
        if upload is None:
            return None
        context = AuditContext(
            upload.user,
            timezone.now(),
            run.parameters["request_id"],
            imports.audit_reason(upload),
            upload.api_key_id,
        )
        return imports.write(
            upload,
            registry.of_label(upload.resource),
            digest=run.parameters["digest"],
            context=context,
            report_progress=lambda done: progress(done, run.job.total),
        )


def done_text(preview: Preview) -> str:
    """A text that says what was imported."""
    new, changed = preview.count(Outcome.NEW), preview.count(Outcome.CHANGED)
    added = ngettext("%(number)d row added", "%(number)d rows added", new) % {"number": new}
    return added + ", " + ngettext("%(number)d changed.", "%(number)d changed.", changed) % {"number": changed}


def on_end(job: Job) -> None:
    """Release the upload however the job ended, so that it does not stay in the state of being checked or imported."""
    staged_uploads.release(job.parameters.get("upload_id"))


def is_uploader(job: Job, by: Any) -> bool:
    """Whether the user uploaded the file: only they may see its rows."""
    return job.created_by_id is not None and job.created_by_id == by.pk


CHECK = JobKind(
    name="check-reference-file",
    label=gettext_lazy("Check a file of reference data"),
    run=run_check,
    on_cancel=gettext_lazy("Nothing is imported. The file has to be uploaded again."),
    on_end=on_end,
    may_have_file=is_uploader,
    names_customers=True,
)
IMPORT = JobKind(
    name="import-reference-file",
    label=gettext_lazy("Import a file of reference data"),
    run=run_import,
    on_cancel=gettext_lazy("Nothing is imported, unless the job has already finished."),
    on_end=on_end,
)
