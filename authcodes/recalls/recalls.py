"""Recalls: the only code that calls batches back, and takes that back."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from authcodes.codes import history
from authcodes.codes.history import CodeChangeContext
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.code_history import CodeChange
from authcodes.models.recalls import WithdrawnRecall
from authcodes.recalls import notifications
from brands.models.people import User
from events import publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

Kind = CodeChange.Kind


def recall_batch(
    *, batch: BatchRange, recall_id: str, contact: str, message: str, reason: str, at: datetime, by: User | None = None
) -> Recall:
    """Call a batch back, once: from the commit on every scan of it says so and earns nothing.

    Raises BatchRejected when it is recalled already.
    """
    details = {"recall_id": recall_id, "contact": contact, "message": message, "reason": reason}
    with transaction.atomic():
        recall, new = Recall.objects.get_or_create(
            batch=batch, defaults={**details, "recalled_by": by, "recalled_at": at}
        )
        if not new:
            message = _("This batch is already recalled (%(recall)s).") % {"recall": recall.recall_id}
            raise BatchRejected(message, details={"field": "batch"})
        history.note_batch(CodeChangeContext(Kind.RECALLED, at, by, reason, detail=recall_id), batch=batch)
        publish_recall(recall)
    return recall


def publish_recall(recall: Recall) -> None:
    """Tell the brand's webhooks, in the transaction of the recall."""
    batch, kind = recall.batch, WebhookType.BATCH_RECALLED
    if not webhook_events.listens(brand_id=batch.brand_id, kind=kind):
        return
    data = {
        "recall_id": recall.recall_id,
        "contact": recall.contact,
        "message": recall.message,
        "batch": {"id": batch.pk, "name": batch.range_name, "prefix": batch.prefix, "quantity": batch.quantity},
        "product": {"id": str(batch.product_id), "name": batch.product.title, "sku": batch.product.sku}
        if batch.product
        else None,
    }
    details = webhook_events.webhook_event(kind, data, brand_id=batch.brand_id, at=recall.recalled_at)
    publishing.publish(messages=[details], brand_id=batch.brand_id, at=recall.recalled_at)


def withdraw_recall(*, recall: Recall, reason: str, at: datetime, by: User) -> WithdrawnRecall:
    """Take a recall back: its codes scan as before from the commit on, and what was said is kept.

    Raises BatchRejected without a reason, or when somebody else has withdrawn it.
    """
    if not reason.strip():
        message = _("Enter a reason for withdrawing the recall.")
        raise BatchRejected(message, details={"field": "reason"})
    with transaction.atomic():
        locked = Recall.objects.select_for_update(of=("self",)).select_related("batch").filter(pk=recall.pk).first()
        if locked is None:
            message = _("This recall has already been withdrawn.")
            raise BatchRejected(message)
        withdrawn = WithdrawnRecall.objects.create(
            batch_id=locked.batch_id,
            recall_id=locked.recall_id,
            contact=locked.contact,
            message=locked.message,
            reason=locked.reason,
            recalled_by_id=locked.recalled_by_id,
            recalled_at=locked.recalled_at,
            withdrawn_by=by,
            withdrawn_at=at,
            withdrawal_reason=reason,
        )
        notifications.withdraw(locked, at=at)
        locked.delete()
        history.note_batch(
            CodeChangeContext(Kind.RECALL_WITHDRAWN, at, by, reason, detail=locked.recall_id), batch=locked.batch
        )
    return withdrawn
