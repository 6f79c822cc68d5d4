"""Events that wait for an action of their customer, and their release."""

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

# Held events are retried as soon as the customer has done what they wait for. They are also retried at this interval,
# because the reason may disappear in other ways, for example if the brand no longer requires it.
CHECK_INTERVAL = timedelta(days=1)
MAX_ON_HOLD = timedelta(days=30)
RELEASE_EVENTS = query_values("events/sql/release_events.sql", "lane")


def hold(delivery: LeasedEvent, error: OnHold) -> str:
    """Put the event on hold for its customer; returns the result of the attempt as one word."""
    now = timezone.now()
    rows = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    with transaction.atomic():
        if not error.still_holds():  # the condition was fulfilled just now
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
    """Deliver the customer's held events now, at all brands; returns how many. Joins the transaction that fulfils their
    condition; call after that change."""
    lanes: list[str] = RELEASE_EVENTS.all(user_id=user_id)
    for lane in set(lanes):
        transaction.on_commit(partial(call_worker, lane))
    return len(lanes)
