"""Which codes of a batch are in the shops: the only code that notes that staff handed a stretch over, or undoes that.

Nothing else knows: a scan says that somebody has a product, not that it is for sale, and what was printed may lie in a
drawer.
"""

from datetime import date, datetime

from django.db import transaction
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.codes.ranges import CodeRange
from authcodes.codes.spans import Span, inside, joined, size_of, span_of, without
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from brands.models.people import User

Kind = CodeChange.Kind
MAX_PLACE_LENGTH = 120


def delivered(batch: BatchRange) -> list[Span]:
    """The numbers that are in the shops, as the batch's history tells. One query."""
    rows = CodeChange.objects.filter(batch=batch, kind__in=[Kind.DELIVERED, Kind.DELIVERY_UNDONE])
    spans: list[Span] = []
    for kind, first, last in rows.order_by("pk").values_list("kind", "first_code", "last_code"):
        span = span_of(batch, first, last)
        if span is None:
            continue
        if kind == Kind.DELIVERED:
            spans.append(span)
        else:
            spans = without(joined(spans), span)
    return joined(spans)


def deliver(*, codes: CodeRange, day: date, place: str, by: User | None, at: datetime) -> int:
    """Note that codes were handed over to shops on a day. Returns how many were not in the shops before."""
    on = _("Delivered on %(day)s") % {"day": date_format(day, "j M Y")}
    return _note(CodeChangeContext(Kind.DELIVERED, at, by, detail="\n".join(filter(None, [on, place.strip()]))), codes)


def undo_delivery(*, codes: CodeRange, reason: str, by: User | None, at: datetime) -> int:
    """Note that codes are not in the shops after all. Returns how many were said to be."""
    return _note(CodeChangeContext(Kind.DELIVERY_UNDONE, at, by, reason=reason.strip()), codes)


def _note(change_context: CodeChangeContext, codes: CodeRange) -> int:
    """Two who note the same at the same moment note it once. Raises BatchRejected."""
    span = span_of(codes.batch, codes.first, codes.last)
    if span is None:
        message = _("The codes of this batch have no numbers, so they are delivered all at once. Choose all of them.")
        raise BatchRejected(message, details={"field": "first"})
    with transaction.atomic():
        BatchRange.objects.select_for_update(of=("self",), no_key=True).get(pk=codes.batch.pk)
        already = size_of(inside(delivered(codes.batch), span))
        changed = span.size - already if change_context.kind == Kind.DELIVERED else already
        if changed:
            history.note_run(change_context, batch=codes.batch, first=codes.first, last=codes.last, codes=changed)
    return changed
