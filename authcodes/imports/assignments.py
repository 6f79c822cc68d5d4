"""What imports do to codes: the only code that assigns them by an import's rows, and takes that back."""

from typing import Any

from django.db import connection
from django.utils import timezone

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.models.code_history import CodeChange
from authcodes.models.imports import Import, ImportRow
from brands.models.people import User

Kind = CodeChange.Kind

# The codes that the good rows of an import name: `id`, and what its row wants of them. OFFSET 0 keeps the planner
# from joining ranges in any other way than one index search each.
IMPORTED = {
    Import.Kind.LIST.value: """
        SELECT c.id, %(product)s::bigint AS product_id, r.location, r.notes, r.points_per_scan
          FROM authcodes_importrow r JOIN authcodes_authcode c ON c.code = r.code AND c.brand_id = %(brand)s
         WHERE r.upload_id = %(upload)s AND r.error = ''
    """,
    Import.Kind.RANGES.value: """
        SELECT c.id, r.product_id, r.location, r.notes, r.points_per_scan
          FROM authcodes_importrow r
          JOIN authcodes_authcode a ON a.code = r.code AND a.brand_id = %(brand)s
         CROSS JOIN LATERAL (SELECT id FROM authcodes_authcode
                              WHERE code BETWEEN r.code AND r.code_end AND batch_id = a.batch_id OFFSET 0) c
         WHERE r.upload_id = %(upload)s AND r.error = ''
    """,
}
# An empty cell leaves what is there. A code of another product matches nothing: the caller counts.
ASSIGN_LIST = """
    UPDATE authcodes_authcode c
       SET product_id = %(product)s, inventory_location = coalesce(nullif(r.location, ''), c.inventory_location),
           notes = coalesce(nullif(r.notes, ''), c.notes)
      FROM authcodes_importrow r
     WHERE r.upload_id = %(upload)s AND r.error = '' AND c.code = r.code AND c.brand_id = %(brand)s
       AND (c.product_id IS NULL OR c.product_id = %(product)s)
"""
ASSIGN_RANGE = """
    UPDATE authcodes_authcode
       SET product_id = %(product)s, location = coalesce(nullif(%(location)s, ''), location),
           points_per_scan = coalesce(%(points)s::int, points_per_scan)
     WHERE code BETWEEN %(first)s AND %(last)s AND brand_id = %(brand)s
       AND batch_id = (SELECT batch_id FROM authcodes_authcode WHERE code = %(first)s)
       AND (product_id IS NULL OR product_id = %(product)s)
"""
# Only codes that still hold what the import gave them, and only what it gave.
UNASSIGN = """
    UPDATE authcodes_authcode c
       SET product_id = o.product_id,
           {place} = CASE WHEN t.location = '' THEN c.{place} ELSE coalesce(o.{place}, '') END,
           notes = CASE WHEN t.notes = '' THEN c.notes ELSE coalesce(o.notes, '') END,
           points_per_scan = CASE WHEN t.points_per_scan IS NULL THEN c.points_per_scan ELSE o.points_per_scan END
      FROM ({targets}) t
      LEFT JOIN authcodes_importchange o ON o.upload_id = %(upload)s AND o.auth_code_id = t.id
     WHERE c.id = t.id AND c.product_id = t.product_id AND c.scan_count = 0 AND t.location IN ('', c.{place})
       AND t.notes IN ('', c.notes) AND (t.points_per_scan IS NULL OR t.points_per_scan = c.points_per_scan)
"""
SCANNED = "SELECT EXISTS (SELECT 1 FROM ({targets}) t JOIN authcodes_authcode c USING (id) WHERE c.scan_count > 0)"
PLACES = {Import.Kind.LIST.value: "inventory_location", Import.Kind.RANGES.value: "location"}


def import_facts(upload: Import) -> dict[str, Any]:
    """The parameters that the statements of IMPORTED take."""
    return {"upload": upload.pk, "brand": upload.brand_id, "product": upload.product_id}


def assign_imported(*, upload: Import, by: User | None = None) -> int:
    """Give the codes of an import's good rows their product, place, notes and points, and note it in their history.

    Returns how many codes; fewer than the rows name means that some have another product. The caller owns the
    transaction, and rolls it back then.
    """
    history.note_import(CodeChangeContext(Kind.IMPORTED, timezone.now(), by), upload=upload)
    with connection.cursor() as cursor:
        if upload.kind == Import.Kind.LIST:
            cursor.execute(ASSIGN_LIST, import_facts(upload))
            return int(cursor.rowcount)
        assigned = 0
        ranges = ImportRow.objects.filter(upload=upload, error="").order_by("code")
        for row in ranges.iterator():
            facts = {"product": row.product_id, "location": row.location, "points": row.points_per_scan}
            cursor.execute(ASSIGN_RANGE, {**import_facts(upload), **facts, "first": row.code, "last": row.code_end})
            assigned += cursor.rowcount
        return assigned


def scanned_imported(*, upload: Import) -> bool:
    """Whether any code of the import's good rows was ever scanned."""
    with connection.cursor() as cursor:
        cursor.execute(SCANNED.format(targets=IMPORTED[upload.kind]), import_facts(upload))
        found: bool = cursor.fetchone()[0]
        return found


def unassign_imported(*, upload: Import, by: User | None = None) -> int:
    """Give the codes of an import back what they held before, and note it. Returns how many; changed and scanned stay.

    The caller owns the transaction, and rolls it back when some stay.
    """
    history.note_import(CodeChangeContext(Kind.IMPORT_UNDONE, timezone.now(), by), upload=upload)
    statement = UNASSIGN.format(targets=IMPORTED[upload.kind], place=PLACES[upload.kind])
    with connection.cursor() as cursor:
        cursor.execute(statement, import_facts(upload))
        return int(cursor.rowcount)
