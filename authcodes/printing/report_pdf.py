"""A list's report as a PDF, for reading on paper or in a mail."""

from collections.abc import Iterable
from typing import IO, Any

from django.utils import timezone

from authcodes.printing import documents, process_pool
from authcodes.printing.documents import day_of, direction
from brands.models.tenants import Brand
from core.spreadsheets.report import Column, Report

MIN_LENGTH, MAX_LENGTH = 8, 32  # letters that a column is sized for; longer text is wrapped
TEMPLATE = "authcodes/documents/report.html"


def write(file: IO[bytes], report: Report, rows: Iterable[Any], *, title: str, brand: Brand) -> int:
    """Write the rows' texts as a table, with column names on each page. Returns the number of rows.

    Runs in a separate process, because WeasyPrint keeps the memory of a long table. Raises LibrariesMissing.
    """
    kinds = [kind for kind, _filling in report.columns.values()]
    cells = [[cell(kind, text) for kind, text in zip(kinds, row, strict=True)] for row in rows]
    columns = [
        {"title": name.replace("_", " ").capitalize(), "is_number": kind is Column.NUMBER}
        for name, (kind, _filling) in report.columns.items()
    ]
    for column, width in zip(columns, widths(columns, cells), strict=True):
        column["width"] = width
    context = {
        "title": title,
        "brand": brand,
        "made": day_of(timezone.now(), brand, "j M Y, H:i"),
        "zone": brand.time_zone,
        "columns": columns,
        "rows": cells,
        "dir": {"brand": direction(brand.name), "title": direction(title)},
    }
    file.write(process_pool.run_in_process(lambda: documents.pdf(TEMPLATE, context)))
    return len(cells)


def cell(kind: Column, text: str | None) -> dict[str, Any]:
    """A cell for display; times are shown without seconds and offset."""
    displayed = text or ""
    if kind is Column.MOMENT:
        displayed = displayed[: len("2026-03-14T09:26")].replace("T", " ")
    return {"text": displayed, "is_number": kind is Column.NUMBER, "is_rtl": direction(displayed) == "rtl"}


def widths(columns: list[dict[str, Any]], cells: list[list[dict[str, Any]]]) -> list[int]:
    """Percentages of the page's width, by the longest text of each column."""
    longest = [
        max(len(text) for text in (column["title"], *(row[number]["text"] for row in cells)))
        for number, column in enumerate(columns)
    ]
    displayed = [min(max(length, MIN_LENGTH), MAX_LENGTH) for length in longest]
    return [100 * length // sum(displayed) for length in displayed]
