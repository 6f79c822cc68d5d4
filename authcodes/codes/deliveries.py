"""Which codes of a batch are in the shops: the only code that records or undoes a delivery to shops.

Nothing else has this information: a scan shows that a customer has a product, and printed codes may still lie in a
drawer.
"""

from datetime import date, datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.codes.ranges import CodeRange
from authcodes.codes.spans import Span, add, inside, remove, size_of, span_of
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from brands.models.people import User
from core.numbers import grouped

Kind = CodeChange.Kind
MAX_PLACE_LENGTH = 120
MAX_RANGES = 2000  # separate ranges of a batch; each of its pages reads them


def delivered(batch: BatchRange) -> list[Span]:
    """The numbers in the shops, according to the batch's history. One query."""
    rows = CodeChange.objects.filter(batch=batch, kind__in=[Kind.DELIVERED, Kind.DELIVERY_UNDONE])
    spans: list[Span] = []
    for kind, first, last in rows.order_by("pk").values_list("kind", "first_code", "last_code"):
        span = span_of(batch, first, last)
        if span is not None:
            _apply(kind, spans, span)
    return spans


def _apply(kind: str, spans: list[Span], span: Span) -> None:
    change = add if kind == Kind.DELIVERED else remove
    change(spans, span)


def deliver(*, codes: CodeRange, day: date, place: str, by: User | None, at: datetime) -> int:
    """Record that codes were delivered to shops on a day. Returns how many were not in the shops before."""
    on = gettext_noop("Delivered on %(day)s") % {"day": day.isoformat()}
    return _note(CodeChangeContext(Kind.DELIVERED, at, by, detail="\n".join(filter(None, [on, place.strip()]))), codes)


def undo_delivery(*, codes: CodeRange, reason: str, by: User | None, at: datetime) -> int:
    """Record that codes are not in the shops after all. Returns how many were in the shops."""
    return _note(CodeChangeContext(Kind.DELIVERY_UNDONE, at, by, reason=reason.strip()), codes)


def _note(change_context: CodeChangeContext, codes: CodeRange) -> int:
    """Record a delivery under a lock on the batch, so that concurrent requests record it once. Raises BatchRejected."""
    span = span_of(codes.batch, codes.first, codes.last)
    if span is None:
        message = _("The codes of this batch have no numbers, so they are delivered all at once. Choose all of them.")
        raise BatchRejected(message, details={"field": "first"})
    with transaction.atomic():
        BatchRange.objects.select_for_update(of=("self",), no_key=True).get(pk=codes.batch.pk)
        spans = delivered(codes.batch)
        already, ranges = size_of(inside(spans, span)), len(spans)
        _apply(change_context.kind, spans, span)
        if len(spans) > max(ranges, MAX_RANGES):
            raise _too_many(change_context.kind)
        changed = span.size - already if change_context.kind == Kind.DELIVERED else already
        if changed:
            history.note_run(change_context, batch=codes.batch, first=codes.first, last=codes.last, codes=changed)
    return changed


def _too_many(kind: CodeChange.Kind) -> BatchRejected:
    message = _("This batch has %(number)s separate ranges in the shops already. Mark whole ranges, not single codes.")
    if kind == Kind.DELIVERY_UNDONE:
        message = _(
            "This batch has %(number)s separate ranges in the shops already. Undo whole deliveries, not single codes."
        )
    return BatchRejected(message % {"number": grouped(MAX_RANGES)}, details={"field": "first"})
