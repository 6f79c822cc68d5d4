"""Downloads for the uploader: a template, and the rows with their errors."""

import csv
import io
from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import get_language

from authcodes.imports.checks import COLUMNS, ERROR_COLUMN
from authcodes.models.imports import Import, ImportRow
from core import languages
from core.spreadsheets import csv_files

SAMPLES = {
    Import.Kind.LIST.value: [
        ["ACME-0000000001", "Warehouse 2, shelf A", "first pallet"],
        ["ACME-0000000002", "Warehouse 2, shelf B", ""],
    ],
    Import.Kind.RANGES.value: [
        ["SKU-1001", "ACME-0000000001", "ACME-0000000500", "Pune", "10"],
        ["SKU-1002", "ACME-0000000501", "ACME-0000001000", "Mumbai", ""],
    ],
    Import.Kind.PRINTED.value: [
        ["K7F3-Q9ZD", "https://old.example/p/K7F3-Q9ZD", "Warehouse 2, shelf A", "first pallet"],
        ["M2XW-40TR", "", "", ""],
    ],
}


def error_csv(upload: Import) -> Iterator[str]:
    """All rows as uploaded, with a last column `error`; safe against formulas, and ready to upload again.

    The errors use the current language: a streamed response is read after its view has returned.
    """
    return _error_lines(upload, get_language() or settings.LANGUAGE_CODE)


def _error_lines(upload: Import, language: str) -> Iterator[str]:
    yield _csv_line([*COLUMNS[upload.kind], ERROR_COLUMN])
    width = len(COLUMNS[upload.kind])
    for row in ImportRow.objects.filter(upload=upload).order_by("line").iterator(chunk_size=2000):
        cells = [*row.values[:width], *[""] * (width - len(row.values))]
        with languages.override(language):
            problem = row.problem
        yield _csv_line([csv_files.neutral(cell) for cell in [*cells, problem, *row.values[width:]]])


def template(kind: str) -> str:
    """A CSV template: the header and two sample rows."""
    return "".join(_csv_line(row) for row in [COLUMNS[kind], *SAMPLES[kind]])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()
