"""Exports: lists as CSV and XLSX files, written by PostgreSQL's COPY and never whole in anybody's memory."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import IO, Any

import psycopg
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Case, DateField, Exists, F, Func, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Now
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes import jobs
from authcodes.models import BatchRange, Job, Scan
from authcodes.spreadsheets import neutral_sql
from authcodes.workbook import Workbook
from brands import replica
from brands.models import Brand, User
from brands.refusals import Invalid
from loyalty.models import UserPoints

# Between two words about how far it is, in which a wish to cancel is heard too.
TELL_SECONDS = 0.5
ASK_EVERY = 1_000  # rows between two looks at the clock
PATIENCE_SECONDS = 10  # that a replica may take to catch up; the primary has better things to do than exports

# A code of one brand may have been scanned in another's app: then who did it is not the first brand's to know.
CUSTOMER_IS_OURS = Q(user__registered_brand=F("brand")) | Exists(
    UserPoints.objects.filter(user=OuterRef("user"), brand=OuterRef("brand"))
)


class Format(models.TextChoices):
    CSV = "csv", "CSV"
    XLSX = "xlsx", "Excel (XLSX)"


class Column(Enum):
    """What a column holds, and so how it is written."""

    TEXT = "text"
    MOMENT = "moment"  # ISO 8601 in the brand's zone, with its offset
    DAY = "day"
    NUMBER = "number"  # whole where whole

    def sql(self, name: str, *, csv: bool) -> str:
        if self is Column.MOMENT:
            return f"""to_char({name}, 'YYYY-MM-DD"T"HH24:MI:SSTZH:TZM')"""
        if self is Column.TEXT:
            return neutral_sql(f"COALESCE({name}, '')") if csv else name
        if self is Column.NUMBER:
            return f"trim_scale({name}::numeric)"
        return name


@dataclass(frozen=True, slots=True)
class Report:
    """The columns of a file, and for each the field or expression of a QuerySet that fills it."""

    name: str
    columns: dict[str, tuple[Column, Any]]

    @property
    def numbers(self) -> list[str]:
        return [name for name, (column, _) in self.columns.items() if column is Column.NUMBER]

    def statement(self, rows: QuerySet[Any], *, csv: bool) -> tuple[str, tuple[Any, ...]]:
        """SELECT of these columns, in their order, with its parameters. Raises EmptyResultSet where no row can be."""
        fillings = {f"out_{name}": filling for name, (_, filling) in self.columns.items()}
        picked = rows.select_related(None).annotate(**fillings).values_list(*fillings)
        inner, parameters = picked.query.sql_with_params()
        outer = ", ".join(column.sql(name, csv=csv) for name, (column, _) in self.columns.items())
        names = ", ".join(self.columns)
        # Names from the dictionaries below and what the ORM compiled; values travel as parameters.
        return f"SELECT {outer} FROM ({inner}) AS report ({names})", parameters  # noqa: S608


CUSTOMER_EMAIL = Case(When(CUSTOMER_IS_OURS, then=F("user__email")))
BRANDS_DAY = Cast(
    Func(F("brand__time_zone"), Now(), function="timezone", output_field=models.DateTimeField()), DateField()
)
# The one status that matters most for whoever scans it, in the words of the lists' filter.
STATUS = Case(
    When(batch__recall__isnull=False, then=Value("Recalled")),
    When(deactivated_at__isnull=False, then=Value("Deactivated")),
    When(batch__expiration_date__lt=BRANDS_DAY, then=Value("Expired")),
    When(product__isnull=True, then=Value("Not assigned")),
    When(scan_count__gt=0, then=Value("Scanned")),
    default=Value("Unscanned"),
)
SCANS = Report(
    "scans",
    {
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "scan_date": (Column.MOMENT, F("scanned_at")),
        "customer_email": (Column.TEXT, CUSTOMER_EMAIL),
        "location": (Column.TEXT, F("location")),
        "points_awarded": (Column.NUMBER, F("points_awarded")),
    },
)
UNSCANNED = Report(
    "unscanned-codes",
    {
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "created_date": (Column.MOMENT, F("created_at")),
        "expiration_date": (Column.DAY, F("batch__expiration_date")),
        "status": (Column.TEXT, STATUS),
    },
)
AFFECTED = Report(
    "affected-customers",
    {
        "customer_email": (Column.TEXT, F("user__email")),
        "auth_code": (Column.TEXT, F("code")),
        "product": (Column.TEXT, F("product__title")),
        "scan_date": (Column.MOMENT, F("scanned_at")),
        "location": (Column.TEXT, F("location")),
    },
)


def affected(batch: BatchRange) -> QuerySet[Scan]:
    """The first scan of each code of the batch by each customer whom the brand knows."""
    scans = Scan.objects.filter(auth_code__batch=batch, brand=batch.brand_id, user__isnull=False)
    known = scans.filter(CUSTOMER_IS_OURS)
    return known.order_by("auth_code_id", "user_id", "scanned_at").distinct("auth_code_id", "user_id")


def start_affected(*, batch: BatchRange, wanted: Format, by: User | None) -> Job:
    """Have a worker write the customers affected by the batch's recall, in the caller's transaction."""
    return jobs.start(
        brand=batch.brand,
        kind=Job.Kind.EXPORT_AFFECTED,
        title=_("Customers affected by the recall of %(batch)s") % {"batch": batch.range_name},
        parameters={"batch_id": batch.pk, "format": wanted},
        by=by,
    )


def run_affected(run: jobs.Run) -> None:
    """The job's handler."""
    batch = BatchRange.objects.filter(pk=run.parameters["batch_id"], brand=run.job.brand).first()
    if batch is None:
        message = _("There is no such batch any more.")
        raise Invalid(message)
    export(run=run, report=AFFECTED, rows=affected(batch))


def export(*, run: jobs.Run, report: Report, rows: QuerySet[Any]) -> int:
    """Write what `rows` finds to the job's file, and offer it once it is whole. Returns how many rows it has."""
    wanted = Format(run.parameters["format"])
    rows = rows.using(replica.alias(patience_seconds=PATIENCE_SECONDS))
    total = rows.order_by().count()
    run.progress(0, total)
    with jobs.workspace() as file:
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
    into = _write_csv if wanted is Format.CSV else _write_xlsx
    try:
        statement, parameters = report.statement(rows, csv=wanted is Format.CSV)
    except EmptyResultSet:
        return into(file, report, iter(()))
    options = "FORMAT csv, FORCE_QUOTE *" if wanted is Format.CSV else "FORMAT text"
    copied = f"COPY ({statement}) TO STDOUT WITH ({options})"
    with own_connection(brand, rows.db) as own, own.cursor().copy(copied, parameters) as copy:
        lines = iter(copy) if wanted is Format.CSV else copy.rows()
        return into(file, report, _telling(lines, told))


def _write_csv(file: IO[bytes], report: Report, lines: Iterator[Any]) -> int:
    """PostgreSQL sends a message per row, quoted and neutral already."""
    file.write(f"{','.join(report.columns)}\n".encode())
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007 - the last number is the answer
        file.write(line)
    return number


def _write_xlsx(file: IO[bytes], report: Report, rows: Iterator[Any]) -> int:
    number = 0
    with Workbook(file, columns=list(report.columns), numbers=report.numbers) as workbook:
        for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is the answer
            workbook.add(row)
    return number


def _telling(rows: Iterator[Any], told: Callable[[int], None]) -> Iterator[Any]:
    due = time.monotonic() + TELL_SECONDS
    for number, row in enumerate(rows):
        if number % ASK_EVERY == 0 and time.monotonic() >= due:
            told(number)
            due = time.monotonic() + TELL_SECONDS
        yield row


@contextmanager
def own_connection(brand: Brand, alias: str = DEFAULT_DB_ALIAS) -> Iterator["psycopg.Connection[Any]"]:
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
