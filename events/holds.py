"""Events that wait for something their customer has to do, and their release."""

from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from core.db import sql
from events.leases import readable, refuse
from events.messages import Held, LeasedEvent
from events.models import Event
from events.publishing import call_worker

# What waits for its customer is tried again at once when they have done what it waits for; this often all the same,
# because that may come about in other ways, such as the brand asking for it no longer.
HELD_LOOK = timedelta(days=1)
HELD_LIFE = timedelta(days=30)
RELEASE = """
    UPDATE events_event SET held_for = NULL, due_at = statement_timestamp()
     WHERE held_for = %(user_id)s::bigint AND status = 'pending'
    RETURNING lane
"""


def hold(delivery: LeasedEvent, wish: Held) -> str:
    """Have the event wait for its customer; returns how the attempt ended, in a word."""
    now = timezone.now()
    mine = Event.objects.filter(pk=delivery.id, status=Event.Status.PENDING, attempts=delivery.attempts)
    with transaction.atomic():
        if not wish.still_holds():  # it came about in this very moment
            mine.update(held_for=None, due_at=now, crashes=0)
            transaction.on_commit(partial(call_worker, delivery.lane))
            return "later"
        in_time = mine.filter(created_at__gt=now - HELD_LIFE)
        held = in_time.update(
            held_for=wish.user_id,
            due_at=now + HELD_LOOK,
            give_up_at=Greatest(F("give_up_at"), F("created_at") + HELD_LIFE + 2 * HELD_LOOK),
            last_error=readable(str(wish)),
            crashes=0,
        )
        if not held:
            refuse(delivery, wish.refusal)
        return "held" if held else "refused"


def release(*, user_id: int) -> int:
    """Have what waits for the customer delivered now, at all brands; returns how many. Joins the transaction in which
    what it waits for comes about, after that."""
    lanes = [lane for (lane,) in sql.rows(RELEASE, {"user_id": user_id})]
    for lane in set(lanes):
        transaction.on_commit(partial(call_worker, lane))
    return len(lanes)
