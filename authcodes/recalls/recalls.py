"""Recalls: the only code that recalls batches, adds codes to a recall, and withdraws it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from authcodes.codes import batches, history
from authcodes.codes.history import CodeChangeContext
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.code_history import CodeChange
from authcodes.models.recalls import WithdrawnBatch, WithdrawnRecall
from authcodes.recalls import notifications, scopes
from authcodes.recalls.scopes import Part, Scope
from brands.models.people import User
from events import publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

Kind = CodeChange.Kind


def recall_batch(
    *, batch: BatchRange, recall_id: str, contact: str, message: str, reason: str, at: datetime, by: User | None = None
) -> Recall:
    """Recall a batch, once. Raises BatchRejected if it is already recalled."""
    scope = Scope((Part(batch),))
    return recall(scope=scope, recall_id=recall_id, contact=contact, message=message, reason=reason, at=at, by=by)


def recall(
    *,
    scope: Scope,
    recall_id: str,
    contact: str,
    message: str,
    reason: str,
    at: datetime,
    by: User | None = None,
    translations: Mapping[str, Mapping[str, str]] | None = None,
) -> Recall:
    """Recall codes, once: from the commit on, every scan of them reports it and earns nothing.

    The batches are locked in the order of their ids: of two recalls with a common batch, the second finds it recalled.
    Raises BatchRejected if some batches are already recalled; then none is.
    """
    with transaction.atomic():
        locked = lock([part.batch.pk for part in scope.parts])
        if len(locked) < len(scope.parts):
            raise BatchRejected(_("Some of these batches no longer exist."), details={"field": "batch"})
        taken = [batch for batch in locked if batch.recall_id is not None]
        if taken:
            raise BatchRejected(taken_text(taken), details={"field": "batch"})
        made = Recall.objects.create(
            brand_id=locked[0].brand_id,
            recall_id=recall_id,
            contact=contact,
            message=message,
            reason=reason,
            recalled_by=by,
            recalled_at=at,
            translations=translations or {},
        )
        context = CodeChangeContext(Kind.RECALLED, at, by, reason, detail=recall_id)
        for part in scope.parts:
            batches.set_recall(batch=part.batch, recall=made, first=part.first, last=part.last, at=at)
            note(context, part)
        publish_recall(made, scope, at=at)
    return made


def add_codes(*, recall: Recall, added: Scope, reason: str, at: datetime, by: User) -> Scope:
    """Recall more codes with a recall in force; its message stays. Returns its whole scope.

    Locks the recall, then the batches. Raises BatchRejected without a reason, for codes that are already recalled or of
    a product that the recall does not have, and if the recall has been withdrawn.
    """
    if not reason.strip():
        raise BatchRejected(_("Enter a reason for adding codes to the recall."), details={"field": "reason"})
    with transaction.atomic():
        made = Recall.objects.select_for_update(of=("self",), no_key=True).filter(pk=recall.pk).first()
        if made is None:
            raise BatchRejected(_("This recall has been withdrawn."))
        locked = {batch.pk: batch for batch in lock([part.batch.pk for part in added.parts])}
        if len(locked) < len(added.parts):
            raise BatchRejected(_("Some of these batches no longer exist."), details={"field": "batch"})
        taken = [batch for batch in locked.values() if batch.recall_id not in {None, made.pk}]
        if taken:
            raise BatchRejected(taken_text(taken), details={"field": "batch"})
        scope = scopes.of_recall(made)
        changed = scopes.added_to(scope, added)
        result = scopes.union(scope, changed)
        context = CodeChangeContext(Kind.RECALLED, at, by, reason, detail=made.recall_id)
        for part in changed.parts:
            batches.set_recall(batch=part.batch, recall=made, first=part.first, last=part.last, at=at)
        for part in added.parts:
            note(context, part)
        publish_recall(made, changed, at=at)
    return result


def lock(ids: Sequence[int]) -> list[BatchRange]:
    rows = BatchRange.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=ids)
    return list(rows.select_related("recall").order_by("pk"))


def taken_text(taken: Sequence[BatchRange]) -> str:
    """The message for batches that are already recalled, with their recalls."""
    if len(taken) == 1:
        return _("This batch is already recalled (%(recall)s).") % {"recall": taken[0].recall}
    message = _("Some batches are already recalled: %(batches)s. Nothing was recalled.")
    return message % {"batches": scopes.recalled_text(taken)}


def note(context: CodeChangeContext, part: Part) -> None:
    if part.last:
        history.note_run(context, batch=part.batch, first=part.first, last=part.last, codes=part.codes)
    else:
        history.note_batch(context, batch=part.batch)


def publish_recall(recall: Recall, scope: Scope, *, at: datetime) -> None:
    """Publish a webhook event for each batch, in the transaction of the recall."""
    kind = WebhookType.BATCH_RECALLED
    if not webhook_events.listens(brand_id=recall.brand_id, kind=kind):
        return
    events = [
        webhook_events.webhook_event(kind, event_data(recall, part), brand_id=recall.brand_id, at=at)
        for part in scope.parts
    ]
    publishing.publish(messages=events, brand_id=recall.brand_id, at=at)


def event_data(recall: Recall, part: Part) -> dict[str, object]:
    batch = part.batch
    return {
        "recall_id": recall.recall_id,
        "contact": recall.contact,
        "message": recall.message,
        "batch": {"id": batch.pk, "name": batch.range_name, "prefix": batch.prefix, "quantity": batch.quantity},
        "codes": {"first": part.first, "last": part.last} if part.last else None,
        "product": {"id": str(batch.product_id), "name": batch.product.title, "sku": batch.product.sku}
        if batch.product
        else None,
    }


def withdraw_recall(*, recall: Recall, reason: str, at: datetime, by: User) -> WithdrawnRecall:
    """Withdraw a recall: from the commit on its codes scan as before, and its texts are retained.

    Raises BatchRejected without a reason, or if the recall has already been withdrawn.
    """
    if not reason.strip():
        message = _("Enter a reason for withdrawing the recall.")
        raise BatchRejected(message, details={"field": "reason"})
    with transaction.atomic():
        locked = Recall.objects.select_for_update(of=("self",)).filter(pk=recall.pk).first()
        if locked is None:
            message = _("This recall has already been withdrawn.")
            raise BatchRejected(message)
        lock(list(locked.batches.values_list("pk", flat=True)))  # after the recall, as in add_codes
        scope = scopes.of_recall(locked)
        withdrawn = WithdrawnRecall.objects.create(
            brand_id=locked.brand_id,
            former_id=locked.pk,
            recall_id=locked.recall_id,
            contact=locked.contact,
            message=locked.message,
            translations=locked.translations,
            reason=locked.reason,
            recalled_by_id=locked.recalled_by_id,
            recalled_at=locked.recalled_at,
            withdrawn_by=by,
            withdrawn_at=at,
            withdrawal_reason=reason,
        )
        WithdrawnBatch.objects.bulk_create(
            WithdrawnBatch(
                withdrawn_recall=withdrawn, batch=part.batch, recalled_from=part.first, recalled_to=part.last
            )
            for part in scope.parts
        )
        notifications.withdraw(locked, at=at)
        batches.clear_recall(locked)
        locked.delete()
        context = CodeChangeContext(Kind.RECALL_WITHDRAWN, at, by, reason, detail=withdrawn.recall_id)
        for part in scope.parts:
            note(context, part)
    return withdrawn
