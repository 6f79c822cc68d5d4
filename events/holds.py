"""Events that wait for something their customer has to do, and their release."""

from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from core.db.statements import query_values
from events.leases import readable, reject
from events.messages import LeasedEvent, OnHold
from events.models import Event
from events.publishing import call_worker

# What waits for its customer is tried again at once when they have done what it waits for; this often all the same,
# because that may come about in other ways, such as the brand asking for it no longer.
CHECK_INTERVAL = timedelta(days=1)
MAX_ON_HOLD = timedelta(days=30)
RELEASE_EVENTS = query_values("events/sql/release_events.sql", "lane")


def hold(delivery: LeasedEvent, error: OnHold) -> str:
    """Have the event wait for its customer; returns how the attempt ended, in a word."""
    now = timezone.now()
    rows = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    with transaction.atomic():
        if not error.still_holds():  # it came about in this very moment
            rows.update(on_hold_for=None, due_at=now, crashes=0)
            transaction.on_commit(partial(call_worker, delivery.lane))
            return "later"
        in_time = rows.filter(created_at__gt=now - MAX_ON_HOLD)
        updated = in_time.update(
            on_hold_for=error.user_id,
            due_at=now + CHECK_INTERVAL,
            give_up_at=Greatest(F("give_up_at"), F("created_at") + MAX_ON_HOLD + 2 * CHECK_INTERVAL),
            last_error=readable(str(error)),
            crashes=0,
        )
        if not updated:
            reject(delivery, error.error)
        return "held" if updated else "refused"


def release(*, user_id: int) -> int:
    """Have what waits for the customer delivered now, at all brands; returns how many. Joins the transaction in which
    what it waits for comes about, after that."""
    lanes: list[str] = RELEASE_EVENTS.all(user_id=user_id)
    for lane in set(lanes):
        transaction.on_commit(partial(call_worker, lane))
    return len(lanes)
