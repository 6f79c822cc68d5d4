"""Which kind of import a file is: its header says so."""

from contextlib import suppress
from typing import IO

from authcodes.imports.checks import COLUMNS, ERROR_COLUMN
from core.errors import Invalid
from core.spreadsheets import csv_files


def kind_from_header(file: IO[bytes]) -> str:
    """The kind whose columns the header of `file` has; empty if it has those of none. Rewinds the file."""
    header: list[str] = []
    with suppress(Invalid):
        header = [name.strip() for name in next(csv_files.read(file)).values]
    file.seek(0)
    return next((kind for kind, columns in COLUMNS.items() if header in (columns, [*columns, ERROR_COLUMN])), "")
