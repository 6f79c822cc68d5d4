"""Jobs that write the rows of a query to a CSV or XLSX file."""

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

from brands.models.tenants import Brand
from core.db import replica
from core.spreadsheets import report as reports
from core.spreadsheets.report import Format, Report, write_xlsx
from jobs import files, runner

# Between two words about how far it is, in which a wish to cancel is heard too.
TELL_SECONDS = 0.5
ASK_EVERY = 1_000  # rows between two looks at the clock
PATIENCE_SECONDS = 10  # that a replica may take to catch up; the primary has better things to do than exports


def export(*, run: runner.Run, report: Report, rows: QuerySet[Any]) -> int:
    """Write what `rows` finds to the job's file, and offer it once it is whole. Returns how many rows it has."""
    wanted = Format(run.parameters["format"])
    rows = rows.using(replica.alias(patience_seconds=PATIENCE_SECONDS))
    total = rows.order_by().count()
    run.progress(0, total)
    with files.workspace() as file:
        done = write(
            file, report=report, rows=rows, wanted=wanted, brand=run.job.brand, told=lambda n: run.progress(n, total)
        )
        run.progress(done, max(done, total))
        day = timezone.now().astimezone(run.job.brand.zone).date()
        file.seek(0)
        run.keep(file, name=f"{report.name}-{run.job.brand.slug}-{day}.{wanted}")
    run.log(_("%(number)s rows written.") % {"number": f"{done:,}"})
    return done


def write(
    file: IO[bytes],
    *,
    report: Report,
    rows: QuerySet[Any],
    wanted: Format,
    brand: Brand,
    told: Callable[[int], None],
) -> int:
    """Write `rows` to `file` in one statement, so of one moment; `told` hears how many there are so far, and may raise.

    Returns how many there were.
    """
    into = reports.write_csv if wanted is Format.CSV else write_xlsx
    try:
        statement, parameters = report.statement(rows, csv=wanted is Format.CSV)
    except EmptyResultSet:
        return into(file, report, iter(()))
    options = "FORMAT csv, FORCE_QUOTE *" if wanted is Format.CSV else "FORMAT text"
    copied = f"COPY ({statement}) TO STDOUT WITH ({options})"
    with separate_connection(brand, rows.db) as own, own.cursor().copy(copied, parameters) as copy:
        lines = iter(copy) if wanted is Format.CSV else copy.rows()
        return into(file, report, _telling(lines, told))


def _telling(rows: Iterator[Any], told: Callable[[int], None]) -> Iterator[Any]:
    due = time.monotonic() + TELL_SECONDS
    for number, row in enumerate(rows):
        if number % ASK_EVERY == 0 and time.monotonic() >= due:
            told(number)
            due = time.monotonic() + TELL_SECONDS
        yield row


@contextmanager
def separate_connection(brand: Brand, alias: str = DEFAULT_DB_ALIAS) -> Iterator["psycopg.Connection[Any]"]:
    """A connection beside Django's, which stays free to tell the progress, in the brand's zone and without hurry."""
    beside = connections[alias].copy()
    try:
        beside.ensure_connection()
        raw: psycopg.Connection[Any] = beside.connection
        with raw.transaction():
            raw.execute(
                "SELECT set_config('TimeZone', %s, true), set_config('statement_timeout', '0', true)", [brand.time_zone]
            )
            yield raw
    finally:
        beside.close()
