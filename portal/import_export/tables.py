"""Uploaded tables: a CSV or XLSX of one header and a bounded number of rows, as text."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext as _

from core.errors import Invalid
from core.numbers import grouped
from core.spreadsheets import csv_files, xlsx_reader
from core.spreadsheets.csv_files import Row
from core.texts import shortened

MAX_ROWS = 2_000  # of a file that is previewed at once; a job checks larger files
MAX_BYTES = 5_000_000
MAX_LARGE_ROWS = 200_000
MAX_LARGE_BYTES = 50_000_000
ERROR_COLUMN = "error"  # in the error file, which may be corrected and uploaded again


@dataclass(frozen=True, slots=True)
class Table:
    """The names of the columns, and rows with as many cells each."""

    columns: list[str]
    rows: list[Row]


def begin(file: IO[bytes], *, size: int) -> tuple[Table, bool]:
    """The first portion of a file of `size` bytes, and whether the file is small enough to be checked at once.

    Raises Invalid.
    """
    result = parts(file)
    first = next(result)
    return first, size <= MAX_BYTES and next(result, None) is None


def parts(file: IO[bytes], *, most: int = MAX_LARGE_ROWS) -> Iterator[Table]:
    """The table in portions of at most MAX_ROWS rows, each with the same header. There is at least one.

    Raises Invalid, possibly after many portions; the message says where and what to do. Does not interpret the
    columns.
    """
    start = file.read(len(xlsx_reader.SIGNATURE))
    if not start:
        raise Invalid(_("The file is empty. Start from the template."))
    file.seek(0)
    lines = (xlsx_reader.read if start == xlsx_reader.SIGNATURE else csv_files.read)(file)
    header = [name.strip() for name in next(lines).values]
    while header and not header[-1]:
        header.pop()
    bounded = _bounded(lines, len(header), most)
    first = True
    while (portion := _portion(bounded)) or first:
        if not portion:
            raise Invalid(_("The file has no rows below the header."))
        yield without_errors(Table(header, portion))
        first = False


def _portion(lines: Iterator[Row]) -> list[Row]:
    """The next rows, fewer if they are long: the memory in use does not grow with the file."""
    result: list[Row] = []
    room = MAX_BYTES
    while room > 0 and len(result) < MAX_ROWS and (row := next(lines, None)) is not None:
        result.append(row)
        room -= sum(map(len, row.values))
    return result


def too_large(most: int) -> str:
    return _("The file is larger than %(most)d MB. Split it into smaller files.") % {"most": most // 1_000_000}


def too_many_rows(most: int) -> str:
    return _("The file has more than %(most)s rows. Split it into smaller files.") % {"most": grouped(most)}


def _bounded(lines: Iterator[Row], width: int, most: int) -> Iterator[Row]:
    for number, row in enumerate(lines, 1):
        if number > most:
            raise Invalid(too_many_rows(most))
        if any(row.values[width:]):
            message = _("Line %(line)d has more cells than the header has columns.")
            raise Invalid(message % {"line": row.line})
        yield Row(row.line, [*row.values[:width], *[""] * (width - len(row.values))])


def without_errors(table: Table) -> Table:
    """Drop the last column of an error file, which is not part of the data."""
    if table.columns[-1:] != [ERROR_COLUMN]:
        return table
    return Table(table.columns[:-1], [Row(row.line, row.values[:-1]) for row in table.rows])


def check_columns(columns: Sequence[str], *, known: Collection[str], required: Iterable[str]) -> None:
    """Raises Invalid that names every unknown, missing or duplicate column."""
    problems = []
    if unknown := [name for name in dict.fromkeys(columns) if name not in known]:
        named = [f"“{name[:60]}”" for name in unknown]
        problems.append(_("Unknown columns: %(names)s.") % {"names": shortened(named, most=20)})
    if missing := [name for name in required if name not in columns]:
        problems.append(_("Missing columns: %(names)s.") % {"names": ", ".join(missing)})
    if repeated := [name for name, times in Counter(columns).items() if times > 1 and name in known]:
        problems.append(_("Duplicate columns: %(names)s.") % {"names": ", ".join(repeated)})
    if problems:
        raise Invalid(" ".join([*problems, _("Compare the first line with the template.")]))
