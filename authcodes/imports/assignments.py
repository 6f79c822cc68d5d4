"""The effects of imports on codes: the only code that assigns codes from an import's rows, and undoes that."""

from typing import Any

from django.utils import timezone

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.models.code_history import CodeChange
from authcodes.models.imports import Import, ImportRow
from brands.models.people import User
from core.db.statements import command, part, query_values

Kind = CodeChange.Kind

# The codes in the good rows of an import: `id`, and the values of the row.
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


def parameters_of(upload: Import) -> dict[str, Any]:
    """The parameters of the statements on IMPORTED."""
    return {"upload": upload.pk, "brand": upload.brand_id, "product": upload.product_id}


def assign_imported(*, upload: Import, by: User | None = None) -> int:
    """Assign the product, place, notes and points of an import's good rows, and record it in the codes' history.

    Returns how many codes. Fewer than in the rows means that some have another product; then the caller, who owns the
    transaction, rolls it back.
    """
    history.note_import(CodeChangeContext(Kind.IMPORTED, timezone.now(), by), upload=upload)
    if upload.kind == Import.Kind.LIST:
        return ASSIGN_LIST.run(**parameters_of(upload))
    assigned = 0
    for row in ImportRow.objects.filter(upload=upload, error="").order_by("code").iterator():
        values = {"product": row.product_id, "location": row.location, "points": row.points_per_scan}
        assigned += ASSIGN_RANGE.run(**{**parameters_of(upload), **values, "first": row.code, "last": row.code_end})
    return assigned


def note_imported(*, upload: Import) -> None:
    """Store the current values of the codes in an import's good rows, so that the import can be undone.

    The caller owns the transaction.
    """
    INSERT_CHANGES[upload.kind].run(**parameters_of(upload))


def scanned_imported(*, upload: Import) -> bool:
    """Whether any code in the import's good rows has been scanned."""
    return bool(FETCH_WHETHER_SCANNED[upload.kind].first(**parameters_of(upload)))


def unassign_imported(*, upload: Import, by: User | None = None) -> int:
    """Restore earlier values of an import's codes, and record it; skips changed and scanned codes. Returns how many.

    The caller owns the transaction, and rolls it back if some codes are skipped.
    """
    history.note_import(CodeChangeContext(Kind.IMPORT_UNDONE, timezone.now(), by), upload=upload)
    return UNASSIGN_CODES[upload.kind].run(**parameters_of(upload))
