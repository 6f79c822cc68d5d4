"""Downloads: templates, exports and error files, and how any file is sent."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import IO, Any, TypeVar

from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core import languages
from core.errors import Invalid
from core.numbers import grouped
from core.spreadsheets.csv_files import neutral
from core.spreadsheets.report import Format
from core.spreadsheets.xlsx import Workbook
from portal.import_export.resource import TenantResource

R = TypeVar("R", bound=HttpResponseBase)

MEDIA_TYPES = {
    Format.CSV: "text/csv",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
TYPES = {**MEDIA_TYPES, Format.CSV: "text/csv; charset=utf-8"}


MAX_EXPORTED = 20_000


def template(resource: type[TenantResource], *, format: Format) -> HttpResponse:  # noqa: A002 - the usual word
    """The header and an example."""
    row = resource(Brand()).template_row()
    cells = [[neutral(cell) for cell in row.values()]]
    name = f"template-{resource.label().rpartition('.')[2]}"
    return _table(list(row), cells, name=name, format=format)


def export(
    resource: type[TenantResource],
    rows: QuerySet[Any],
    *,
    brand: Brand,
    format: Format,  # noqa: A002 - the usual word
) -> HttpResponse:
    """The `rows` of the brand, with the columns of an import. Raises Invalid if there are too many."""
    used = resource(brand)
    matches = list(used.exported(rows)[: MAX_EXPORTED + 1])
    if len(matches) > MAX_EXPORTED:
        message = _("The list has more than %(most)s rows. Filter it first.") % {"most": grouped(MAX_EXPORTED)}
        raise Invalid(message)
    # The file may be imported again, and not only by the user who exported it.
    with timezone.override(brand.zone), languages.in_english():
        cells = list(used.export_rows(matches))
        name = str(rows.model._meta.verbose_name_plural).replace(" ", "-")
    return _table(used.column_names(matches), cells, name=name, format=format)


def file(content: IO[bytes], *, name: str, content_type: str = TYPES[Format.CSV]) -> FileResponse:
    """An existing CSV."""
    return as_attachment(FileResponse(content, content_type=content_type), name)


def as_attachment(answer: R, name: str) -> R:
    """A file that the browser saves under this name. It is not displayed, its type is not guessed and it is not
    cached."""
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, no-store"
    return answer


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, name: str, format: Format) -> HttpResponse:  # noqa: A002
    """A file of neutral cells; `name` without its suffix."""
    content = _xlsx(columns, rows) if format is Format.XLSX else _csv(columns, rows)
    return as_attachment(HttpResponse(content, content_type=TYPES[format]), f"{name}.{format.value}")


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return f"\ufeff{text.getvalue()}".encode()  # the byte order mark makes Excel read it as UTF-8


def _xlsx(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    file = io.BytesIO()
    with Workbook(file, columns=columns) as workbook:
        for row in rows:
            workbook.add(row)
    return file.getvalue()
