"""Small tables as downloads."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from django.http import HttpResponse

from core.spreadsheets.csv_files import neutral
from core.spreadsheets.report import Format
from core.spreadsheets.xlsx import Workbook

TYPES = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def neutralised(rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The cells as spreadsheets show them and never compute them."""
    return ([neutral(cell) for cell in row] for row in rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, name: str, format: Format) -> HttpResponse:  # noqa: A002 - the word for it
    """A file of neutral cells; `name` without its ending."""
    content = _xlsx(columns, rows) if format is Format.XLSX else _csv(columns, rows)
    answer = HttpResponse(content, content_type=TYPES[format])
    answer["Content-Disposition"] = f'attachment; filename="{name}.{format.value}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, no-store"
    return answer


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return f"\ufeff{text.getvalue()}".encode()  # the byte order mark tells Excel that it is UTF-8


def _xlsx(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    file = io.BytesIO()
    with Workbook(file, columns=columns) as workbook:
        for row in rows:
            workbook.add(row)
    return file.getvalue()
