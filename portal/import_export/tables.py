"""Uploaded tables: a CSV or XLSX of one header and a bounded number of rows, as text."""

import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.errors import Invalid
from core.spreadsheets import csv_files, xlsx_reader
from core.spreadsheets.csv_files import Row

MAX_ROWS = 2_000
MAX_BYTES = 5_000_000
ERROR_COLUMN = "error"  # of the error file, which may be corrected and uploaded again


@dataclass(frozen=True, slots=True)
class Table:
    """The names of the columns, and the rows with as many cells each."""

    columns: list[str]
    rows: list[Row]


def read(content: bytes) -> Table:
    """Raises Invalid; the message says where and what to do. What the columns mean is not looked at."""
    if not content:
        raise Invalid(_("The file is empty. Start from the template."))
    if len(content) > MAX_BYTES:
        raise Invalid(too_large())
    reader = xlsx_reader.read if content.startswith(xlsx_reader.SIGNATURE) else csv_files.read
    rows = reader(io.BytesIO(content))
    header = [name.strip() for name in next(rows).values]
    while header and not header[-1]:
        header.pop()
    table = Table(header, list(_bounded(rows, len(header))))
    if not table.rows:
        raise Invalid(_("The file has no rows below the header."))
    return without_errors(table)


def too_large() -> str:
    return _("The file is larger than %(most)d MB. Split it into smaller files.") % {"most": MAX_BYTES // 1_000_000}


def _bounded(rows: Iterator[Row], width: int) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        if number > MAX_ROWS:
            message = _("The file has more than %(most)s rows. Split it into smaller files.")
            raise Invalid(message % {"most": f"{MAX_ROWS:,}"})
        if any(row.values[width:]):
            message = _("Line %(line)d has more cells than the header has columns.")
            raise Invalid(message % {"line": row.line})
        yield Row(row.line, [*row.values[:width], *[""] * (width - len(row.values))])


def without_errors(table: Table) -> Table:
    """The column that an error file has at its end is no part of the data."""
    if table.columns[-1:] != [ERROR_COLUMN]:
        return table
    return Table(table.columns[:-1], [Row(row.line, row.values[:-1]) for row in table.rows])


def check_columns(columns: Sequence[str], *, known: Collection[str], required: Iterable[str]) -> None:
    """Raises Invalid that names every column that is unknown, missing or there twice."""
    problems = []
    if unknown := [name for name in dict.fromkeys(columns) if name not in known]:
        named = ", ".join(f"“{name[:60]}”" for name in unknown[:20])
        problems.append(_("Unknown columns: %(names)s.") % {"names": named})
    if missing := [name for name in required if name not in columns]:
        problems.append(_("Missing columns: %(names)s.") % {"names": ", ".join(missing)})
    if repeated := [name for name, times in Counter(columns).items() if times > 1 and name in known]:
        problems.append(_("Columns that are there twice: %(names)s.") % {"names": ", ".join(repeated)})
    if problems:
        raise Invalid(" ".join([*problems, _("Compare the first line with the template.")]))
