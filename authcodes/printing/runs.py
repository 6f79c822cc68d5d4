"""Print runs: the only code that writes PrintRun. Starts and runs the jobs that print codes."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, BinaryIO, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.codes.ranges import resolve_range
from authcodes.codes.spans import Span, full_span, joined, span_of
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from authcodes.printing.checks import check
from authcodes.printing.labels import sheet_pdf, sheet_verification
from authcodes.printing.labels.design import Label
from authcodes.printing.labels.sheet_verification import Sample
from authcodes.printing.qr import archive, images, verification
from authcodes.printing.request import Output, PrintRequest
from authcodes.printing.selection import (
    SANDBOX_MARK,
    Selection,
    design_of,
    labels,
    logo_of,
    of_range,
    payload_of,
    sha256_of,
    streamed,
)
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of
from core import languages
from core.db.advisory_locks import LockOfRow, lock_row
from core.errors import Invalid, NotFound
from core.numbers import grouped
from jobs import files, queue, runner
from jobs.kinds import NO_FILE, JobKind
from jobs.models import Job

PROGRESS_SECONDS = 0.5  # between two progress reports
PROCESSES = 2  # that draw and read an archive
ALONE = 2000  # up to this many images, this process draws them itself
WITHOUT_FILE = (Job.Status.FAILED, Job.Status.CANCELLED)  # of the job of a run that never gets a file


def earlier(selection: Selection) -> QuerySet[PrintRun]:
    """Runs that printed some of these codes, newest first. Of lists, only the first and last codes are compared."""
    overlapping = PrintRun.objects.filter(
        brand=selection.brand, first_code__lte=selection.last, last_code__gte=selection.first
    ).exclude(job__status__in=WITHOUT_FILE)
    if selection.batch:
        overlapping = overlapping.filter(Q(batch=selection.batch) | Q(batch__isnull=True))
    return overlapping.select_related("started_by", "job", "brand").order_by("-id")


def printed_spans(batch: BatchRange) -> list[Span]:
    """The numbers in finished print files, as counted by Home. Runs of lists do not count: they may omit codes.
    Uses one query.
    """
    if batch.printed_elsewhere:
        return [full_span(batch)] if batch.generated_count else []
    rows = PrintRun.objects.filter(brand=batch.brand_id, batch=batch, job__status=Job.Status.DONE)
    spans = (span_of(batch, first, last) for first, last in rows.order_by().values_list("first_code", "last_code"))
    return joined(span for span in spans if span is not None)


def lock_batches(brand: Brand) -> None:
    """Lock the brand's print runs until the transaction ends.

    Without it, two users who check at once for earlier prints would both find none.
    """
    lock_row(LockOfRow.PRINT_RUNS, brand.pk)


def first_page(selection: Selection, print_request: PrintRequest) -> list[Label]:
    return list(
        labels(selection, print_request, most=max(1, print_request.design().sheet.per_page - print_request.start + 1))
    )


@dataclass(frozen=True, slots=True)
class PrintInstructions:
    """The order for the print shop. `key` distinguishes a repeated press of the same button from another print."""

    due_on: date | None = None
    note: str = ""
    key: UUID | None = None


NO_INSTRUCTIONS = PrintInstructions()


def start(
    *,
    selection: Selection,
    print_request: PrintRequest,
    by: User | None,
    parameters: dict[str, Any] | None = None,
    instructions: PrintInstructions = NO_INSTRUCTIONS,
) -> PrintRun:
    """Have a worker print, and record the run. Raises Invalid.

    `parameters`: how the worker finds the codes of a list.
    """
    check(selection, print_request)
    if selection.batch and not print_request.level:
        print_request = replace(print_request, level=selection.batch.error_correction)
    if print_request.is_labels and print_request.logo:
        print_request = replace(print_request, logo_sha256=sha256_of(logo_of(selection.brand.pk)))
    kind = BATCH_PRINT.name if selection.batch else "print-list"
    named = selection.batch.range_name if selection.batch else f"{selection.first} … {selection.last}"
    with languages.in_english():
        title = gettext_noop("%(output)s: %(named)s") % {"output": Output(print_request.output).label, "named": named}
    with transaction.atomic():
        job = queue.start(
            brand=selection.brand, kind=kind, title=title, parameters=parameters or {}, by=by, total=selection.count
        )
        return PrintRun.objects.create(
            brand=selection.brand,
            batch=selection.batch,
            output=print_request.output,
            first_code=selection.first,
            last_code=selection.last,
            codes=selection.count,
            settings=print_request.to_json(),
            job=job,
            started_by=by,
            due_on=instructions.due_on,
            order_note=instructions.note,
            request_key=instructions.key,
        )


def started_with(brand: Brand, key: UUID) -> PrintRun | None:
    """The run that the same press of a button started. Call while holding `lock_batches`."""
    return PrintRun.objects.filter(brand=brand, request_key=key).first()


def mark_done(*, run: PrintRun, by: User, at: datetime) -> bool:
    """Mark a run as printed; False if it already is. Raises Invalid without a file."""
    if run.job.status != Job.Status.DONE:
        raise Invalid(_("The file is not finished, so there is nothing to print yet."))
    return bool(PrintRun.objects.filter(pk=run.pk, done_at__isnull=True).update(done_at=at, done_by=by))


def mark_open(*, run: PrintRun) -> bool:
    """Mark a run as not printed; False if it already is not."""
    return bool(PrintRun.objects.filter(pk=run.pk, done_at__isnull=False).update(done_at=None, done_by=None))


def run_batch(run: runner.Run) -> None:
    """Job handler for a range of a batch."""
    printed = PrintRun.objects.select_related("batch__brand").filter(job=run.job).first()
    if printed is None or printed.batch is None:
        raise NotFound
    result = resolve_range(batch=printed.batch, first=printed.first_code, last=printed.last_code)
    print_codes(run=run, printed=printed, selection=of_range(result))


def printed_batches(jobs: Sequence[Job]) -> dict[int, BatchRange]:
    """For each job, by id, the batch whose codes it prints."""
    printed = PrintRun.objects.filter(job__in=jobs, batch__isnull=False).select_related("batch")
    return {run.job_id: run.batch for run in printed if run.batch}


BATCH_PRINT = JobKind(
    name="print-batch",
    label=gettext_lazy("Print a batch's codes"),
    run=run_batch,
    on_cancel=NO_FILE,
    visible_with="authcodes.printrun",
    details="print_run",
    related_rows=printed_batches,
)


def print_codes(*, run: runner.Run, printed: PrintRun, selection: Selection) -> None:
    """Write the file, and offer it once it is complete and verified. Can run again after a crash."""
    print_request = PrintRequest.from_json(printed.settings)
    check(selection, print_request)
    run.progress(0, selection.count)
    with files.workspace() as workspace:
        file = cast("BinaryIO", workspace)
        write = _write_sheets if print_request.is_labels else _write_archive
        result = write(file, selection, print_request, _progress_reporter(run, selection.count))
        result["sha256"], _size = files.digest(file)
        run.save_file(file, name=_file_name(selection, print_request))
    run.progress(result["codes"], result["codes"])
    ours = PrintRun.objects.filter(pk=printed.pk, job__attempts=run.attempt, job__status=Job.Status.RUNNING)
    ours.update(first_code=selection.first, last_code=selection.last, **result)
    run.log(outcome_message(result))


def _file_name(selection: Selection, print_request: PrintRequest) -> str:
    """An image of a sandbox's code has no room for a mark, so the file name has one."""
    mark = f"{SANDBOX_MARK}-" if selection.brand.is_sandbox else ""
    return f"{mark}{print_request.output}-{selection.first}-{selection.last}.{_ending(print_request)}"


def _ending(print_request: PrintRequest) -> str:
    return "pdf" if print_request.is_labels else "zip"


def _write_archive(
    file: BinaryIO, selection: Selection, print_request: PrintRequest, progress: Callable[[int], None]
) -> dict[str, Any]:
    hostname = hostname_of(selection.brand.pk)
    images = (
        archive.Image(code.code, payload_of(code, print_request, hostname), print_request.level_of(code.batch))
        for code in streamed(selection.codes)
    )
    made = archive.write(
        file,
        images,
        kind="svg" if print_request.output == Output.SVG else "png",
        size_mm=print_request.image_mm,
        progress=progress,
        processes=PROCESSES if selection.count > ALONE else 1,
    )
    return {"codes": made.files, "read_back": made.verified, "manifest_sha256": made.manifest_sha256}


def _write_sheets(
    file: BinaryIO, selection: Selection, print_request: PrintRequest, progress: Callable[[int], None]
) -> dict[str, Any]:
    design = design_of(selection, print_request)
    proof, sample = VerificationProgress(), Sample(per_page=design.sheet.per_page, start=design.start)
    pages = sheet_pdf.write(file, sample.watched(proof.of(labels(selection, print_request))), design, progress=progress)
    expected = sample.whole()
    sheet_verification.check(file, expected, pages=pages)
    return {"codes": proof.drawn, "pages": pages, "read_back": proof.read, "pages_read": len(expected)}


class VerificationProgress:
    """Reads the symbols of labels before they are drawn: as many as in an archive, and the last."""

    def __init__(self) -> None:
        self.drawn = self.read = 0

    def of(self, labels: Iterator[Label]) -> Iterator[Label]:
        """Yields the same labels. Raises Unreadable."""
        label, is_read = None, True
        for label in labels:
            is_read = self.drawn < archive.ALL_VERIFIED or self.drawn % archive.VERIFIED_EVERY == 0
            self.drawn += 1
            if is_read:
                self._check(label)
            yield label
        if label and not is_read:
            self._check(label)

    def _check(self, label: Label) -> None:
        """Sheets have the same runs of modules as an SVG, which can be painted as pixels without a PDF reader."""
        verification.check_svg(images.svg(text=label.payload, level=label.level), label.payload, code=label.text)
        self.read += 1


def outcome_message(outcome: dict[str, Any]) -> str:
    numbers = {
        name: grouped(outcome[name]) for name in ("codes", "pages", "read_back", "pages_read") if name in outcome
    }
    made = ngettext("%(codes)s image.", "%(codes)s images.", outcome["codes"]) % numbers
    if "pages" in outcome:
        labels = ngettext("%(codes)s label", "%(codes)s labels", outcome["codes"]) % numbers
        pages = ngettext("%(pages)s page", "%(pages)s pages", outcome["pages"]) % numbers
        made = _("%(labels)s on %(pages)s.") % {"labels": labels, "pages": pages}
    read_back = ngettext(
        "%(read_back)s code was read back and matches.",
        "%(read_back)s codes were read back and match.",
        outcome["read_back"],
    )
    lines = [made, read_back % numbers]
    if "pages_read" in outcome:
        pages_read = ngettext(
            "%(pages_read)s page of the finished file was read back.",
            "%(pages_read)s pages of the finished file were read back.",
            outcome["pages_read"],
        )
        lines.append(pages_read % numbers)
    return " ".join(lines)


def _progress_reporter(run: runner.Run, total: int) -> Callable[[int], None]:
    """Reports the progress at intervals; reporting also raises if the job was cancelled."""
    reported_at = time.monotonic()

    def report(done: int) -> None:
        nonlocal reported_at
        if time.monotonic() - reported_at >= PROGRESS_SECONDS:
            reported_at = time.monotonic()
            run.progress(min(done, total), total)

    return report
