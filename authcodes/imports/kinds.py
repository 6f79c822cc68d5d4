"""The kind of an import, detected from the file's header."""

from contextlib import suppress
from typing import IO

from authcodes.imports.checks import COLUMNS, ERROR_COLUMN
from core.errors import Invalid
from core.spreadsheets import csv_files


def kind_from_header(file: IO[bytes]) -> str:
    """The kind whose columns match the header of `file`; empty if none does. Rewinds the file."""
    header: list[str] = []
    with suppress(Invalid):
        header = [name.strip() for name in next(csv_files.read(file)).values]
    file.seek(0)
    return next((kind for kind, columns in COLUMNS.items() if header in (columns, [*columns, ERROR_COLUMN])), "")
