"""The job that sends a broadcast: it creates a notification for each member, then publishes them in portions.

Each portion is a transaction that locks the broadcast's row and advances its position. Another worker that runs the job
continues from there. Each member has one notification, whose event has a fixed ID, so nothing is sent twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from brands.identity import roles
from brands.identity.roles import ACT
from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from campaigns.broadcasts.lifecycle import KIND, State, on_job_end
from campaigns.segments import evaluate, member_conditions
from core.db.statements import query
from core.errors import Invalid
from core.numbers import grouped
from events import publishing
from jobs import runner
from jobs.kinds import JobKind
from jobs.models import Job
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Template
from loyalty.models.programme.segments import Segment
from loyalty.notifications import batching, delivery
from loyalty.notifications.batching import NotificationRequest
from loyalty.notifications.segments import broadcasts

PORTION_SIZE = 500  # members or notifications in a transaction
PAUSE_SECONDS = 1
PATIENCE_SECONDS = 60  # for another process that evaluates the segment


@dataclass(frozen=True, slots=True)
class NextNotification:
    notification_id: int
    user_id: int
    is_open: bool


FETCH_NEXT = query("campaigns/broadcasts/sql/fetch_next_notifications.sql", returns=NextNotification)


def run_sending(run: runner.Run) -> None:
    """The job's handler. When run again, it continues where it stopped."""
    broadcast = unfinished_broadcast(run)
    if broadcast is not None:
        if broadcast.started_at is None:
            start_broadcast(broadcast, check_cancelled=lambda: run.progress(0, 0))
        while gather_portion(run):
            run.progress(0, 0)
        while publish_portion(run):
            pass
    if Broadcast.objects.filter(pk=run.parameters["broadcast_id"], state=State.CANCELLED).exists():
        raise runner.JobCancelledError


def unfinished_broadcast(run: runner.Run, *, locked: bool = False) -> Broadcast | None:
    """The job's broadcast; None if it is no longer being sent."""
    rows = Broadcast.objects.select_related("brand", "segment")
    if locked:
        rows = rows.select_for_update(of=("self",))
    return rows.filter(pk=run.parameters["broadcast_id"], brand=run.job.brand_id, state=State.SENDING).first()


def start_broadcast(broadcast: Broadcast, *, check_cancelled: Callable[[], None]) -> None:
    """Evaluate the segment now, unless another process does so or a relative one was evaluated within the hour.

    Stores that the broadcast has started. Raises Invalid for a segment that is gone, cannot be evaluated, or was not
    evaluated for its present conditions.
    """
    segment = broadcast.segment
    if segment is None and broadcast.segment_name:
        raise Invalid(_("The segment “%(name)s” was deleted.") % {"name": broadcast.segment_name})
    if segment is not None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not (is_current := evaluated(segment)) and time.monotonic() < end:
            time.sleep(PAUSE_SECONDS)  # another process evaluates it, perhaps by former conditions
            check_cancelled()
        problem = member_conditions.problem_of(segment.conditions, brand=broadcast.brand)
        if problem or segment.evaluated_at is None:
            reason = problem or _("It was never evaluated.")
            raise Invalid(_("The segment cannot be evaluated: %(reason)s") % {"reason": reason})
        if not is_current:
            raise Invalid(_("The segment is being evaluated for its new conditions. Try again in a few minutes."))
    at = timezone.now()
    fresh = {"started_at": at, "members": 0, "evaluated_at": segment.evaluated_at if segment else at}
    Broadcast.objects.filter(pk=broadcast.pk, started_at=None).update(**fresh)


def evaluated(segment: Segment) -> bool:
    """Evaluate the segment if possible. Returns whether its members are those of its present conditions."""
    at = timezone.now()
    evaluate.evaluate(segment.pk, at=at)
    segment.refresh_from_db()
    return evaluate.is_current(segment, at=at)


def gather_portion(run: runner.Run) -> bool:
    """Create notifications for the next members, without sending them. False: all members have theirs."""
    with transaction.atomic():
        row = unfinished_broadcast(run, locked=True)
        if row is None or row.is_gathered:
            return False
        portion = batching.open_for_members(
            brand_id=row.brand_id,
            segment_id=row.segment_id,
            after=row.gathered_to,
            notification=NotificationRequest(Template.BROADCAST, row.key, {broadcasts.PARAMETER: row.pk}),
            at=row.started_at or timezone.now(),
            limit=PORTION_SIZE,
        )
        if portion.last_account is None:
            row.is_gathered = True
        else:
            row.gathered_to = portion.last_account
        row.members = (row.members or 0) + portion.members
        if portion.first_notification and portion.last_notification:
            if row.published_to is None:
                row.published_to = portion.first_notification - 1
            row.last_notification = portion.last_notification
        row.save(update_fields=["is_gathered", "gathered_to", "members", "published_to", "last_notification"])
    return not row.is_gathered


def publish_portion(run: runner.Run) -> bool:
    """Publish the next notifications. False: all are sent, the day's quota is used up, or it was cancelled."""
    at = timezone.now()
    with transaction.atomic():
        row = unfinished_broadcast(run, locked=True)
        if row is None or not row.is_gathered:
            return False
        left = quotas.left(row.brand_id, BrandQuota.Resource.BROADCASTS)
        is_limited = left == 0 and (row.published_to or 0) < row.last_notification
        if is_limited:
            row.next_at = quotas.begin_of_day(at) + timedelta(days=1)
            row.save(update_fields=["next_at"])
        else:
            row.next_at = None
            portion = next_portion(row, PORTION_SIZE if left is None else min(left, PORTION_SIZE))
            if portion:
                publish(row, portion)
            else:
                row.state, row.finished_at = State.SENT, at
                row.save(update_fields=["state", "finished_at", "next_at"])
    if is_limited:
        run.log(gettext_noop("Today's limit of messages is reached. The remaining members follow tomorrow (UTC)."))
        return False
    if row.state == State.SENT:
        run.note_progress(row.members or 0, row.members or 0)
        message = ngettext(
            "Handed to the channels: %(number)s member.", "Handed to the channels: %(number)s members.", row.published
        )
        run.log(message % {"number": grouped(row.published)})
        return False
    run.progress(row.published, max(row.published + 1, row.members or 0))
    return True


def next_portion(row: Broadcast, limit: int) -> list[NextNotification]:
    """The next notifications that are not stopped. Advances `row` past them and any others in between."""
    while (row.published_to or 0) < row.last_notification:
        rows = FETCH_NEXT.all(
            after=row.published_to or 0,
            until=row.last_notification,
            brand_id=row.brand_id,
            key=row.key,
            limit=limit,
        )
        row.published_to = rows[-1].notification_id if rows else row.last_notification
        if portion := [each for each in rows if each.is_open]:
            return portion
    return []


def publish(row: Broadcast, portion: list[NextNotification]) -> None:
    """Publish the events and update the row's counters. Joins the transaction."""
    at = timezone.now()
    messages = [
        batching.to_send(
            each.notification_id,
            each.user_id,
            row.brand_id,
            retry_hours=delivery.RETRY_HOURS[Template.BROADCAST],
            kind=batching.SEND_BROADCAST,
        )
        for each in portion
    ]
    publishing.publish(messages=messages, brand_id=row.brand_id, at=at, once=True)
    today = quotas.begin_of_day(at).date()
    row.counted = len(portion) + (row.counted if row.counted_on == today else 0)
    row.counted_on, row.published = today, row.published + len(portion)
    row.save(update_fields=["published_to", "published", "counted_on", "counted", "next_at"])


def may_cancel(job: Job, by: User) -> bool:
    """Anyone who may send broadcasts of the brand may cancel the job."""
    return job.brand_id in roles.brand_scope(by, ACT, "loyalty.broadcast")


SENDING = JobKind(
    name=KIND,
    label=gettext_lazy("Send a broadcast"),
    run=run_sending,
    on_cancel=gettext_lazy("Members who have received the broadcast keep it. The remaining members get nothing."),
    visible_with="loyalty.broadcast",
    may_cancel=may_cancel,
    on_end=on_job_end,
)
