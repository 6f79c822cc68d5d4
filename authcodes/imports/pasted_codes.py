"""Typed or pasted codes, one per line, checked by the rules of a list import."""

import re
from dataclasses import dataclass
from secrets import randbelow

from django.db import transaction
from django.utils.translation import gettext as _

from authcodes.errors import BatchRejected
from authcodes.imports import checks
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from brands.scanned import TAG_SEPARATOR, read
from core.db import row_guard
from core.numbers import grouped

MAX_PASTED_CODES = 1000  # checked within a request
E_NOTATION = re.compile(r"[0-9][.,]?[0-9]*e[+]?[0-9]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PastedCode:
    """A line as typed, its code, and the error if it has none."""

    line: int
    text: str
    code: str
    error: str

    @property
    def is_repaired(self) -> bool:
        return not self.error and self.code != self.text


def parse_pasted(*, text: str, product: Product) -> list[PastedCode]:
    """Look up each non-empty line in the codes of the product's brand, and check whether `product` may be assigned.

    A scanned address or a printed `code.tag` is accepted. Leading zeros dropped by a spreadsheet are restored if only
    one code fits. Raises BatchRejected for too many lines, or none.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        message = _("Enter at least one code.")
        raise BatchRejected(message, details={"field": "codes"})
    if len(lines) > MAX_PASTED_CODES:
        message = _("Enter at most %(most)s codes at once, or upload them as a CSV file.") % {
            "most": grouped(MAX_PASTED_CODES)
        }
        raise BatchRejected(message, details={"field": "codes"})
    return [PastedCode(row.line, row.values[0], row.code, row.problem) for row in _checked(lines, product)]


def _checked(lines: list[tuple[int, str]], product: Product) -> list[ImportRow]:
    """The lines as rows of an import that is checked but never stored."""
    upload = Import(pk=-1 - randbelow(2**62), kind=Import.Kind.LIST, brand=product.brand, product=product)
    rows = []
    for number, line in lines:
        it = checks.parse_row(upload.kind, [_bare(line), "", ""])
        fields = {"code": it.code, "codes": it.codes, "error": it.error, "error_column": it.column}
        fields["error_values"] = it.values
        rows.append(ImportRow(upload=upload, line=number, values=[line], **fields))
    # Row-level security finds rows by their import, which does not exist here. Each lookup names the product's brand.
    with row_guard.disabled("rows of an import that is never stored"), transaction.atomic():
        ImportRow.objects.bulk_create(rows)
        checks.check(upload)
        matches = list(ImportRow.objects.filter(upload_id=upload.pk).order_by("line"))
        transaction.set_rollback(True)
    return matches


def _bare(line: str) -> str:
    """The code in a scanned address or before a tag; any other text unchanged."""
    scanned = "://" in line or (TAG_SEPARATOR in line and not E_NOTATION.fullmatch(line))
    reading = read(line) if scanned else None
    return reading.code if reading else line
