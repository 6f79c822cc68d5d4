"""Broadcasts from draft to sent: planning, beginning and cancelling. Only this module and `sending` change their state.

Lock order: the turn of the brand's segments, the broadcast's row, the turn of the brand's quotas. A job that ends locks
its row before the broadcast's, so code that holds the broadcast's lock cancels the job after the commit.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.models.people import User
from brands.staff_login import staff
from campaigns.broadcasts import texts
from campaigns.earning import segment_references
from core import languages
from core.errors import DomainError, Invalid
from jobs import queue
from jobs.models import Job
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.notifications import batching, delivery

State = Broadcast.State
KIND = "send-broadcast"
MAX_AHEAD = timedelta(days=366)
AT_ONCE = 100  # begun in one run of the task
WAITING = (State.PLANNED, State.SENDING)
STARTABLE = (State.DRAFT, State.FAILED)
# Why a broadcast's state does not allow an action.
STATE_MESSAGES = {
    State.DRAFT: gettext_lazy("This broadcast is now a draft again."),
    State.PLANNED: gettext_lazy("This broadcast is now planned."),
    State.SENDING: gettext_lazy("This broadcast is now being sent."),
    State.SENT: gettext_lazy("This broadcast has already been sent."),
    State.CANCELLED: gettext_lazy("This broadcast was cancelled."),
    State.FAILED: gettext_lazy("This broadcast was interrupted."),
}


def save(broadcast: Broadcast) -> None:
    """Store a draft. Owns the transaction. Raises Invalid if its segment is gone or it is no longer a draft."""
    with transaction.atomic():
        chosen = {broadcast.segment_id} if broadcast.segment_id else set()
        if segment_references.unknown(broadcast.brand_id, chosen):
            raise Invalid(_("This segment was deleted. Choose another one."), details={"field": "segment"})
        broadcast.segment_name = broadcast.segment.name if broadcast.segment else ""
        if broadcast.pk:
            locked(broadcast.pk, State.DRAFT)
        broadcast.save()


def send(*, broadcast: Broadcast, by: User | None, at: datetime) -> Broadcast:
    """Begin to send a draft, plan it for its `send_at`, or resume an interrupted one. Owns the transaction.

    Raises Invalid if it cannot be sent or was sent already, and QuotaReached above the brand's daily quota of jobs.
    """
    with transaction.atomic():
        segment_references.lock_references(broadcast.brand_id)
        row = locked(broadcast.pk, *STARTABLE)
        texts.check_ready(row)
        row.sent_by, row.problem = by, ""
        if row.send_at and row.state == State.DRAFT:
            check_moment(row.send_at, at=at)
            row.state, row.next_at = State.PLANNED, row.send_at
        else:
            row.state, row.next_at = State.SENDING, None
            row.job = queue.start(by=by, **job_of(row))
        row.save()
    return row


def check_moment(moment: datetime, *, at: datetime) -> None:
    if moment <= at:
        raise Invalid(
            _("This date and time is in the past. Choose a later one, or none to send the broadcast now."),
            details={"field": "send_at"},
        )
    if moment > at + MAX_AHEAD:
        raise Invalid(_("Choose a moment within a year."), details={"field": "send_at"})


def job_of(row: Broadcast) -> dict[str, Any]:
    title = gettext_noop("Send “%(name)s”") % {"name": row.name}
    return {"brand": row.brand, "kind": KIND, "title": title, "parameters": {"broadcast_id": row.pk}}


def begin_due(*, at: datetime) -> int:
    """Begin broadcasts that are due, and resume those that waited for a new day; returns how many.

    Takes one of each brand per call, so that a brand that plans many at once does not delay the others.
    """
    due = Broadcast.objects.filter(next_at__lte=at, state__in=WAITING)
    first = due.order_by("brand_id", "next_at", "pk").distinct("brand_id").values_list("pk", flat=True)
    return sum(begin_planned(pk, at=at) for pk in list(first[:AT_ONCE]))


def begin_planned(pk: int, *, at: datetime) -> bool:
    """Begin one broadcast. False: it was begun already, or its `problem` says why not. Owns the transaction."""
    with transaction.atomic():
        rows = Broadcast.objects.select_for_update(of=("self",), skip_locked=True).select_related("brand", "sent_by")
        row = rows.filter(pk=pk, next_at__lte=at, state__in=WAITING).first()
        if row is None:
            return False
        row.next_at = None
        with languages.override(staff.language_of(row.sent_by, brand_id=row.brand_id)):
            try:
                texts.check_ready(row)
            except DomainError as error:
                row.state, row.problem = State.FAILED, error.message
            else:
                row.state = State.SENDING
                row.job = queue.store(by=row.sent_by, **job_of(row))  # broadcasts have their own quota
        row.save()
        return row.state == State.SENDING


def back_to_draft(*, broadcast: Broadcast) -> None:
    """Cancel the plan, so that the broadcast can be edited. Owns the transaction. Raises Invalid once it has begun."""
    with transaction.atomic():
        row = locked(broadcast.pk, State.PLANNED)
        row.state, row.next_at = State.DRAFT, None
        row.save(update_fields=["state", "next_at"])


def cancel(*, broadcast: Broadcast, at: datetime) -> int:
    """Stop whatever no channel has taken yet, permanently. Owns the transaction.

    Returns how many members get nothing as a result. Raises Invalid if the broadcast is not being sent.
    """
    with transaction.atomic():
        row = locked(broadcast.pk, State.SENDING, State.FAILED, State.SENT)
        spared = stop(row, at=at)
        if row.job_id:
            transaction.on_commit(partial(cancel_job, row.job_id))
    return spared


def stop(row: Broadcast, *, at: datetime) -> int:
    """Stop the notifications, then the deliveries that a worker has just created. Call with the row locked."""
    spared = batching.withdraw(brand_id=row.brand_id, key=row.key, at=at)
    spared += delivery.withdraw(brand_id=row.brand_id, key=row.key, at=at)
    row.state, row.next_at, row.finished_at, row.figures = State.CANCELLED, None, at, None
    row.save(update_fields=["state", "next_at", "finished_at", "figures"])
    return spared


def cancel_job(job_id: int) -> None:
    if job := Job.objects.unfinished().filter(pk=job_id).first():
        queue.cancel(job=job)


def on_job_end(job: Job) -> None:
    """Cancelling the job cancels the broadcast. If the job failed, the broadcast waits for staff to resume it."""
    rows = Broadcast.objects.select_for_update(of=("self",))
    row = rows.filter(pk=job.parameters["broadcast_id"], job=job.pk, state=State.SENDING).first()
    if row is None or job.status == Job.Status.DONE:
        return
    if job.status == Job.Status.CANCELLED:
        stop(row, at=job.finished_at or row.created_at)
        return
    last_line = job.log.strip().splitlines()[-1:] or [""]
    row.state, row.problem = State.FAILED, last_line[0]
    row.save(update_fields=["state", "problem"])


def locked(pk: int, *states: str) -> Broadcast:
    """The row, locked in the caller's transaction. Raises Invalid if it is in none of the states."""
    rows = Broadcast.objects.select_for_update(of=("self",)).select_related("brand", "segment")
    row = rows.filter(pk=pk).first()
    if row is None:
        raise Invalid(_("This broadcast was deleted."))
    if row.state not in states:
        raise Invalid(str(STATE_MESSAGES[State(row.state)]))
    return row
