"""What each row of an import means and what is wrong with it: cell by cell in Python, against our codes in SQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.codes import scan_value
from authcodes.codes.assignment_limits import LOCATION_LENGTH, MAX_POINTS, TAKEN
from authcodes.models.imports import Import
from brands.models.people import User
from brands.scanned import MAX_CODE_LENGTH

COLUMNS = {
    Import.Kind.LIST.value: ["auth_code", "inventory_location", "notes"],
    Import.Kind.RANGES.value: ["product_sku", "auth_code_start", "auth_code_end", "location", "points_per_scan"],
}
ERROR_COLUMN = "error"  # of a file that we gave back; it may come again
SKU_LENGTH = 64

# The specification's own words, in every language: other systems look for them.
FORMAT = "Invalid CSV format"
NO_SKU = "Product SKU not found"
# Ours, translated when a file is checked.
PRODUCT_NOT_SOLD = gettext_lazy("This product is no longer sold")
NO_CODE = gettext_lazy("Auth code not found")
SHORTENED = gettext_lazy(
    "Auth code not found: a spreadsheet shortened this number. Format the column as text and enter the full code."
)
AMBIGUOUS = gettext_lazy(
    "Auth code not found: leading zeros may be missing, and more than one code fits. "
    "Format the column as text and enter the full code."
)
ROUNDED_OFF = gettext_lazy(
    "Auth code not found: a spreadsheet may have rounded this number to 15 digits. "
    "Format the column as text and enter the full code."
)
# %s is a line of the file.
CODE_TWICE = gettext_lazy("This code is already on line %s.")
RANGE_OVERLAPS = gettext_lazy("This range overlaps with the one on line %s.")
OTHER_LENGTH = gettext_lazy("Start and end must have the same length.")
TWO_BATCHES = gettext_lazy("Start and end belong to different batches.")
REVERSED = gettext_lazy("The range ends before it starts.")


@dataclass(slots=True)
class ParsedRow:
    """A row's cells by meaning. For a range, `code` is its start; `codes` is how many it names, 0 as yet unknown."""

    code: str = ""
    code_end: str = ""
    sku: str = ""
    location: str = ""
    notes: str = ""
    points: int | None = None
    codes: int = 0
    error: str = ""
    column: str = ""

    def complain(self, column: str, error: str) -> None:
        """The first complaint stays."""
        if not self.error:
            self.column, self.error = column, error


def wrong_header(kind: str, header: list[str]) -> str:
    """What keeps `header` from being the template's; empty if nothing does."""
    wanted, found = COLUMNS[kind], [name.strip() for name in header]
    if found in (wanted, [*wanted, ERROR_COLUMN]):
        return ""
    for other, columns in COLUMNS.items():
        if other != kind and found in (columns, [*columns, ERROR_COLUMN]):
            words = _('this is the header of the other kind. Choose the kind "%(kind)s" and upload the file again.')
            return f"{FORMAT}: {words % {'kind': Import.Kind(other).label}}"
    twice = sorted({name for name in found if name and found.count(name) > 1})
    extra = [name or _("(without a name)") for name in dict.fromkeys(found) if name not in [*wanted, ERROR_COLUMN]]
    complaints = [
        (_("missing"), [name for name in wanted if name not in found]),
        (_("not in the template"), extra),
        (_("more than once"), twice),
    ]
    said = "; ".join(f"{what}: {', '.join(names)}" for what, names in complaints if names)
    said = said or _("the columns are in another order")
    return f"{FORMAT}: {said}. {_('The columns are %(names)s.') % {'names': ', '.join(wanted)}}"[:1000]


def parse_row(kind: str, values: list[str]) -> ParsedRow:
    """A row by the template's columns. Empty cells behind the last one do not count."""
    row, width = ParsedRow(), len(COLUMNS[kind])
    if len(values) < width or any(values[width:]):
        many = _("this row has %(found)d cells instead of %(wanted)d.") % {"found": len(values), "wanted": width}
        row.complain("", f"{FORMAT}: {many}")
    elif kind == Import.Kind.LIST:
        _understand_list(row, *values[:3])
    else:
        _understand_range(row, *values[:5])
    return row


def _understand_list(row: ParsedRow, code: str, location: str, notes: str) -> None:
    row.codes = 1
    row.code = _code(row, "auth_code", code)
    row.location = _location(row, "inventory_location", location)
    row.notes = notes.strip()


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
            message = _("The points must be a whole number from 0 to %(most)s.") % {"most": f"{MAX_POINTS:,}"}
            row.complain("points_per_scan", message)


def _code(row: ParsedRow, column: str, cell: str) -> str:
    code = cell.strip()
    if not code:
        row.complain(column, _("The code is missing."))
    elif len(code) > MAX_CODE_LENGTH:
        row.complain(column, str(NO_CODE))
    return code[:MAX_CODE_LENGTH]


def _location(row: ParsedRow, column: str, cell: str) -> str:
    location = cell.strip()
    if len(location) > LOCATION_LENGTH:
        row.complain(column, _("A location has at most %(most)d characters.") % {"most": LOCATION_LENGTH})
    return location[:LOCATION_LENGTH]


# Leading zeros are eaten from all of a column or from none: a code as written wins where the file shows some.
PAD = """
    WITH lengths AS (
        SELECT DISTINCT length(first_code) AS length FROM authcodes_batchrange
         WHERE brand_id = %(brand)s AND first_code ~ '^[0-9]+$'),
    fits AS (
        SELECT r.id, count(*) AS fitting, min(c.code) AS code, bool_or(c.code = r.{code}) AS as_written
          FROM authcodes_importrow r
          JOIN lengths l ON l.length >= length(r.{code})
          JOIN authcodes_authcode c ON c.code = lpad(r.{code}, l.length, '0') AND c.brand_id = %(brand)s
         WHERE r.upload_id = %(upload)s AND r.error = '' AND r.{code} ~ '^(0|[1-9][0-9]*)$'
         GROUP BY r.id)
    UPDATE authcodes_importrow r
       SET {code} = CASE WHEN f.fitting = 1 THEN f.code ELSE r.{code} END,
           repaired = r.repaired OR f.fitting = 1,
           error = CASE WHEN f.fitting = 1 THEN '' ELSE %(ambiguous)s END,
           error_column = CASE WHEN f.fitting = 1 THEN '' ELSE %(column)s END
      FROM fits f
     WHERE r.id = f.id AND (f.fitting > 1 OR NOT f.as_written)
       AND NOT (f.as_written AND EXISTS (
               SELECT 1 FROM authcodes_importrow z WHERE z.upload_id = %(upload)s AND z.{code} ~ '^0[0-9]'))
"""
# 1.23E+11 stands for every number that rounds to it; where codes may themselves be written so, none is guessed.
EXPAND = """
    WITH numbers AS (
        SELECT r.id, replace(r.{code}, ',', '.')::numeric AS number,
               0.5 * ('1e' || (substring(r.{code} from '[0-9]+$')::int
                               - length(coalesce(substring(r.{code} from '[.,]([0-9]+)'), ''))))::numeric AS half
          FROM authcodes_importrow r
         WHERE r.upload_id = %(upload)s AND r.error = '' AND r.{code} ~* '^[0-9]([.,][0-9]{{1,14}})?e[+]?[0-9]{{1,2}}$'
           AND NOT EXISTS (SELECT 1 FROM authcodes_authcode c WHERE c.code = r.{code} AND c.brand_id = %(brand)s)),
    bounds AS (SELECT id, ceil(number - half) AS low, ceil(number + half) - 1 AS high FROM numbers),
    batches AS (
        SELECT first_code::numeric AS first, last_code::numeric AS last, length(first_code) AS length
          FROM authcodes_batchrange WHERE brand_id = %(brand)s AND first_code ~ '^[0-9]+$'),
    fits AS (
        SELECT o.id, sum(least(o.high, b.last) - greatest(o.low, b.first) + 1) AS fitting,
               min(lpad(greatest(o.low, b.first)::text, b.length, '0')) AS code
          FROM bounds o JOIN batches b ON b.first <= o.high AND b.last >= o.low
         GROUP BY o.id)
    UPDATE authcodes_importrow r SET {code} = f.code, repaired = true
      FROM fits f
     WHERE r.id = f.id AND f.fitting = 1 AND NOT EXISTS (
           SELECT 1 FROM authcodes_batchrange WHERE brand_id = %(brand)s AND prefix ~* '^[0-9]+e$')
"""
# Spreadsheets keep 15 digits and write zeros for the rest, in all of a column or in none of it.
ROUNDED = """
    UPDATE authcodes_importrow r SET error = %(rounded)s, error_column = %(column)s
     WHERE r.upload_id = %(upload)s AND r.error = '' AND r.{code} ~ '^[1-9][0-9]{{14}}0+$'
       AND (SELECT count(*) FROM (
                SELECT 1 FROM authcodes_authcode c
                 WHERE c.code BETWEEN r.{code} AND rpad(left(r.{code}, 15), length(r.{code}), '9')
                   AND c.brand_id = %(brand)s AND length(c.code) = length(r.{code}) LIMIT 2) fitting) > 1
       AND NOT EXISTS (SELECT 1 FROM authcodes_importrow z
                        WHERE z.upload_id = %(upload)s AND z.{code} ~ '^[1-9][0-9]{{14}}0*[1-9][0-9]*$')
"""
FIND = """
    UPDATE authcodes_importrow r
       SET error = CASE WHEN r.{code} ~* '^[0-9][.,0-9]*e[+]?[0-9]+$' THEN %(shortened)s ELSE %(no_code)s END,
           error_column = %(column)s
     WHERE r.upload_id = %(upload)s AND r.error = ''
       AND NOT EXISTS (SELECT 1 FROM authcodes_authcode c WHERE c.code = r.{code} AND c.brand_id = %(brand)s)
"""
LIST_TWICE = """
    UPDATE authcodes_importrow r
       SET error = format(%(code_twice)s, t.first), error_column = 'auth_code'
      FROM (SELECT id, line, min(line) OVER (PARTITION BY code) AS first FROM authcodes_importrow
             WHERE upload_id = %(upload)s AND error = '') t
     WHERE r.id = t.id AND t.line > t.first
"""
LIST_TAKEN = """
    UPDATE authcodes_importrow r SET error = %(taken)s, error_column = 'auth_code'
      FROM authcodes_authcode c
     WHERE r.upload_id = %(upload)s AND r.error = '' AND c.code = r.code AND c.product_id <> %(product)s
"""
FIND_PRODUCT = """
    UPDATE authcodes_importrow r SET product_id = p.id
      FROM authcodes_product p
     WHERE r.upload_id = %(upload)s AND p.brand_id = %(brand)s AND p.sku = r.sku
"""
NO_PRODUCT = """
    UPDATE authcodes_importrow SET error = %(no_sku)s, error_column = 'product_sku'
     WHERE upload_id = %(upload)s AND error = '' AND product_id IS NULL
"""
NOT_SOLD = """
    UPDATE authcodes_importrow r SET error = %(not_sold)s, error_column = 'product_sku'
      FROM authcodes_product p
     WHERE r.upload_id = %(upload)s AND r.error = '' AND p.id = r.product_id AND NOT p.is_active
"""
# Codes of one batch have one length, so that their order is that of their numbers.
RANGE_SHAPE = """
    UPDATE authcodes_importrow r
       SET error = CASE WHEN length(r.code) <> length(r.code_end) THEN %(other_length)s
                        WHEN a.batch_id <> z.batch_id THEN %(two_batches)s ELSE %(reversed)s END,
           error_column = 'auth_code_end'
      FROM authcodes_authcode a, authcodes_authcode z
     WHERE r.upload_id = %(upload)s AND r.error = '' AND a.code = r.code AND z.code = r.code_end
       AND (a.batch_id <> z.batch_id OR r.code > r.code_end)
"""
RANGE_TWICE = """
    UPDATE authcodes_importrow r
       SET error = format(%(range_overlaps)s, t.before[2]), error_column = 'auth_code_start'
      FROM (SELECT r.id, r.code, max(ARRAY[r.code_end, r.line::text COLLATE "C"]) OVER (
                       PARTITION BY a.batch_id ORDER BY r.code, r.line
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
              FROM authcodes_importrow r JOIN authcodes_authcode a ON a.code = r.code
             WHERE r.upload_id = %(upload)s AND r.error = '') t
     WHERE r.id = t.id AND t.before[1] >= t.code
"""
# OFFSET 0: each range is looked up by itself in the index, whatever the planner thinks of many.
RANGE_TAKEN = """
    UPDATE authcodes_importrow r
       SET codes = t.codes, error = CASE WHEN t.taken THEN %(taken)s ELSE '' END,
           error_column = CASE WHEN t.taken THEN 'auth_code_start' ELSE '' END
      FROM (SELECT r.id, c.codes, c.taken
              FROM authcodes_importrow r
              JOIN authcodes_authcode a ON a.code = r.code
             CROSS JOIN LATERAL (
                   SELECT count(*) AS codes, coalesce(bool_or(c.product_id <> r.product_id), false) AS taken
                     FROM authcodes_authcode c
                    WHERE c.code BETWEEN r.code AND r.code_end AND c.batch_id = a.batch_id OFFSET 0) c
             WHERE r.upload_id = %(upload)s AND r.error = '') t
     WHERE r.id = t.id
"""
POINTS = """
    UPDATE authcodes_importrow SET error = %(points_refused)s, error_column = 'points_per_scan'
     WHERE upload_id = %(upload)s AND error = '' AND points_per_scan > %(most)s
"""
PRODUCT_POINTS = """
    UPDATE authcodes_importrow r SET error = %(product_refused)s, error_column = %(product_column)s
      FROM authcodes_product p
     WHERE r.upload_id = %(upload)s AND r.error = '' AND p.id = coalesce(%(product)s::bigint, r.product_id)
       AND p.redeem_point_value > %(most_of_product)s::int
"""
FORGET_FINDINGS = """
    UPDATE authcodes_importrow SET error = '', error_column = ''
     WHERE upload_id = %(upload)s AND error = %(taken)s
"""

_ENDS = ("auth_code_start", "auth_code_end")
OUR_WORDS = {
    "no_code": NO_CODE,
    "shortened": SHORTENED,
    "ambiguous": AMBIGUOUS,
    "rounded": ROUNDED_OFF,
    "code_twice": CODE_TWICE,
    "range_overlaps": RANGE_OVERLAPS,
    "other_length": OTHER_LENGTH,
    "two_batches": TWO_BATCHES,
    "reversed": REVERSED,
    "not_sold": PRODUCT_NOT_SOLD,
}


def check(upload: Import) -> None:
    """Write what is wrong with each row, once and in this order, on it. The caller owns the transaction."""
    facts = {
        "upload": upload.pk,
        "brand": upload.brand_id,
        "product": upload.product_id,
        "no_sku": NO_SKU,
        "taken": TAKEN,
        **{name: str(words) for name, words in OUR_WORDS.items()},
    }
    if upload.kind == Import.Kind.LIST:
        _run([*_find_codes("code", "auth_code"), (LIST_TWICE, {}), (LIST_TAKEN, {})], facts)
    else:
        finding = [*_find_codes("code", _ENDS[0]), *_find_codes("code_end", _ENDS[1])]
        ranges = [RANGE_SHAPE, RANGE_TWICE, RANGE_TAKEN]
        _run([(FIND_PRODUCT, {}), (NO_PRODUCT, {}), (NOT_SOLD, {}), *finding, *((each, {}) for each in ranges)], facts)


def check_points(upload: Import, by: User | None) -> int:
    """Mark the rows whose points, or whose product's, `by` may not give. Returns how many."""
    facts: dict[str, Any] = {
        "upload": upload.pk,
        "most": scan_value.max_points(brand=upload.brand, by=by) if by else -1,
        "points_refused": scan_value.why_not(brand=upload.brand, by=by),
        "product": upload.product_id,
        "most_of_product": scan_value.max_product_points(brand=upload.brand, by=by),
        "product_refused": scan_value.why_not_product(upload.brand),
        "product_column": "auth_code" if upload.kind == Import.Kind.LIST else "product_sku",
    }
    marked = 0
    with connection.cursor() as cursor:
        for statement in (POINTS,) if facts["most_of_product"] is None else (POINTS, PRODUCT_POINTS):
            cursor.execute(statement, facts)
            marked += cursor.rowcount
    return marked


def check_conflicts(upload: Import) -> None:
    """Look again at what may have changed since `check`: which codes have a product."""
    facts = {"upload": upload.pk, "product": upload.product_id, "taken": TAKEN}
    again = LIST_TAKEN if upload.kind == Import.Kind.LIST else RANGE_TAKEN
    _run([(FORGET_FINDINGS, {}), (again, {})], facts)


def _find_codes(field: str, column: str) -> list[tuple[str, dict[str, Any]]]:
    return [(statement.format(code=field), {"column": column}) for statement in (PAD, EXPAND, ROUNDED, FIND)]


def _run(statements: list[tuple[str, dict[str, Any]]], facts: Mapping[str, Any]) -> None:
    with connection.cursor() as cursor:
        for statement, more in statements:
            cursor.execute(statement, {**facts, **more})
