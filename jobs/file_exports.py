"""Jobs that write the rows of a query to a CSV, XLSX or PDF file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import psycopg
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.tenants import Brand
from core import languages
from core.db import replica
from core.errors import Invalid
from core.numbers import grouped
from core.spreadsheets.report import Report, ReportFormat, write_csv, write_xlsx
from jobs import files, runner

# The interval between progress reports, in which a cancellation is noticed too.
PROGRESS_SECONDS = 0.5
ASK_EVERY = 1_000  # rows between two checks of the clock
MAX_PDF_ROWS = 1_000  # nobody reads more, and the layout takes minutes and gigabytes
PATIENCE_SECONDS = 10  # for a replica to catch up; exports should not burden the primary

Writer = Callable[[IO[bytes], Report, Iterator[Any]], int]  # writes the rows' texts to a file; returns their number


def export(*, run: runner.Run, report: Report, rows: QuerySet[Any], write_pdf: Writer | None = None) -> int:
    """Write the rows to the job's file, and offer it once it is complete. Returns the number of rows.

    Raises Invalid for a PDF of too many rows.
    """
    format_name = ReportFormat(run.parameters["format"])
    rows = rows.using(replica.alias(patience_seconds=PATIENCE_SECONDS))
    total = rows.order_by().count()
    run.progress(0, total)
    if format_name is ReportFormat.PDF and total > MAX_PDF_ROWS:
        message = _(
            "This list has %(rows)s rows, and a PDF holds at most %(most)s. Choose CSV or Excel, or filter the list."
        )
        raise Invalid(message % {"rows": grouped(total), "most": grouped(MAX_PDF_ROWS)})
    with files.workspace() as file:
        done = write(
            file,
            report=report,
            rows=rows,
            file_format=format_name,
            brand=run.job.brand,
            progress=lambda n: run.progress(n, total),
            write_pdf=write_pdf,
        )
        run.progress(done, max(done, total))
        day = run.job.brand.day_at(timezone.now())
        file.seek(0)
        run.save_file(file, name=f"{report.name}-{run.job.brand.slug}-{day}.{format_name}")
    run.log(ngettext("%(number)s row written.", "%(number)s rows written.", done) % {"number": grouped(done)})
    return done


def write(
    file: IO[bytes],
    *,
    report: Report,
    rows: QuerySet[Any],
    file_format: ReportFormat,
    brand: Brand,
    progress: Callable[[int], None],
    write_pdf: Writer | None = None,
) -> int:
    """Write `rows` to `file` in one statement, so in one snapshot. `progress` gets the number of rows, and may raise.

    Returns the number of rows. Raises Invalid for a PDF without `write_pdf`.
    """
    is_csv = file_format is ReportFormat.CSV
    into = {ReportFormat.CSV: write_csv, ReportFormat.XLSX: write_xlsx, ReportFormat.PDF: write_pdf}[file_format]
    if into is None:
        raise Invalid(_("These rows are exported as CSV or Excel only."))
    with languages.in_english():
        try:
            statement, parameters = report.statement(rows, csv=is_csv)
        except EmptyResultSet:
            return into(file, report, iter(()))
        options = "FORMAT csv, FORCE_QUOTE *" if is_csv else "FORMAT text"
        copied = f"COPY ({statement}) TO STDOUT WITH ({options})"
        with separate_connection(brand, rows.db) as own, own.cursor().copy(copied, parameters) as copy:
            lines = iter(copy) if is_csv else copy.rows()
            return into(file, report, _reporting(lines, progress))


def _reporting(rows: Iterator[Any], progress: Callable[[int], None]) -> Iterator[Any]:
    due = time.monotonic() + PROGRESS_SECONDS
    for number, row in enumerate(rows):
        if number % ASK_EVERY == 0 and time.monotonic() >= due:
            progress(number)
            due = time.monotonic() + PROGRESS_SECONDS
        yield row


@contextmanager
def separate_connection(brand: Brand, alias: str = DEFAULT_DB_ALIAS) -> Iterator["psycopg.Connection[Any]"]:
    """A second connection, in the brand's time zone and without timeout. Django's remains free for progress reports.

    It sees the same rows as Django's: those of the brands that the database guard allows, also behind PgBouncer.
    """
    separate: Any = connections[alias].copy()
    try:
        separate.ensure_connection()
        raw: psycopg.Connection[Any] = separate.connection
        with raw.transaction():
            separate.assume_in_raw_transaction()
            raw.execute(
                "SELECT set_config('TimeZone', %s, true), set_config('statement_timeout', '0', true)", [brand.time_zone]
            )
            yield raw
    finally:
        separate.close()
