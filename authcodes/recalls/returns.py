"""Returned pieces of recalled products: the only code that writes RecallReturn."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from authcodes.errors import BatchRejected
from authcodes.models.batches import Recall
from authcodes.models.recalls import RecallReturn
from brands.models.people import User
from brands.user_mentions import Mentions, replace_mentions

MAX_LISTED_LINES = 20  # the newest, on the page of a recall
# The trigger allows only changes to notes, and only while the transaction is marked as an erasure.
ERASING = "SELECT set_config('codes.erasing', %s, true)"


@dataclass(frozen=True, slots=True)
class Returns:
    """How many pieces were returned, and the latest lines."""

    pieces: int
    lines: list[RecallReturn]


def enter(
    *, recall: Recall, pieces: int, returned_on: date, note: str, form_id: UUID, by: User, at: datetime
) -> RecallReturn:
    """Add pieces returned on a day; a negative number corrects earlier lines. A form sent twice makes one line.

    Raises BatchRejected for a day after today or before the recall, and for a correction below zero in total.
    """
    if returned_on > recall.brand.day_at(at):
        raise BatchRejected(_("Enter a day that is not in the future."), details={"field": "returned_on"})
    if returned_on < recall.brand.day_at(recall.recalled_at):
        message = _("Enter the day of the recall (%(day)s) or a later day.")
        day = recall.brand.day_at(recall.recalled_at).isoformat()
        raise BatchRejected(message % {"day": day}, details={"field": "returned_on"})
    try:
        with transaction.atomic():
            # One at a time, so that corrections cannot make the total negative.
            locked = Recall.objects.select_for_update(of=("self",), no_key=True).filter(pk=recall.pk).first()
            if locked is None:
                raise BatchRejected(_("This recall has been withdrawn."))
            if known := RecallReturn.objects.filter(brand=recall.brand_id, form_id=form_id).first():
                return same_line(known, recall=recall, pieces=pieces, returned_on=returned_on, note=note)
            before = pieces_of(recall)
            if not pieces or before + pieces < 0:
                message = _("Enter a number of pieces other than 0. You can subtract at most %(pieces)d.")
                raise BatchRejected(message % {"pieces": before}, details={"field": "pieces"})
            return RecallReturn.objects.create(
                brand_id=recall.brand_id,
                recall=recall,
                pieces=pieces,
                returned_on=returned_on,
                note=note,
                entered_by=by,
                entered_at=at,
                form_id=form_id,
            )
    except IntegrityError:
        known = RecallReturn.objects.get(brand=recall.brand_id, form_id=form_id)
        return same_line(known, recall=recall, pieces=pieces, returned_on=returned_on, note=note)


def same_line(known: RecallReturn, *, recall: Recall, pieces: int, returned_on: date, note: str) -> RecallReturn:
    """The line that the form has already entered. Raises BatchRejected if its values differ now."""
    if (known.recall_id, known.pieces, known.returned_on, known.note) != (recall.pk, pieces, returned_on, note):
        message = _("These pieces have already been entered: %(line)s. To correct them, enter another line.")
        raise BatchRejected(message % {"line": known}, details={"is_entered": True})
    return known


def pieces_of(recall: Recall) -> int:
    total: int | None = RecallReturn.objects.filter(recall=recall).aggregate(total=Sum("pieces"))["total"]
    return total or 0


def of(recall: Recall) -> Returns:
    """Two queries."""
    lines = RecallReturn.objects.filter(recall=recall).select_related("entered_by").order_by("-id")[:MAX_LISTED_LINES]
    return Returns(pieces_of(recall), list(lines))


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> None:
    """For an erasure: remove the person from notes written by staff."""
    rows = list(RecallReturn.objects.filter(brand_id=brand_id, note__iregex=mentions.anywhere_in_sql))
    for row in rows:
        row.note = replace_mentions(row.note, mentions.anywhere, pseudonym)[:500]
    with connection.cursor() as cursor:
        cursor.execute(ERASING, ["on"])
        RecallReturn.objects.bulk_update(rows, ["note"], batch_size=500)
        cursor.execute(ERASING, ["off"])
