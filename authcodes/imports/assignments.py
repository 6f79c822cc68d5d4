"""What imports do to codes: the only code that assigns them by an import's rows, and takes that back."""

from typing import Any

from django.utils import timezone

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.models.code_history import CodeChange
from authcodes.models.imports import Import, ImportRow
from brands.models.people import User
from core.db.statements import command, part, query_values

Kind = CodeChange.Kind

# The codes that the good rows of an import name: `id`, and what its row wants of them.
IMPORTED = {
    Import.Kind.LIST.value: part("authcodes/imports/sql/codes_of_list.sql"),
    Import.Kind.RANGES.value: part("authcodes/imports/sql/codes_of_ranges.sql"),
}
PLACES = {Import.Kind.LIST.value: "inventory_location", Import.Kind.RANGES.value: "location"}
ASSIGN_LIST = command("authcodes/imports/sql/assign_list.sql")
ASSIGN_RANGE = command("authcodes/imports/sql/assign_range.sql")
INSERT_CHANGES = {
    kind: command("authcodes/imports/sql/insert_changes.sql", targets=targets) for kind, targets in IMPORTED.items()
}
UNASSIGN_CODES = {
    kind: command("authcodes/imports/sql/unassign_codes.sql", targets=targets, place=PLACES[kind])
    for kind, targets in IMPORTED.items()
}
FETCH_WHETHER_SCANNED = {
    kind: query_values("authcodes/imports/sql/fetch_whether_scanned.sql", "is_scanned", targets=targets)
    for kind, targets in IMPORTED.items()
}


def import_summary(upload: Import) -> dict[str, Any]:
    """The parameters that the statements on IMPORTED take."""
    return {"upload": upload.pk, "brand": upload.brand_id, "product": upload.product_id}


def assign_imported(*, upload: Import, by: User | None = None) -> int:
    """Give the codes of an import's good rows their product, place, notes and points, and note it in their history.

    Returns how many codes; fewer than the rows name means that some have another product. The caller owns the
    transaction, and rolls it back then.
    """
    history.note_import(CodeChangeContext(Kind.IMPORTED, timezone.now(), by), upload=upload)
    if upload.kind == Import.Kind.LIST:
        return ASSIGN_LIST.run(**import_summary(upload))
    assigned = 0
    for row in ImportRow.objects.filter(upload=upload, error="").order_by("code").iterator():
        values = {"product": row.product_id, "location": row.location, "points": row.points_per_scan}
        assigned += ASSIGN_RANGE.run(**{**import_summary(upload), **values, "first": row.code, "last": row.code_end})
    return assigned


def note_imported(*, upload: Import) -> None:
    """Note what the codes of an import's good rows hold, to give it back when the import is undone.

    The caller owns the transaction.
    """
    INSERT_CHANGES[upload.kind].run(**import_summary(upload))


def scanned_imported(*, upload: Import) -> bool:
    """Whether any code of the import's good rows was ever scanned."""
    return bool(FETCH_WHETHER_SCANNED[upload.kind].first(**import_summary(upload)))


def unassign_imported(*, upload: Import, by: User | None = None) -> int:
    """Give the codes of an import back what they held before, and note it. Returns how many; changed and scanned stay.

    The caller owns the transaction, and rolls it back when some stay.
    """
    history.note_import(CodeChangeContext(Kind.IMPORT_UNDONE, timezone.now(), by), upload=upload)
    return UNASSIGN_CODES[upload.kind].run(**import_summary(upload))
