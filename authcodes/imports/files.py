"""Files for whoever uploads: a template, and the lines that have errors."""

import csv
import io
from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import get_language

from authcodes.imports.checks import COLUMNS, ERROR_COLUMN
from authcodes.imports.uploads import SAMPLES
from authcodes.models.imports import Import, ImportRow
from core import languages
from core.spreadsheets import csv_files


def error_csv(upload: Import) -> Iterator[str]:
    """The lines of the file as it was uploaded, with a last column `error`; formula-safe, and fit to come back.

    The errors are in the language that is spoken now: a streamed answer is read after its view has returned.
    """
    return _error_lines(upload, get_language() or settings.LANGUAGE_CODE)


def _error_lines(upload: Import, language: str) -> Iterator[str]:
    yield _csv_line([*COLUMNS[upload.kind], ERROR_COLUMN])
    width = len(COLUMNS[upload.kind])
    for row in ImportRow.objects.filter(upload=upload).order_by("line").iterator(chunk_size=2000):
        cells = [*row.values[:width], *[""] * (width - len(row.values))]
        with languages.spoken(language):
            problem = row.problem
        yield _csv_line([csv_files.neutral(cell) for cell in [*cells, problem, *row.values[width:]]])


def template(kind: str) -> str:
    """A CSV to begin with: the columns and two sample rows."""
    return "".join(_csv_line(row) for row in [COLUMNS[kind], *SAMPLES[kind]])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()
