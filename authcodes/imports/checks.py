"""The meaning and the errors of each import row: cells are checked in Python, codes against the database in SQL."""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes.codes import scan_value
from authcodes.codes.bulk_changes import ALREADY_ASSIGNED, MAX_LOCATION_LENGTH, MAX_POINTS
from authcodes.models.imports import Import
from brands.models.people import User
from brands.scanned import MAX_CODE_LENGTH, MAX_INPUT_LENGTH, read
from core.db.statements import Command, command
from core.errors import Invalid
from core.languages import StoredText
from core.spreadsheets import csv_files

COLUMNS = {
    Import.Kind.LIST.value: ["auth_code", "inventory_location", "notes"],
    Import.Kind.RANGES.value: ["product_sku", "auth_code_start", "auth_code_end", "location", "points_per_scan"],
    Import.Kind.PRINTED.value: ["auth_code", "payload", "inventory_location", "notes"],
}
ERROR_COLUMN = "error"  # in a file of errors that we produced; it may be uploaded again
SKU_LENGTH = 64
MAX_HOST_LENGTH = 249  # with a port it fits into the column; no hostname in use is as long

# Stored untranslated with their values, and translated when shown. The specification's wording:
FORMAT = csv_files.INVALID
CELLS = gettext_noop("Invalid CSV format: this row has %(found)d cells instead of %(wanted)d.")
NO_SKU = gettext_noop("Product SKU not found")
# Our own wording:
PRODUCT_NOT_SOLD = gettext_noop("This product is no longer sold")
NO_CODE = gettext_noop("Code not found")
SHORTENED = gettext_noop(
    "Code not found: a spreadsheet shortened this number. Format the column as text and enter the full code."
)
AMBIGUOUS = gettext_noop(
    "Code not found: leading zeros may be missing, and more than one code fits. "
    "Format the column as text and enter the full code."
)
ROUNDED_OFF = gettext_noop(
    "Code not found: a spreadsheet may have rounded this number to 15 digits. "
    "Format the column as text and enter the full code."
)
NO_CELL = gettext_noop("The code is missing.")
CODE_TWICE = gettext_noop("This code is already on line %(line)d.")
RANGE_OVERLAPS = gettext_noop("This range overlaps with the one on line %(line)d.")
OTHER_LENGTH = gettext_noop("Start and end must have the same length.")
TWO_BATCHES = gettext_noop("Start and end belong to different batches.")
REVERSED = gettext_noop("The range ends before it starts.")
NO_RANGES = gettext_noop("The codes of this batch were printed elsewhere and have no numbers. Use a list of codes.")
# For codes printed elsewhere. Nobody learns whether another brand has a code, could have it, or has its payload.
NOT_USABLE = gettext_noop("This code or its payload cannot be used.")
OWN_CODE = gettext_noop("The brand already has this code or payload.")
PAYLOAD_TWICE = gettext_noop("This payload is already on line %(line)d, or contains the code of that line.")
PRINTED_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class ParsedRow:
    """A row's cells by meaning. For a range, `code` is its start and `codes` its size, 0 while unknown."""

    code: str = ""
    code_end: str = ""
    sku: str = ""
    location: str = ""
    notes: str = ""
    points: int | None = None
    codes: int = 0
    printed: tuple[str, str, str] = ("", "", "")  # its payload, and the code and the host in the payload
    error: str = ""
    values: dict[str, int] = field(default_factory=dict)  # values of the error message
    column: str = ""

    def complain(self, column: str, error: str, **values: int) -> None:
        """Keep the first error only. `error` is marked with gettext_noop."""
        if not self.error:
            self.column, self.error, self.values = column, error, values


def kind_from_header(file: IO[bytes]) -> str:
    """The kind whose columns match the header of `file`; empty if none does. Rewinds the file."""
    header: list[str] = []
    with suppress(Invalid):
        header = next(csv_files.read(file)).values
    file.seek(0)
    return _kind_of(header)


def _kind_of(header: list[str]) -> str:
    """The kind with these columns, and possibly that of the errors; empty if there is none."""
    names = [name.strip() for name in header]
    return next((kind for kind, columns in COLUMNS.items() if names in (columns, [*columns, ERROR_COLUMN])), "")


def wrong_header(kind: str, header: list[str]) -> str:
    """How `header` differs from the template's; empty if it does not."""
    if (matching := _kind_of(header)) == kind:
        return ""
    if matching:
        message = _('this is the header of another kind. Choose the kind "%(kind)s" and upload the file again.')
        return f"{FORMAT}: {message % {'kind': Import.Kind(matching).label}}"
    expected, actual = COLUMNS[kind], [name.strip() for name in header]
    twice = sorted({name for name in actual if name and actual.count(name) > 1})
    extra = [name or _("(without a name)") for name in dict.fromkeys(actual) if name not in [*expected, ERROR_COLUMN]]
    complaints = [
        (_("missing"), [name for name in expected if name not in actual]),
        (_("not in the template"), extra),
        (_("more than once"), twice),
    ]
    problem = "; ".join(f"{what}: {', '.join(names)}" for what, names in complaints if names)
    problem = problem or _("the columns are in another order")
    return f"{FORMAT}: {problem}. {_('The columns are %(names)s.') % {'names': ', '.join(expected)}}"[:1000]


def parse_row(kind: str, values: list[str]) -> ParsedRow:
    """Parse a row by the template's columns. Empty cells after the last column are ignored."""
    row, width = ParsedRow(), len(COLUMNS[kind])
    if len(values) < width or any(values[width:]):
        row.complain("", CELLS, found=len(values), wanted=width)
    elif kind == Import.Kind.LIST:
        _understand_list(row, *values[:3])
    elif kind == Import.Kind.PRINTED:
        _understand_printed(row, *values[:4])
    else:
        _understand_range(row, *values[:5])
    return row


def _understand_list(row: ParsedRow, code: str, location: str, notes: str) -> None:
    row.codes = 1
    row.code = _code(row, "auth_code", code)
    row.location = _location(row, "inventory_location", location)
    row.notes = notes.strip()


def _understand_printed(row: ParsedRow, code: str, payload: str, location: str, notes: str) -> None:
    row.codes = 1
    row.code = code.strip()
    if not row.code:
        row.complain("auth_code", NO_CELL)
    elif not PRINTED_CODE.fullmatch(row.code):
        message = gettext_noop(
            "A code has at most %(most)d letters, digits, - or _. Enter the printed content in the column payload."
        )
        row.complain("auth_code", message, most=MAX_CODE_LENGTH)
    row.code = row.code[:MAX_CODE_LENGTH]
    row.location = _location(row, "inventory_location", location)
    row.notes = notes.strip()
    text = payload.strip() or row.code
    if len(text) > MAX_INPUT_LENGTH or not text.isprintable():
        message = gettext_noop("A payload has at most %(most)d characters, and all must be printable.")
        row.complain("payload", message, most=MAX_INPUT_LENGTH)
        return
    reading = read(text)
    if reading and reading.tag:
        message = gettext_noop("A payload cannot look like a protected code: a code, a dot and a tag.")
        row.complain("payload", message)
    inside = reading.code if reading and reading.code != row.code else ""
    row.printed = (text, inside, _host(row, text))


def _host(row: ParsedRow, payload: str) -> str:
    """The host of a payload that is a URL, with its port if it has one."""
    if "://" not in payload:
        return ""
    try:
        parts = urlsplit(payload)
        host = (parts.hostname or "").rstrip(".").encode("idna").decode("ascii") if parts.hostname else ""
        if len(host) > MAX_HOST_LENGTH:
            raise ValueError("too long for a hostname")
        return f"{host}:{parts.port}" if parts.port else host
    except (ValueError, UnicodeError):
        row.complain("payload", gettext_noop("This address cannot be read."))
        return ""


def _understand_range(row: ParsedRow, sku: str, start: str, end: str, location: str, points: str) -> None:
    row.sku = sku[:SKU_LENGTH]
    if not sku or len(sku) > SKU_LENGTH:
        row.complain("product_sku", NO_SKU)
    row.code = _code(row, "auth_code_start", start)
    row.code_end = _code(row, "auth_code_end", end)
    row.location = _location(row, "location", location)
    points = points.strip()
    if points:
        if points.isascii() and points.isdigit() and len(points) < 11 and int(points) <= MAX_POINTS:
            row.points = int(points)
        else:
            message = gettext_noop("The points must be a whole number from 0 to %(most)s.")
            row.complain("points_per_scan", message, most=MAX_POINTS)


def _code(row: ParsedRow, column: str, cell: str) -> str:
    code = cell.strip()
    if not code:
        row.complain(column, NO_CELL)
    elif len(code) > MAX_CODE_LENGTH:
        row.complain(column, NO_CODE)
    return code[:MAX_CODE_LENGTH]


def _location(row: ParsedRow, column: str, cell: str) -> str:
    location = cell.strip()
    if len(location) > MAX_LOCATION_LENGTH:
        row.complain(column, gettext_noop("A location has at most %(most)d characters."), most=MAX_LOCATION_LENGTH)
    return location[:MAX_LOCATION_LENGTH]


FIND_CODES = {
    field: (
        command("authcodes/imports/sql/pad_codes.sql", code=field),
        command("authcodes/imports/sql/expand_codes.sql", code=field),
        command("authcodes/imports/sql/mark_rounded_codes.sql", code=field),
        command("authcodes/imports/sql/mark_unknown_codes.sql", code=field),
    )
    for field in ("code", "code_end")
}
MARK_REPEATED_CODES = command("authcodes/imports/sql/mark_repeated_codes.sql")
MARK_TAKEN_CODES = command("authcodes/imports/sql/mark_taken_codes.sql")
MATCH_PRODUCTS = command("authcodes/imports/sql/match_products.sql")
MARK_UNKNOWN_PRODUCTS = command("authcodes/imports/sql/mark_unknown_products.sql")
MARK_INACTIVE_PRODUCTS = command("authcodes/imports/sql/mark_inactive_products.sql")
MARK_INVALID_RANGES = command("authcodes/imports/sql/mark_invalid_ranges.sql")
MARK_OVERLAPPING_RANGES = command("authcodes/imports/sql/mark_overlapping_ranges.sql")
MARK_TAKEN_RANGES = command("authcodes/imports/sql/mark_taken_ranges.sql")
MARK_POINTS = command("authcodes/imports/sql/mark_points.sql")
MARK_PRODUCT_POINTS = command("authcodes/imports/sql/mark_product_points.sql")
MARK_REPEATED_PAYLOADS = command("authcodes/imports/sql/mark_repeated_payloads.sql")
MARK_OWN_CODES = command("authcodes/imports/sql/mark_own_codes.sql")
MARK_NOT_USABLE = command("authcodes/imports/sql/mark_not_usable.sql")
CLEAR_TAKEN = command("authcodes/imports/sql/clear_taken.sql")

OUR_ERRORS = {
    "no_code": NO_CODE,
    "shortened": SHORTENED,
    "ambiguous": AMBIGUOUS,
    "rounded": ROUNDED_OFF,
    "code_twice": CODE_TWICE,
    "range_overlaps": RANGE_OVERLAPS,
    "other_length": OTHER_LENGTH,
    "two_batches": TWO_BATCHES,
    "reversed": REVERSED,
    "no_ranges": NO_RANGES,
    "payload_twice": PAYLOAD_TWICE,
    "own_code": OWN_CODE,
    "not_usable": NOT_USABLE,
    "not_sold": PRODUCT_NOT_SOLD,
}


def check(upload: Import) -> None:
    """Write each row's first error, checked in this order, to the row. The caller owns the transaction."""
    parameters = {
        "upload": upload.pk,
        "brand": upload.brand_id,
        "product": upload.product_id,
        "no_sku": NO_SKU,
        "taken": ALREADY_ASSIGNED,
        **OUR_ERRORS,
    }
    if upload.kind == Import.Kind.LIST:
        _find_codes("code", "auth_code", parameters)
        _run([MARK_REPEATED_CODES, MARK_TAKEN_CODES], parameters)
    elif upload.kind == Import.Kind.PRINTED:
        _run([MARK_REPEATED_CODES, MARK_REPEATED_PAYLOADS], parameters)
        check_conflicts(upload)
    else:
        _run([MATCH_PRODUCTS, MARK_UNKNOWN_PRODUCTS, MARK_INACTIVE_PRODUCTS], parameters)
        _find_codes("code", "auth_code_start", parameters)
        _find_codes("code_end", "auth_code_end", parameters)
        _run([MARK_INVALID_RANGES, MARK_OVERLAPPING_RANGES, MARK_TAKEN_RANGES], parameters)


def check_points(upload: Import, by: User | None) -> int:
    """Mark the rows with points, or products with points, that `by` may not assign. Returns how many."""
    points, of_product = scan_value.why_not(brand=upload.brand, by=by), scan_value.why_not_product(upload.brand)
    parameters: dict[str, Any] = {
        "upload": upload.pk,
        "most": scan_value.max_points(brand=upload.brand, by=by) if by else -1,
        "points_refused": points.message,
        "points_values": _json(points),
        "product": upload.product_id,
        "most_of_product": scan_value.max_product_points(brand=upload.brand, by=by),
        "product_refused": of_product.message,
        "product_values": _json(of_product),
        "product_column": "product_sku" if upload.kind == Import.Kind.RANGES else "auth_code",
    }
    return _run(
        [MARK_POINTS] if parameters["most_of_product"] is None else [MARK_POINTS, MARK_PRODUCT_POINTS], parameters
    )


def check_conflicts(upload: Import) -> int:
    """Check again what may have changed since `check`: which codes have a product or exist now.

    Returns how many rows changed.
    """
    if upload.kind == Import.Kind.PRINTED:
        details = {
            "upload": upload.pk,
            "brand": upload.brand_id,
            "own_code": OWN_CODE,
            "not_usable": NOT_USABLE,
        }
        return _run([MARK_OWN_CODES, MARK_NOT_USABLE], details)
    parameters = {"upload": upload.pk, "product": upload.product_id, "taken": ALREADY_ASSIGNED}
    return _run([CLEAR_TAKEN, MARK_TAKEN_CODES if upload.kind == Import.Kind.LIST else MARK_TAKEN_RANGES], parameters)


def _json(text: StoredText) -> str:
    """The values of a text, as JSON for the database."""
    return json.dumps(dict(text.values))


def _find_codes(field: str, column: str, parameters: Mapping[str, Any]) -> None:
    """Repair the codes in `field`, and mark those that the brand does not have."""
    _run(FIND_CODES[field], {**parameters, "column": column})


def _run(statements: Iterable[Command], parameters: Mapping[str, Any]) -> int:
    """Returns how many rows the statements changed. Each statement uses the parameters that it names."""
    return sum(statement.run(**parameters) for statement in statements)
