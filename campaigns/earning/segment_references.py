"""The segments that rules and campaigns refer to: only the brand's own, and none that is about to be deleted."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.db.advisory_locks import LockOfRow, lock_row
from loyalty.models.programme.segments import Segment

FIELD = "segment"


def ids_in(conditions: Any) -> set[int]:
    """The segments that a rule's conditions name."""
    return {each for row in _rows(conditions) for each in _ids(row.get("value"))}


def _rows(part: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(part, Mapping):
        return
    if part.get("field") == FIELD:
        yield part
    for parts in part.values():
        for each in parts if isinstance(parts, list) else ():
            yield from _rows(each)


def _ids(value: Any) -> Iterable[int]:
    values = value if isinstance(value, list) else ()
    return (int(each) for each in values if str(each).isascii() and str(each).isdigit())


def lock_references(brand_id: int) -> None:
    """Serialise adding a reference to a segment and deleting a segment. Joins a transaction."""
    lock_row(LockOfRow.SEGMENT_REFERENCES, brand_id)


def unknown(brand_id: int, segment_ids: set[int]) -> set[int]:
    """The segments that the brand does not have. The others cannot be deleted until the caller's transaction ends."""
    if not segment_ids:
        return set()
    lock_references(brand_id)
    return segment_ids - set(Segment.objects.filter(brand=brand_id, pk__in=segment_ids).values_list("pk", flat=True))
